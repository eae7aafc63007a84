// The wall clock of the operator's machine is set while drains run: deadlines and written times stay right.
import { beforeAll, expect, test } from '@jest/globals';
import { DISK_DRIVER } from '../../hack/cluster/lib/volumes/options.ts';
import type { NodeMaintenance, NodeMaintenanceSpec } from '../../src/api/types.generated.ts';
import { ownTestBed } from './support/beds.ts';
import type { Manifest } from './support/builders.ts';
import { OPERATOR_NAMESPACE } from './support/install.ts';
import type { Island } from './support/island.ts';
import type { OperatorProcess } from './support/operator-process.ts';
import { said } from './support/status.ts';
import { WallClock } from './support/wall-clock.ts';

const HOUR_SECONDS = 3600;
const LIMIT_SECONDS = 15;
/** Times are whole seconds, and what is due is done and seen a moment later, on a busy machine some seconds. */
const LATEST_SECONDS = LIMIT_SECONDS + 15;
/** A pod counts as stuck so long after the time that it had to stop. */
const STUCK_SECONDS = 10;

const bed = ownTestBed(import.meta.filename, {
  volumes: { drivers: { [DISK_DRIVER]: { attachSeconds: 0.3, detachSeconds: 0.3 } } },
});

let clock: WallClock | undefined;
let operator: OperatorProcess | undefined;

beforeAll(async () => {
  clock = await WallClock.create(bed.files.dir);
}, 120_000);

/** The same process name and identity each time: the Lease is its own at once. */
async function startOperator(): Promise<void> {
  operator = await bed.startOperator({
    name: 'operator',
    identity: 'operator',
    flags: ['--max-unavailable-nodes=100%'],
    environment: theClock().environment,
  });
}

function theClock(): WallClock {
  if (!clock) throw new Error('there is no clock');
  return clock;
}

/** Something that must happen when its time is over, neither before nor much later. */
interface Wait {
  readonly name: string;
  readonly drain: NonNullable<NodeMaintenanceSpec['drain']>;
  readonly workload: (island: Island) => readonly Manifest[];
  /** The time runs, from that moment on (milliseconds since the epoch). */
  readonly begun: (object: NodeMaintenance) => number | undefined;
  readonly over: (object: NodeMaintenance) => boolean;
  readonly seconds: number;
}

function heldUp(island: Island): readonly Manifest[] {
  return [
    island.deployment('closed', { gracePeriodSeconds: 2 }),
    island.budget('closed', { minAvailable: 1 }),
  ];
}

const at = (time: string | undefined): number | undefined =>
  time === undefined ? undefined : Date.parse(time);
const drainBegan = ({ status }: NodeMaintenance) =>
  status?.blockersTotal === 1 ? at(status.drain?.startTime) : undefined;
const isEmpty = (object: NodeMaintenance) => said(object, 'Drained') === 'True/Drained';

const WAITS: readonly Wait[] = [
  {
    name: 'fail',
    drain: { timeoutSeconds: LIMIT_SECONDS },
    workload: heldUp,
    begun: drainBegan,
    over: (object) => said(object, 'Ready') === 'False/DrainFailed',
    seconds: LIMIT_SECONDS,
  },
  {
    name: 'delete',
    drain: { timeoutSeconds: LIMIT_SECONDS, onTimeout: 'Delete' },
    workload: heldUp,
    begun: drainBegan,
    over: isEmpty,
    seconds: LIMIT_SECONDS,
  },
  {
    name: 'blocked',
    drain: { deleteBlockedAfterSeconds: LIMIT_SECONDS },
    workload: heldUp,
    begun: ({ status }) => at(status?.blockers?.[0]?.since),
    over: isEmpty,
    seconds: LIMIT_SECONDS,
  },
  {
    name: 'stuck',
    drain: {},
    workload: (island) => [
      island.deployment('web', { gracePeriodSeconds: 2, finalizers: ['example.com/flush-cache'] }),
    ],
    begun: ({ status }) => (status?.drain?.pods?.terminating === 1 ? at(status.drain.startTime) : undefined),
    over: (object) => said(object, 'DrainBlocked') === 'True/StuckTerminating',
    seconds: STUCK_SECONDS,
  },
  {
    name: 'detach',
    drain: { volumes: { detachTimeoutSeconds: LIMIT_SECONDS } },
    workload: (island) => [
      ...island.volumes(1),
      island.statefulSet('db', { claimTemplates: [island.claimTemplate('data')], gracePeriodSeconds: 1 }),
    ],
    begun: ({ status }) => (status?.drain?.pods?.gone === 1 ? at(status.drain.startTime) : undefined),
    over: (object) => said(object, 'VolumesDetached') === 'False/DetachTimedOut',
    seconds: LIMIT_SECONDS,
  },
];

