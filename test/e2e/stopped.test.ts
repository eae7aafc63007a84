// A leader is stopped (SIGSTOP) for longer than its Lease, and goes on when another one has done its work.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { nodeMaintenancePath } from '../../src/api/names.ts';
import type { Pod } from '../../src/kube/types.ts';
import { ownTestBed } from './support/beds.ts';
import { holdsFor } from './support/eventually.ts';
import type { Island } from './support/island.ts';
import type { OperatorProcess } from './support/operator-process.ts';
import { SeededRandom } from './support/random.ts';
import { type TripMoment, Tripwire } from './support/tripwire.ts';

/** A Lease runs out 15 s after its last renewal. */
const TAKE_OVER_MS = 40_000;
/** Longer than it takes a process that goes on to run all that was due. */
const AWAKE_MS = 4000;
const PODS = 3;

const bed = ownTestBed(import.meta.filename);
const random = SeededRandom.forTest('stopped for longer than the Lease');

interface Replica {
  readonly tripwire: Tripwire;
  readonly operator: OperatorProcess;
}

let replicas: readonly Replica[] = [];

beforeAll(async () => {
  replicas = await Promise.all(['replica-1', 'replica-2'].map(start));
}, 60_000);

afterAll(async () => {
  for (const { tripwire } of replicas) await tripwire.stop();
});

/** Each behind a proxy of its own, which tells whose request it is. */
async function start(name: string): Promise<Replica> {
  const tripwire = await Tripwire.start(bed.files.operatorKubeconfig, bed.files.dir, name);
  const { kubeconfig } = tripwire;
  const operator = await bed.startOperator({ name, kubeconfig, flags: ['--max-unavailable-nodes=100%'] });
  return { tripwire, operator };
}

async function leadership({ operator }: Replica): Promise<boolean> {
  const metrics = await (await operator.http('/metrics'))?.text();
  return metrics?.includes('\nhaulout_leader 1') ?? false;
}

async function leaderAndStandby(): Promise<readonly [Replica, Replica]> {
  return bed.eventually('one of the two leads', async () => {
    const [first, second] = replicas;
    if (!first || !second) return undefined;
    if (await leadership(first)) return [first, second] as const;
    return (await leadership(second)) && ([second, first] as const);
  });
}

async function place(island: Island): Promise<readonly Pod[]> {
  return bed.place(
    island,
    // Its next pod has the same name.
    island.statefulSet('db', { replicas: PODS, stopsIn: '0s' }),
    island.budget('db', { maxUnavailable: 1 }),
  );
}

async function endMaintenance(node: string): Promise<void> {
  await bed.api.remove(nodeMaintenancePath(node));
  await bed.eventually(
    'it is gone',
    async () => (await bed.api.find(nodeMaintenancePath(node))) === undefined,
  );
}

interface Stop {
  readonly moment: TripMoment;
  readonly nth: number;
  /** Of the path of the write that is meant. */
  readonly about: string;
}

const anyWrite = (moment: TripMoment): Stop => ({ moment, nth: random.between(1, 8), about: '' });
const STOPS: readonly Stop[] = [
  { moment: 'held', nth: 1, about: '/eviction' },
  // The conditions of the node.
  { moment: 'held', nth: 2, about: '/api/v1/nodes/' },
  anyWrite('held'),
  anyWrite('answered'),
];

test.each(STOPS)(
  'stopped at write $nth of "$about", $moment: the other one does the work, and nothing late does harm',
  async (stop) => {
    const [leader, standby] = await leaderAndStandby();
    const island = await bed.island(`stop-${STOPS.indexOf(stop)}`);
    const { node, namespace } = island;
    const pods = await place(island);
    const before = await bed.snapshot(node);

    const tripping = leader.tripwire.trip(stop.nth, stop.moment, stop.about);
    await bed.maintain(node, { drain: { retryIntervalSeconds: 1 } });
    const trip = await tripping;
    leader.operator.signal('SIGSTOP');
    await bed.untilSaid(node, 'Ready', 'True/Drained', { timeoutMs: TAKE_OVER_MS + 30_000 });
    expect(await leadership(standby)).toBe(true);
    await endMaintenance(node);
    expect(await bed.snapshot(node)).toEqual(before);

    // What was on the wire comes now, from a process that does not lead any more.
    leader.tripwire.takeWrites();
    if (stop.moment === 'held') {
      const late = pods.find(({ metadata }) => trip.write.includes(`/pods/${metadata.name}/eviction`));
      if (late) bed.expectLateEviction(late.metadata.uid);
      const code = await trip.release();
      process.stdout.write(`held: ${trip.write}: ${code}\n`);
      expect([404, 409]).toContain(code);
    } else process.stdout.write(`${stop.moment}: ${trip.write}\n`);
    leader.operator.signal('SIGCONT');
    await bed.eventually('it knows that it leads no more', async () => !(await leadership(leader)));
    await holdsFor(AWAKE_MS, 'it writes nothing', () => {
      expect(leader.tripwire.takeWrites()).toEqual([]);
    });
    expect(await bed.snapshot(node)).toEqual(before);
    const accepted = bed.audit.accepted(namespace).map(({ uid }) => uid);
    expect(accepted).toHaveLength(PODS);
    expect(new Set(accepted).size).toBe(PODS);
  },
  180_000,
);
