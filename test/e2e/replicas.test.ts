// Two replicas: one works, the other stands by and goes on.
import { describe, expect, test } from '@jest/globals';
import { as } from '../../hack/cluster/lib/untyped.ts';
import type { NodeMaintenanceStatus } from '../../src/api/types.generated.ts';
import { ownTestBed } from './support/beds.ts';
import { OPERATOR_NAMESPACE } from './support/install.ts';
import type { Island } from './support/island.ts';
import type { OperatorProcess } from './support/operator-process.ts';

interface Lease {
  readonly spec: { readonly holderIdentity?: string; readonly leaseTransitions?: number };
}

const LEASE_PATH = `/apis/coordination.k8s.io/v1/namespaces/${OPERATOR_NAMESPACE}/leases/haulout`;
/** The Lease runs out 15 s after its last renewal. */
const TAKE_OVER_MS = 20_000;
/** Given back, it is taken by the standby, which watches it. */
const HAND_OVER_MS = 4000;

const bed = ownTestBed(import.meta.filename);

describe('two replicas', () => {
  let leader: OperatorProcess;
  let standby: OperatorProcess;

  test('the standby is ready without the Lease', async () => {
    leader = await bed.startOperator({ name: 'replica-1', identity: 'replica-1' });
    await holder('replica-1', 10_000);
    standby = await bed.startOperator({ name: 'replica-2', identity: 'replica-2' });
    expect(await holderNow()).toBe('replica-1');
    expect((await standby.http('/readyz'))?.status).toBe(200);
    expect(await leadership(leader)).toBe(1);
    expect(await leadership(standby)).toBe(0);
  });

  test('the leader is killed: the other one goes on with the drain', async () => {
    const island = await slowIsland('killed');
    const before = await bed.snapshot(island.node);
    const maintenance = await bed.maintain(island.node);
    const begun = await underway(island, maintenance);

    await leader.kill();
    const killedAt = Date.now();
    await holder('replica-2', TAKE_OVER_MS);
    expect(await leadership(standby)).toBe(1);
    await letGo(island);
    const drained = await bed.untilSaid(maintenance, 'Drained', 'True/Drained', { timeoutMs: 60_000 });

    expect(drained.status?.startTime).toBe(begun.startTime);
    expect(drained.status?.drain?.startTime).toBe(begun.drain?.startTime);
    expect(drained.status?.drain?.pods).toMatchObject({ total: LANE_PODS, gone: LANE_PODS, remaining: 0 });
    const accepted = bed.audit.accepted(island.namespace);
    expect(new Set(accepted.map(({ uid }) => uid)).size).toBe(accepted.length);
    expect(accepted).toHaveLength(LANE_PODS);
    expect(accepted.some(({ askedAt }) => askedAt < killedAt)).toBe(true);
    expect(accepted.some(({ askedAt }) => askedAt > killedAt)).toBe(true);
    await bed.endMaintenance(maintenance);
    expect(await bed.snapshot(island.node)).toEqual(before);
  });

  test('SIGTERM hands over at once', async () => {
    const successor = await bed.startOperator({ name: 'replica-3', identity: 'replica-3' });
    const island = await slowIsland('handed-over');
    const maintenance = await bed.maintain(island.node);
    const begun = await underway(island, maintenance);

    const stopped = standby.stop();
    await holder('replica-3', HAND_OVER_MS);
    expect(await stopped).toEqual({ code: 0, signal: null });
    expect(await leadership(successor)).toBe(1);
    await letGo(island);
    const drained = await bed.untilSaid(maintenance, 'Drained', 'True/Drained', { timeoutMs: 60_000 });

    expect(drained.status?.startTime).toBe(begun.startTime);
    expect(drained.status?.drain?.pods).toMatchObject({ total: LANE_PODS, gone: LANE_PODS, remaining: 0 });
    expect(bed.audit.accepted(island.namespace)).toHaveLength(LANE_PODS);
    await bed.endMaintenance(maintenance);
  });
});

const LANE_PODS = 6;

/**
 * Two of its pods may leave, and what is made in their place finds no node until `letGo`: no eviction is on the wire when
 * the leader changes. One that is cut off may spend its budget for two minutes; that is what the kill tests are about.
 */
async function slowIsland(name: string): Promise<Island> {
  const island = await bed.island(name);
  const budget = island.budget('web', { maxUnavailable: 2 });
  await bed.place(island, island.deployment('web', { replicas: LANE_PODS, stopsIn: '1s' }), budget);
  for (const spare of island.spares) await bed.cordon(spare);
  return island;
}

async function letGo(island: Island): Promise<void> {
  for (const spare of island.spares) await bed.uncordon(spare);
}

/** Waits until two pods are gone and the budget holds up the others. */
async function underway(island: Island, maintenance: string): Promise<NodeMaintenanceStatus> {
  const held = await bed.untilSaid(maintenance, 'DrainBlocked', 'True/PodDisruptionBudget');
  expect(bed.audit.accepted(island.namespace)).toHaveLength(2);
  return held.status ?? {};
}

async function holderNow(): Promise<string> {
  return (await bed.api.get<Lease>(LEASE_PATH)).spec.holderIdentity ?? '';
}

async function holder(identity: string, timeoutMs: number): Promise<void> {
  await bed.eventually(`${identity} holds the Lease`, async () => (await holderNow()) === identity, {
    timeoutMs,
  });
}

/** What its metrics say. */
async function leadership(operator: OperatorProcess): Promise<number> {
  const text = (await (await operator.http('/metrics'))?.text()) ?? '';
  return Number(as<[string, string] | null>(/^haulout_leader (\d+)$/m.exec(text))?.[1] ?? Number.NaN);
}
