/** kubectl delete node during a maintenance, under both policies, with a machine that runs and with one that does not. */
import { expect, test } from '@jest/globals';
import { as } from '../../hack/cluster/lib/untyped.ts';
import { KUBELET_ANNOTATION } from '../../hack/cluster/lib/pod-stop.ts';
import type { Node } from '../../src/kube/types.ts';
import { sharedTestBed } from './support/beds.ts';
import type { Island } from './support/island.ts';
import { isReady, nodeCondition, said } from './support/status.ts';

const bed = sharedTestBed(import.meta.filename);

const FINALIZER = 'haulout.dev/evacuate';

const findNode = async (name: string): Promise<Node | undefined> =>
  bed.api.find<Node>(`/api/v1/nodes/${name}`);

async function startDeletion(node: string): Promise<number> {
  await bed.kubectl.run(['delete', 'node', node, '--wait=false']);
  return Date.now();
}

async function untilGone(node: string, timeoutMs = 60_000): Promise<number> {
  await bed.eventually(`node ${node} is gone`, async () => (await findNode(node)) === undefined, {
    timeoutMs,
  });
  return Date.now();
}

/** The scheduler would bind new pods to it. */
function expectNeverUncordoned(node: string): void {
  for (const { requestObject } of bed.audit.nodePatches(node)) {
    const { spec = {} } = as<{ spec?: { unschedulable?: boolean | null } }>(requestObject);
    if ('unschedulable' in spec) expect(spec.unschedulable).toBe(true);
  }
}

async function runElsewhere(island: Island, count: number): Promise<void> {
  await bed.eventually('the pods run on the other node', async () => {
    // What is left of a dead machine is collected a minute later.
    const pods = await bed.api.podsOnNode(island.spares[0] ?? '');
    const own = pods.filter((pod) => pod.metadata.namespace === island.namespace);
    return own.filter(isReady).length === count;
  });
}

test.concurrent('Orphan: the deletion is not held up', async () => {
  const island = await bed.island('orphan');
  const { node, namespace } = island;
  await bed.place(
    island,
    island.deployment('web', { replicas: 2 }),
    island.budget('web', { minAvailable: 2 }),
  );
  await bed.maintain(node);
  await bed.untilSaid(node, 'DrainBlocked', 'True/PodDisruptionBudget');
  expect((await bed.api.node(node)).metadata.finalizers ?? []).toEqual([]);
  const began = await startDeletion(node);
  expect((await untilGone(node)) - began).toBeLessThan(3000);
  const gone = await bed.untilSaid(node, 'Ready', 'False/NodeGone');
  expect(gone.status?.phase).toBe('NodeGone');
  expect(gone.status?.blockersTotal ?? 0).toBe(0);
  expect(bed.audit.accepted(namespace)).toHaveLength(0);
});

test.concurrent('Evict on a machine that runs: the pods are evacuated before the node goes, whatever nodeDrainPolicy says', async () => {
  const island = await bed.island('evict');
  const { node, namespace } = island;
  const placed = await bed.place(
    island,
    island.deployment('web', { replicas: 2, stopsIn: '2s' }),
    island.statefulSet('db', { replicas: 1 }),
    island.daemonSet('agent'),
  );
  await bed.maintain(node, { nodeDrainPolicy: 'NoSchedule', nodeDeletePolicy: 'Evict' });
  await bed.untilSaid(node, 'Ready', 'True/Cordoned');
  expect((await bed.api.node(node)).metadata.finalizers).toEqual([FINALIZER]);
  expect(bed.audit.evictions(namespace)).toHaveLength(0);

  await startDeletion(node);
  await bed.untilSaid(node, 'Ready', 'False/Draining');
  const goneAt = await untilGone(node);
  const leaving = placed.filter((pod) => pod.metadata.labels?.['app'] !== 'agent');
  const accepted = bed.audit.accepted(namespace);
  expect(accepted.map(({ uid }) => uid).toSorted()).toEqual(
    leaving.map(({ metadata }) => metadata.uid).toSorted(),
  );
  // Each had its time to stop: who deleted the object in the end was its kubelet, not the collector of pods without node.
  const stops = bed.audit.entries({ verb: 'delete', resource: 'pods', namespace });
  for (const { metadata } of leaving) {
    const stop = stops.find(({ objectRef }) => objectRef?.name === metadata.name);
    expect(stop?.user.username).toBe('haulout-test:kubelets');
    expect(Date.parse(stop?.stageTimestamp ?? '')).toBeLessThanOrEqual(goneAt);
  }
  expectNeverUncordoned(node);
  await bed.untilSaid(node, 'Ready', 'False/NodeGone');
  await bed.endMaintenance(node);
});

test.concurrent('Evict: also a node that was only announced is emptied before it goes', async () => {
  const island = await bed.island('announced');
  const { node, namespace } = island;
  await bed.place(island, island.deployment('web', { replicas: 2 }));
  await bed.maintain(node, { nodeDrainPolicy: 'Ignore', nodeDeletePolicy: 'Evict' });
  await bed.untilSaid(node, 'Ready', 'True/Announced');
  await bed.eventually('its deletion is guarded', async () => {
    return (await bed.api.node(node)).metadata.finalizers?.includes(FINALIZER);
  });
  expect((await bed.api.node(node)).spec?.unschedulable).toBeUndefined();
  await startDeletion(node);
  await untilGone(node);
  expect(bed.audit.accepted(namespace)).toHaveLength(2);
  expectNeverUncordoned(node);
  await runElsewhere(island, 2);
});

