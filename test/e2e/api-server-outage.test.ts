// The API server goes away in mid-drain and comes back.
import { describe, expect, test } from '@jest/globals';
import { ownTestBed } from './support/beds.ts';
import { eventually } from './support/eventually.ts';
import { OPERATOR_NAMESPACE } from './support/install.ts';
import type { OperatorProcess } from './support/operator-process.ts';

const LANE_PODS = 4;
/**
 * A server that is killed in the middle of an eviction has spent the budget and evicted nobody; the disruption controller
 * gives it back after two minutes. Slow beginners make that rare: after an eviction nothing is asked for two seconds.
 */
const READY_DELAY = { 'pod-ready.stage.kwok.x-k8s.io/delay': '2s' };
const DRAINED_MS = 180_000;
const TEST_MS = 300_000;
/** Beyond it the leader must have let go of the Lease: nobody could have told it that another one took it. */
const RENEW_DEADLINE_MS = 10_000;

const bed = ownTestBed(import.meta.filename);

describe('the API server restarted in mid-drain', () => {
  let operator: OperatorProcess;

  test(
    'after a short outage the drain goes on',
    async () => {
      operator = await bed.startOperator();
      await drainThrough('short', async () => bed.cluster.restartApiServer());
    },
    TEST_MS,
  );

  test(
    'an orderly restart makes no difference',
    async () => {
      await drainThrough('orderly', async () => bed.cluster.restartApiServer('SIGTERM'));
    },
    TEST_MS,
  );

  test(
    'after an outage that is longer than the Lease allows, too',
    async () => {
      await drainThrough('long', async () => {
        await bed.cluster.stopApiServer();
        const lost = operator.log().filter(({ message }) => message === 'not leading any more').length;
        await eventually(
          'the operator stops leading',
          () => operator.log().filter(({ message }) => message === 'not leading any more').length > lost,
          { timeoutMs: RENEW_DEADLINE_MS + 10_000, explain: () => operator.tail() },
        );
        await bed.cluster.startApiServer();
      });
    },
    TEST_MS,
  );

  async function drainThrough(name: string, outage: () => Promise<void>): Promise<void> {
    const island = await bed.island(name);
    const budget = island.budget('web', { maxUnavailable: 1 });
    await bed.place(
      island,
      island.deployment('web', { replicas: LANE_PODS, annotations: READY_DELAY }),
      budget,
    );
    const before = await bed.snapshot(island.node);
    const maintenance = await bed.maintain(island.node);
    const evicted = (): number => bed.audit.accepted(island.namespace).length;
    const begun = await bed.until(maintenance, 'a pod has been evicted', () => evicted() >= 1);
    expect(evicted()).toBeLessThan(LANE_PODS);

    await bed.outage(outage);
    const backAt = Date.now();
    const drained = await bed.untilSaid(maintenance, 'Drained', 'True/Drained', {
      timeoutMs: DRAINED_MS,
    });

    expect(operator.isRunning).toBe(true);
    expect(drained.status?.startTime).toBe(begun.status?.startTime);
    expect(drained.status?.drain?.pods).toMatchObject({ total: LANE_PODS, gone: LANE_PODS, remaining: 0 });
    const accepted = bed.audit.accepted(island.namespace);
    expect(new Set(accepted.map(({ uid }) => uid)).size).toBe(LANE_PODS);
    expect(accepted).toHaveLength(LANE_PODS);
    expect(accepted.some(({ askedAt }) => askedAt > backAt)).toBe(true);
    expect(await leaseHolder()).toBe(operator.identity);
    // The watches live: what happens from now on is seen.
    await bed.endMaintenance(maintenance);
    expect(await bed.snapshot(island.node)).toEqual(before);
  }
});

async function leaseHolder(): Promise<string | undefined> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${OPERATOR_NAMESPACE}/leases/haulout`;
  return (await bed.api.get<{ spec: { holderIdentity?: string } }>(path)).spec.holderIdentity;
}
