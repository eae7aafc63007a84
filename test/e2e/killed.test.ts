// The operator is killed at chosen writes of a drain and goes on where it was.
import { afterAll, describe, expect, test } from '@jest/globals';
import { as } from '../../hack/cluster/lib/untyped.ts';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../../src/api/types.generated.ts';
import { ownTestBed } from './support/beds.ts';
import type { Island } from './support/island.ts';
import { OperatorProcess } from './support/operator-process.ts';
import { SeededRandom } from './support/random.ts';
import { said } from './support/status.ts';
import { type Trip, Tripwire } from './support/tripwire.ts';

const KILLS = 20;
/** A node is drained and put back again and again until there were as many kills. */
const KILLS_PER_ROUND = 5;
const MOST_ROUNDS = 10;
/** Writes before the first kill of a round, and between two of them: any phase of a drain comes to its turn. */
const LATEST_BEGINNING = 15;
const LARGEST_GAP = 5;
const POD_COUNT = 17;

const bed = ownTestBed(import.meta.filename);
const random = SeededRandom.forTest('killed at API writes');

describe('the operator killed in mid-drain', () => {
  let tripwire: Tripwire;
  let operator: OperatorProcess | undefined;
  let reference: Outcome;

  afterAll(async () => {
    await operator?.kill();
    await tripwire.stop();
  });

  test('a drain that nothing disturbs, to compare with', async () => {
    tripwire = await Tripwire.start(bed.files.operatorKubeconfig, bed.files.dir);
    operator = await start().ready();
    reference = await drainAndRestore('calm', async (work) => work());
    expect(reference.ready).toBe('True/Drained');
    expect(reference.pods).toEqual({
      total: POD_COUNT,
      gone: POD_COUNT,
      remaining: 0,
      terminating: 0,
      ignored: 1,
    });
  });

  test('every drain with kills in it ends the same', async () => {
    let kills = 0;
    for (let round = 1; kills < KILLS; round++) {
      expect(round).toBeLessThanOrEqual(MOST_ROUNDS);
      const trips: Trip[] = [];
      const outcome = await drainAndRestore(`round-${round}`, async (work) => withKills(trips, work));
      const told = trips.map(({ moment, write }) => `  ${moment} ${write}\n`);
      process.stdout.write(`round ${round}, killed\n${told.join('')}`);
      kills += trips.length;
      expect(outcome).toEqual(reference);
    }
  }, 900_000);

  async function withKills(trips: Trip[], work: () => Promise<void>): Promise<void> {
    let killing = Promise.resolve();
    let isOver = false;
    const armNext = (): void => {
      if (isOver || trips.length === KILLS_PER_ROUND) return;
      const most = trips.length === 0 ? LATEST_BEGINNING : LARGEST_GAP;
      const trip = tripwire.trip(random.between(1, most), random.pick(['before', 'after'] as const));
      void trip.then((done) => {
        trips.push(done);
        // Not before: what the dying process had on the wire is not the next one's.
        killing = killAndStart().then(armNext);
      });
    };
    armNext();
    await work();
    isOver = true;
    tripwire.disarm();
    await killing;
  }

  async function killAndStart(): Promise<void> {
    await operator?.kill();
    operator = start();
  }

  function start(): OperatorProcess {
    // The same identity: the Lease is its own at once, whatever happened to the process before.
    return new OperatorProcess({
      dir: bed.files.dir,
      name: 'operator-killed',
      identity: 'the-one-that-is-killed',
      kubeconfig: tripwire.kubeconfig,
    });
  }
});

/** What must be the same however often the operator was killed. */
interface Outcome {
  readonly phase: string | undefined;
  readonly ready: string | undefined;
  readonly conditions: readonly string[];
  readonly pods: object | undefined;
  readonly blockers: number | undefined;
}

/** Drains a node and puts it back while `meanwhile` lets it happen; everything that must hold in any case is asserted. */
async function drainAndRestore(
  name: string,
  meanwhile: (work: () => Promise<void>) => Promise<void>,
): Promise<Outcome> {
  const island = await bed.island(name);
  await bed.place(
    island,
    island.deployment('web', { replicas: 10, stopsIn: '2s' }),
    // These go one after the other: the drain is still in the middle of it when the operator comes back.
    island.deployment('lane', { replicas: 4 }),
    island.budget('lane', { maxUnavailable: 1 }),
    island.statefulSet('db', { replicas: 3, stopsIn: '3s' }),
    island.daemonSet('agent'),
  );
  const pods = await podsThatLeave(island);
  expect(pods).toHaveLength(POD_COUNT);
  const before = await bed.snapshot(island.node);
  let drained: NodeMaintenance | undefined;
  await meanwhile(async () => {
    const maintenance = await bed.maintain(island.node);
    drained = await bed.untilSaid(maintenance, 'Drained', 'True/Drained', {
      // Each kill costs up to the 15 s of the Lease.
      timeoutMs: 180_000,
    });
    await bed.endMaintenance(maintenance);
  });
  expect(await bed.snapshot(island.node)).toEqual(before);
  for (const uid of pods) {
    const accepted = bed.audit.evictions(island.namespace, { uid }).filter((one) => one.accepted);
    expect({ uid, accepted: accepted.length }).toEqual({ uid, accepted: 1 });
  }
  const written = bed.audit
    .entries({ resource: 'nodemaintenances', subresource: 'status', name: island.node, byOperator: true })
    .map(({ requestObject }) => as<{ status?: NodeMaintenanceStatus }>(requestObject).status);
  const startTimes = written.map((status) => status?.startTime).filter((time) => time !== undefined);
  expect(new Set(startTimes)).toEqual(new Set([drained?.status?.startTime]));
  const drainStarts = written.map((status) => status?.drain?.startTime).filter((time) => time !== undefined);
  expect(new Set(drainStarts)).toEqual(new Set([drained?.status?.drain?.startTime]));
  return outcomeOf(drained);
}

async function podsThatLeave(island: Island): Promise<readonly string[]> {
  const pods = await bed.api.podsOnNode(island.node);
  return pods
    .filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind !== 'DaemonSet')
    .map(({ metadata }) => metadata.uid);
}

function outcomeOf(object: NodeMaintenance | undefined): Outcome {
  const { phase, drain, conditions = [], blockersTotal } = object?.status ?? {};
  return {
    phase,
    ready: object && said(object, 'Ready'),
    conditions: conditions.map(({ type, status, reason }) => `${type}=${status}/${reason}`),
    pods: drain?.pods,
    blockers: blockersTotal,
  };
}
