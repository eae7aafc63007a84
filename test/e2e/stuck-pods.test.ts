// Pods that were asked to go and do not.
import { describe, expect, test } from '@jest/globals';
import { as } from '../../hack/cluster/lib/untyped.ts';
import { sharedTestBed } from './support/beds.ts';
import { condition, nodeCondition } from './support/status.ts';

const FINALIZER = 'example.com/flush-cache';
/** A pod counts as stuck so long after its deletionTimestamp, which includes its grace period. */
const STUCK_AFTER_MS = 10_000;

const bed = sharedTestBed(import.meta.filename);

describe('a pod stuck on a finalizer', () => {
  test('is named with its finalizer, and the drain goes on when that is taken off', async () => {
    const island = await bed.island('finalizer');
    const options = { finalizers: [FINALIZER], gracePeriodSeconds: 2 };
    await bed.place(island, island.deployment('free', { replicas: 3 }), island.deployment('stuck', options));
    const pods = await bed.api.podsOnNode(island.node);
    const pod = pods.find(({ metadata }) => metadata.labels?.['app'] === 'stuck');
    const maintenance = await bed.maintain(island.node);

    const held = await bed.untilSaid(maintenance, 'DrainBlocked', 'True/StuckTerminating', {
      timeoutMs: 2000 + STUCK_AFTER_MS + 10_000,
    });
    const [blocker, ...others] = held.status?.blockers ?? [];
    expect(others).toEqual([]);
    expect(held.status?.blockersTotal).toBe(1);
    expect(blocker?.pod).toEqual({
      namespace: island.namespace,
      name: pod?.metadata.name,
      uid: pod?.metadata.uid,
    });
    expect(blocker?.cause).toBe('StuckTerminating');
    expect(blocker?.message).toContain(FINALIZER);
    expect(condition(held, 'Ready')).toMatchObject({ status: 'False', reason: 'DrainBlocked' });
    expect(condition(held, 'Ready')?.message).toContain(FINALIZER);
    expect(condition(held, 'Drained')).toMatchObject({ status: 'False', reason: 'PodsRemaining' });
    expect(held.status?.drain?.pods).toMatchObject({ total: 4, gone: 3, remaining: 1, terminating: 1 });
    // Not a moment too soon: a kubelet may need its time after the grace period.
    const stuck = await bed.api.get<{ metadata: { deletionTimestamp: string } }>(
      `/api/v1/namespaces/${island.namespace}/pods/${pod?.metadata.name}`,
    );
    const since = Date.parse(blocker?.since ?? '') - Date.parse(stuck.metadata.deletionTimestamp);
    expect(since).toBeGreaterThanOrEqual(STUCK_AFTER_MS);
    expect(since).toBeLessThan(STUCK_AFTER_MS + 3000);
    // A pod that terminates is never asked again.
    expect(bed.audit.evictions(island.namespace, { uid: pod?.metadata.uid ?? '' })).toHaveLength(1);

    const path = ['patch', 'pod', pod?.metadata.name ?? '', `--namespace=${island.namespace}`];
    await bed.kubectl.run([...path, '--type=merge', '--patch={"metadata":{"finalizers":null}}']);
    const drained = await bed.untilSaid(maintenance, 'Drained', 'True/Drained', { timeoutMs: 5000 });
    expect(drained.status?.blockers ?? []).toEqual([]);
    expect(drained.status?.blockersTotal).toBe(0);
    expect(condition(drained, 'DrainBlocked')).toMatchObject({ status: 'False' });
    const event = (await bed.api.events('NodeMaintenance', maintenance)).find(
      ({ reason, note }) => reason === 'DrainBlocked' && note?.includes(FINALIZER),
    );
    expect(event).toMatchObject({ type: 'Warning' });
  });
});

describe('a pod on a node with a dead kubelet', () => {
  test('is named with the node, and given up after skipWaitForDeleteTimeoutSeconds', async () => {
    const island = await bed.island('dead');
    await bed.place(island, island.deployment('web', { gracePeriodSeconds: 2 }));
    const [pod] = await bed.api.podsOnNode(island.node);
    await bed.kubectl.run(['annotate', 'node', island.node, 'test.haulout.dev/kubelet=dead']);
    await bed.eventually(
      'the node controller notices',
      async () => nodeCondition(await bed.api.node(island.node), 'Ready')?.status === 'Unknown',
    );
    const maintenance = await bed.maintain(island.node);

    const held = await bed.untilSaid(maintenance, 'DrainBlocked', 'True/StuckTerminating');
    const [blocker] = held.status?.blockers ?? [];
    expect(blocker?.pod.uid).toBe(pod?.metadata.uid);
    expect(blocker?.message).toContain(`node ${island.node} is not Ready`);
    expect(blocker?.message).toContain('node.kubernetes.io/out-of-service');

    await bed.edit(maintenance, { drain: { skipWaitForDeleteTimeoutSeconds: 12 } });
    const drained = await bed.untilSaid(maintenance, 'Drained', 'True/Drained');
    const still = await bed.api.get<typeof pod>(
      as<string>(`/api/v1/namespaces/${island.namespace}/pods/${pod?.metadata.name}`),
    );
    expect(still?.metadata.uid).toBe(pod?.metadata.uid);
    expect(Date.now()).toBeGreaterThan(Date.parse(still?.metadata.deletionTimestamp ?? '') + 12_000);
    expect(condition(drained, 'Ready')?.message).toContain(`${island.namespace}/${pod?.metadata.name}`);
  });
});