test.concurrent('Evict: a maintenance that ends while the node is being deleted does not make it schedulable', async () => {
  const island = await bed.island('ended');
  const { node } = island;
  await bed.place(
    island,
    island.deployment('web', { replicas: 2 }),
    island.budget('web', { minAvailable: 2 }),
  );
  await bed.maintain(node, { nodeDeletePolicy: 'Evict' });
  await bed.untilSaid(node, 'DrainBlocked', 'True/PodDisruptionBudget');
  await startDeletion(node);
  await bed.eventually(
    'deletion has begun',
    async () => (await findNode(node))?.metadata.deletionTimestamp !== undefined,
  );
  await bed.endMaintenance(node);
  await untilGone(node);
  expectNeverUncordoned(node);
});

test.concurrent('Evict: nodeDeleteTimeoutSeconds ends the wait, also for a suspended maintenance', async () => {
  const island = await bed.island('timeout');
  const { node, namespace } = island;
  await bed.place(
    island,
    island.deployment('web', { replicas: 2 }),
    island.budget('web', { minAvailable: 2 }),
  );
  await bed.maintain(node, { nodeDeletePolicy: 'Evict', nodeDeleteTimeoutSeconds: 4 });
  await bed.untilSaid(node, 'DrainBlocked', 'True/PodDisruptionBudget');
  await bed.edit(node, { suspend: true });
  await bed.untilSaid(node, 'Ready', 'False/Suspended');
  const began = await startDeletion(node);
  const heldMs = (await untilGone(node)) - began;
  // deletionTimestamp is in whole seconds.
  expect(heldMs).toBeGreaterThan(2900);
  expect(heldMs).toBeLessThan(9000);
  expect(bed.audit.accepted(namespace)).toHaveLength(0);
  await bed.untilSaid(node, 'Ready', 'False/NodeGone');
});

test.concurrent('Evict: the finalizer comes and goes with the policy, and goes with the maintenance', async () => {
  const { node } = await bed.island('edit', { spares: 0 });
  const before = await bed.snapshot(node);
  const finalizers = async (): Promise<readonly string[]> => (await bed.snapshot(node)).finalizers;
  await bed.maintain(node);
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  expect(await finalizers()).toEqual([]);
  await bed.edit(node, { nodeDeletePolicy: 'Evict' });
  await bed.eventually('the finalizer is on', async () => (await finalizers()).includes(FINALIZER));
  await bed.edit(node, { nodeDeletePolicy: 'Orphan' });
  await bed.eventually('the finalizer is off', async () => (await finalizers()).length === 0);
  await bed.edit(node, { nodeDeletePolicy: 'Evict' });
  await bed.eventually('the finalizer is on again', async () => (await finalizers()).includes(FINALIZER));
  await bed.endMaintenance(node);
  expect(await bed.snapshot(node)).toEqual(before);
});

test.concurrent('Evict on a machine that is marked as shut down: the deletion is let go at once', async () => {
  const island = await bed.island('off');
  const { node } = island;
  await bed.place(island, island.deployment('web', { replicas: 2, stopsIn: '20s' }));
  await bed.maintain(node, { nodeDrainPolicy: 'NoSchedule', nodeDeletePolicy: 'Evict' });
  await bed.untilSaid(node, 'Ready', 'True/Cordoned');
  expect((await bed.api.node(node)).metadata.finalizers).toEqual([FINALIZER]);
  await startDeletion(node);
  await bed.untilSaid(node, 'Ready', 'False/Draining');
  const marked = Date.now();
  await bed.kubectl.run(['taint', 'node', node, 'node.kubernetes.io/out-of-service=nodeshutdown:NoExecute']);
  expect((await untilGone(node)) - marked).toBeLessThan(6000);
  await runElsewhere(island, 2);
});

test.concurrent('Evict on a machine that died: the deletion is let go when it has not been Ready for 60 s', async () => {
  const island = await bed.island('dead');
  const { node, namespace } = island;
  await bed.place(island, island.deployment('web', { replicas: 2 }));
  await bed.maintain(node, { nodeDrainPolicy: 'NoSchedule', nodeDeletePolicy: 'Evict' });
  await bed.untilSaid(node, 'Ready', 'True/Cordoned');
  await bed.kubectl.run(['annotate', 'node', node, `${KUBELET_ANNOTATION}=dead`]);
  const lost = await bed.eventually('the node is not Ready', async () => {
    const found = (await bed.api.node(node)).status?.conditions?.find(({ type }) => type === 'Ready');
    return found?.status === 'Unknown' && found;
  });
  await startDeletion(node);
  const goneAt = await untilGone(node, 90_000);
  const seconds = (goneAt - Date.parse(lost.lastTransitionTime ?? '')) / 1000;
  expect(seconds).toBeGreaterThanOrEqual(59);
  expect(seconds).toBeLessThan(75);
  expectNeverUncordoned(node);
  await bed.untilSaid(node, 'Ready', 'False/NodeGone');
  await runElsewhere(island, 2);
  expect(bed.audit.podDeletions(namespace)).toHaveLength(0);
});

test.concurrent('Orphan on a machine that died: nothing is held up, and the maintenance says so', async () => {
  const island = await bed.island('lost');
  const { node } = island;
  await bed.place(
    island,
    island.deployment('web', { replicas: 2 }),
    island.budget('web', { minAvailable: 1 }),
  );
  await bed.maintain(node);
  await bed.kubectl.run(['annotate', 'node', node, `${KUBELET_ANNOTATION}=dead`]);
  await bed.eventually('the node is not Ready', async () => {
    return nodeCondition(await bed.api.node(node), 'Ready')?.status === 'Unknown';
  });
  const began = await startDeletion(node);
  expect((await untilGone(node)) - began).toBeLessThan(3000);
  const gone = await bed.untilSaid(node, 'Ready', 'False/NodeGone');
  expect(said(gone, 'Stalled')).toBe('True/NodeGone');
  await bed.endMaintenance(node);
});
