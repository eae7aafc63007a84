// A node with 300 pods: the status stays small, and its writes stay few.
import { describe, expect, test } from '@jest/globals';
import { as } from '../../hack/cluster/lib/untyped.ts';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../../src/api/types.generated.ts';
import { sharedTestBed } from './support/beds.ts';
import type { AuditEntry } from './support/audit.ts';
import { eventually } from './support/eventually.ts';

const POD_COUNT = 300;
/** Several ways to be held up at once: the longest lists and texts that a status can have. */
const HELD_UP = 40;
/** Far below what etcd or a watch would feel; 300 pods by name would be some 40 kB. */
const LARGEST_OBJECT_BYTES = 12_000;
/** A write may be a little longer on its way to the API server than the one after it. */
const JITTER_MS = 800;

const bed = sharedTestBed(import.meta.filename);

describe('300 pods on a node', () => {
  test('leave with a small status and at most one progress write a second', async () => {
    const island = await bed.island('many', { spares: 2 });
    const workloads = Array.from({ length: 13 }, (_, index) =>
      island.deployment(`w${index}`, { replicas: 20, stopsIn: `${index + 1}s` }),
    );
    await bed.place(
      island,
      ...workloads,
      island.deployment('held', { replicas: HELD_UP, stopsIn: '2s' }),
      island.budget('held', { minAvailable: HELD_UP }),
    );
    const pods = await bed.api.podsOnNode(island.node);
    expect(pods).toHaveLength(POD_COUNT);
    const maintenance = await bed.maintain(island.node);

    let largest = 0;
    const measure = async (): Promise<NodeMaintenance> => {
      const object = await bed.maintenance(maintenance);
      largest = Math.max(largest, JSON.stringify(object).length);
      expect(object.status?.blockers?.length ?? 0).toBeLessThanOrEqual(10);
      return object;
    };
    await eventually(
      'all are gone but those held up',
      async () => {
        const { status } = await measure();
        return status?.drain?.pods?.gone === POD_COUNT - HELD_UP && status.blockersTotal === HELD_UP;
      },
      { timeoutMs: 60_000, explain: async () => bed.explain() },
    );
    const held = await measure();
    expect(held.status?.blockers).toHaveLength(10);
    expect(held.status?.drain?.progress).toBe(`${POD_COUNT - HELD_UP}/${POD_COUNT}`);

    await bed.kubectl.run(['delete', 'pdb', 'held', `--namespace=${island.namespace}`]);
    await eventually(
      'all are gone',
      async () =>
        (await measure()).status?.conditions?.some(
          ({ type, status }) => type === 'Drained' && status === 'True',
        ),
      { timeoutMs: 30_000, explain: async () => bed.explain() },
    );
    const drained = await measure();
    expect(drained.status?.drain?.pods).toMatchObject({ total: POD_COUNT, gone: POD_COUNT, remaining: 0 });
    expect(largest).toBeLessThan(LARGEST_OBJECT_BYTES);

    const accepted = bed.audit.accepted(island.namespace);
    expect(accepted).toHaveLength(POD_COUNT);
    expect(new Set(accepted.map(({ uid }) => uid)).size).toBe(POD_COUNT);

    const writes = bed.audit.entries({
      resource: 'nodemaintenances',
      subresource: 'status',
      name: maintenance,
      byOperator: true,
    });
    const progress = progressWrites(writes);
    expect(progress.length).toBeGreaterThan(5);
    expect(aheadOfOneASecond(progress)).toBeLessThanOrEqual(JITTER_MS);
    // The others are flips, and a drain has few of them.
    expect(writes.length - progress.length).toBeLessThanOrEqual(10);
    // None per pod.
    expect((await bed.api.events('NodeMaintenance', maintenance)).length).toBeLessThanOrEqual(5);
  });
});

/** When nothing but counts, texts and the list of blockers was written: milliseconds since the epoch. */
function progressWrites(writes: readonly AuditEntry[]): number[] {
  let known: Record<string, unknown> = {};
  const times: number[] = [];
  for (const entry of writes) {
    const { status } = as<{ status: NodeMaintenanceStatus }>(entry.requestObject);
    const before = JSON.stringify(known);
    const { phase, startTime, node, drain, conditions, observedGeneration } = status;
    const flips = conditions?.map(({ type, status: value }) => `${type}=${value}`);
    const essence = {
      phase,
      startTime,
      node,
      observedGeneration,
      flips,
      begun: drain?.startTime,
      done: drain?.completionTime,
    };
    // A merge patch says only what is new.
    known = {
      ...known,
      ...Object.fromEntries(Object.entries(essence).filter(([, value]) => value !== undefined)),
    };
    if (JSON.stringify(known) === before) times.push(Date.parse(entry.requestReceivedTimestamp));
  }
  return times;
}

/** By how many milliseconds the fastest stretch of writes was faster than one a second. */
function aheadOfOneASecond(times: readonly number[]): number {
  let most = 0;
  for (const [i, from] of times.entries()) {
    for (const [j, to] of times.entries()) if (j > i) most = Math.max(most, (j - i) * 1000 - (to - from));
  }
  return most;
}