/** With volumes that do not come off. */
async function prepare(name: string, { workload }: Wait): Promise<Island> {
  const island = await bed.island(name);
  bed.expectPodDeletions(island.namespace);
  await bed.place(island, ...workload(island));
  for (const volume of await attachedTo(island))
    bed.cluster.volumeDriver(DISK_DRIVER).trouble({ operation: 'detach', volume, does: 'hang' });
  return island;
}

async function attachedTo({ node }: Island): Promise<readonly string[]> {
  const attachments = await bed.api.volumeAttachments();
  return attachments
    .filter(({ spec }) => spec.nodeName === node)
    .flatMap(({ spec }) => spec.source.persistentVolumeName ?? []);
}

async function finish(island: Island): Promise<void> {
  for (const volume of await attachedTo(island)) bed.cluster.volumeDriver(DISK_DRIVER).heal(volume);
  await bed.endMaintenance(island.node);
}

const ROWS = [
  ['an hour ahead', HOUR_SECONDS, false],
  ['an hour back', -HOUR_SECONDS, false],
  ['an hour ahead while it restarts', HOUR_SECONDS, true],
  ['an hour back while it restarts', -HOUR_SECONDS, true],
] as const;

test.each(ROWS)(
  '%s: everything happens in its time, and each time is written right',
  async (title, jump, restarts) => {
    const beganAt = Date.now();
    theClock().set(0);
    if (!operator?.isRunning) await startOperator();
    const islands = await Promise.all(
      WAITS.map(async (wait) => prepare(`${wait.name}-${ROWS.findIndex(([name]) => name === title)}`, wait)),
    );
    const works = WAITS.map((wait, index) => ({ ...wait, node: islands[index]?.node ?? '' }));
    await Promise.all(works.map(async ({ node, drain }) => bed.maintain(node, { drain })));
    const begun = await Promise.all(
      works.map(async ({ node, begun: since }) =>
        since(await bed.until(node, 'its time runs', (object) => since(object) !== undefined)),
      ),
    );
    const { leaseTransitions } = (await bed.api.get<Lease>(LEASE)).spec;

    if (restarts) await operator?.kill();
    theClock().set(jump);
    const jumpedAt = Date.now();
    if (restarts) await startOperator();
    expect(jumpedAt - Math.min(...begun.map((time) => time ?? 0))).toBeLessThan((LIMIT_SECONDS - 3) * 1000);

    await Promise.all(
      works.map(async ({ node, name, over, seconds }, index) => {
        const object = await bed.until(node, `${name} is over`, over, { timeoutMs: 40_000 });
        const took = (Date.now() - (begun[index] ?? 0)) / 1000;
        expect({ name, took: took >= seconds && took < LATEST_SECONDS + 2 ? 'its time' : took }).toEqual({
          name,
          took: 'its time',
        });
        for (const time of timesIn(object.status)) expectBetween(time, beganAt, Date.now());
        for (const { eventTime } of await bed.api.events('NodeMaintenance', node))
          expectBetween(eventTime, beganAt, Date.now());
      }),
    );
    expect((await bed.api.get<Lease>(LEASE)).spec).toMatchObject({
      holderIdentity: 'operator',
      leaseTransitions,
    });
    expect(operator?.log().some(({ message }) => message === 'lost the Lease')).toBe(false);
    // It is the clock that the process sees: its log has the time that it was set to.
    const skews =
      operator?.log().map(({ timestamp }) => Math.round((Date.parse(timestamp) - Date.now()) / 1000)) ?? [];
    expect(Math.abs((skews.at(-1) ?? 0) - jump)).toBeLessThan(60);
    await Promise.all(islands.map(finish));
  },
);

interface Lease {
  readonly spec: { readonly leaseTransitions: number; readonly holderIdentity: string };
}
const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${OPERATOR_NAMESPACE}/leases/haulout`;

/** All times in an object that are values of their own; sentences name times to come. */
function timesIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(timesIn) : [];
}

function expectBetween(time: string, from: number, to: number): void {
  const ms = Date.parse(time);
  expect({ time, isRight: ms >= from - 2000 && ms <= to + 1000 }).toEqual({ time, isRight: true });
}
