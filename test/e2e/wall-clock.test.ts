// The wall clock of the operator's machine is set while drains run: deadlines and written times stay right.
import { beforeAll, expect, test } from '@jest/globals';
import { KUBELET_ANNOTATION } from '../../hack/cluster/lib/pod-stop.ts';
import { DISK_DRIVER } from '../../hack/cluster/lib/volumes/options.ts';
import type { NodeMaintenance, NodeMaintenanceSpec } from '../../src/api/types.generated.ts';
import type { Node } from '../../src/kube/types.ts';
import { ownTestBed } from './support/beds.ts';
import type { Manifest } from './support/builders.ts';
import { OPERATOR_NAMESPACE } from './support/install.ts';
import type { Island } from './support/island.ts';
import type { OperatorProcess } from './support/operator-process.ts';
import { nodeCondition, said } from './support/status.ts';
import { WallClock } from './support/wall-clock.ts';

const HOUR_SECONDS = 3600;
const LIMIT_SECONDS = 15;
/** Times are whole seconds, and a busy machine is late; a clock that was believed would be wrong by an hour. */
const LATEST_SECONDS = LIMIT_SECONDS + 60;
/** A pod counts as stuck so long after the time that it had to stop. */
const STUCK_SECONDS = 10;

const bed = ownTestBed(import.meta.filename, {
  volumes: {
    drivers: { [DISK_DRIVER]: { attachSeconds: 0.1, detachSeconds: 0.1 } },
    nodeStatusSeconds: 0.2,
  },
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
  readonly spec: Omit<NodeMaintenanceSpec, 'nodeName'>;
  readonly workload: (island: Island) => readonly Manifest[];
  /** What never ends with the volumes of the node. */
  readonly hangs?: 'detach' | 'attach';
  /** Its kubelet is dead. */
  readonly isSilent?: boolean;
  /** `kubectl delete node`, when the drain is held up. */
  readonly isDeleted?: boolean;
  /** The time runs, from that moment on (milliseconds since the epoch). */
  readonly begun: (object: NodeMaintenance, node: Node | undefined) => number | undefined;
  readonly over: (object: NodeMaintenance) => boolean;
  readonly seconds: number;
}

function heldUp(island: Island): readonly Manifest[] {
  return [
    island.deployment('closed', { gracePeriodSeconds: 2 }),
    island.budget('closed', { minAvailable: 1 }),
  ];
}

/** They leave one after the other. */
function databases(island: Island, replicas: number): readonly Manifest[] {
  const claimTemplates = [island.claimTemplate('data')];
  return [
    ...island.volumes(replicas),
    island.statefulSet('db', { replicas, claimTemplates, gracePeriodSeconds: 1 }),
  ];
}

const at = (time: string | undefined): number | undefined =>
  time === undefined ? undefined : Date.parse(time);
const isHeldUp = ({ status }: NodeMaintenance) => status?.blockersTotal === 1;
const drainBegan = (object: NodeMaintenance) =>
  isHeldUp(object) ? at(object.status?.drain?.startTime) : undefined;
/** Its only pod was asked to go at once, and does not. */
const podTerminates = ({ status }: NodeMaintenance) =>
  status?.drain?.pods?.terminating === 1 ? at(status.drain.startTime) : undefined;
const isEmpty = (object: NodeMaintenance) => said(object, 'Drained') === 'True/Drained';

const WAITS: readonly Wait[] = [
  {
    name: 'fail',
    spec: { drain: { timeoutSeconds: LIMIT_SECONDS } },
    workload: heldUp,
    begun: drainBegan,
    over: (object) => said(object, 'Ready') === 'False/DrainFailed',
    seconds: LIMIT_SECONDS,
  },
  {
    name: 'delete',
    spec: { drain: { timeoutSeconds: LIMIT_SECONDS, onTimeout: 'Delete' } },
    workload: heldUp,
    begun: drainBegan,
    over: isEmpty,
    seconds: LIMIT_SECONDS,
  },
  {
    name: 'blocked',
    spec: { drain: { deleteBlockedAfterSeconds: LIMIT_SECONDS } },
    workload: heldUp,
    begun: ({ status }) => at(status?.blockers?.[0]?.since),
    over: isEmpty,
    seconds: LIMIT_SECONDS,
  },
  {
    name: 'stuck',
    spec: {},
    workload: (island) => [
      island.deployment('web', { gracePeriodSeconds: 2, finalizers: ['example.com/flush-cache'] }),
    ],
    begun: podTerminates,
    over: (object) => said(object, 'DrainBlocked') === 'True/StuckTerminating',
    seconds: STUCK_SECONDS,
  },
  {
    name: 'silent',
    spec: { drain: { skipWaitForDeleteTimeoutSeconds: LIMIT_SECONDS } },
    workload: (island) => [island.deployment('web', { gracePeriodSeconds: 2 })],
    isSilent: true,
    begun: podTerminates,
    over: isEmpty,
    seconds: LIMIT_SECONDS,
  },
  {
    name: 'detach',
    spec: { drain: { volumes: { detachTimeoutSeconds: LIMIT_SECONDS } } },
    workload: (island) => databases(island, 1),
    hangs: 'detach',
    begun: ({ status }) => (status?.drain?.pods?.gone === 1 ? at(status.drain.startTime) : undefined),
    over: (object) => said(object, 'VolumesDetached') === 'False/DetachTimedOut',
    seconds: LIMIT_SECONDS,
  },
  {
    name: 'attach',
    spec: { drain: { volumes: { reattachTimeoutSeconds: LIMIT_SECONDS } } },
    workload: (island) => databases(island, 2),
    hangs: 'attach',
    begun: ({ status }) => at(status?.drain?.volumes?.find(({ phase }) => phase === 'Attaching')?.since),
    over: isEmpty,
    seconds: LIMIT_SECONDS,
  },
  {
    name: 'gone',
    spec: { nodeDeletePolicy: 'Evict', nodeDeleteTimeoutSeconds: LIMIT_SECONDS },
    workload: heldUp,
    isDeleted: true,
    begun: (_, node) => at(node?.metadata.deletionTimestamp),
    over: (object) => said(object, 'Ready') === 'False/NodeGone',
    seconds: LIMIT_SECONDS,
  },
];

async function prepare(name: string, { workload, hangs, isSilent }: Wait): Promise<Island> {
  const island = await bed.island(name);
  const { namespace, node } = island;
  bed.expectPodDeletions(namespace);
  await bed.place(island, ...workload(island));
  for (const volume of await attachedTo(island))
    if (hangs) bed.cluster.volumeDriver(DISK_DRIVER).trouble({ operation: hangs, volume, does: 'hang' });
  if (isSilent) {
    const metadata = { annotations: { [KUBELET_ANNOTATION]: 'dead' } };
    await bed.api.mergePatch(`/api/v1/nodes/${node}`, { metadata });
    await bed.eventually(
      'the node controller notices',
      async () => nodeCondition(await bed.api.node(node), 'Ready')?.status === 'Unknown',
    );
  }
  return island;
}

/** Returns since when the time runs. */
async function begin({ node, spec, isDeleted, begun }: Wait & { readonly node: string }): Promise<number> {
  await bed.maintain(node, spec);
  if (isDeleted) {
    await bed.until(node, 'it is held up', isHeldUp);
    await bed.api.remove(`/api/v1/nodes/${node}`);
  }
  return bed.eventually(`${node}: its time runs`, async () =>
    begun(await bed.maintenance(node), await bed.api.find<Node>(`/api/v1/nodes/${node}`)),
  );
}

async function attachedTo({ node }: Island): Promise<readonly string[]> {
  const attachments = await bed.api.volumeAttachments();
  return attachments
    .filter(({ spec }) => spec.nodeName === node)
    .flatMap(({ spec }) => spec.source.persistentVolumeName ?? []);
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
    const begun = await Promise.all(works.map(begin));
    const { leaseTransitions } = (await bed.api.get<Lease>(LEASE)).spec;

    if (restarts) await operator?.kill();
    theClock().set(jump);
    const jumpedAt = Date.now();
    if (restarts) await startOperator();
    expect(jumpedAt - Math.min(...begun)).toBeLessThan((LIMIT_SECONDS - 3) * 1000);

    await Promise.all(
      works.map(async ({ node, name, over, seconds }, index) => {
        const object = await bed.until(node, `${name} is over`, over, { timeoutMs: LATEST_SECONDS * 1000 });
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
    bed.cluster.volumeDriver(DISK_DRIVER).heal();
    await Promise.all(works.map(async ({ node }) => bed.endMaintenance(node)));
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
