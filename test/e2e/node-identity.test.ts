/** Nodes that are not there yet, go away, and come back under their name. */
import { expect, test } from '@jest/globals';
import { sharedTestBed } from './support/beds.ts';
import { holdsFor } from './support/eventually.ts';
import { condition, said } from './support/status.ts';

const bed = sharedTestBed(import.meta.filename);

test.concurrent('a maintenance waits for a node that does not exist, and takes it when it joins', async () => {
  const node = `${bed.prefix}-late`;
  await bed.maintain(node);
  const waiting = await bed.untilSaid(node, 'Ready', 'False/NodeNotFound');
  expect(waiting.status?.phase).toBe('Pending');
  expect(said(waiting, 'Cordoned')).toBe('Unknown/NodeNotFound');
  expect(condition(waiting, 'Stalled')).toBeUndefined();
  expect(condition(waiting, 'Ready')?.message).toContain(node);
  expect(waiting.status?.startTime).toBeUndefined();

  await bed.addNode(node, { labels: { 'example.com/new': 'yes' } });
  const drained = await bed.untilSaid(node, 'Ready', 'True/Drained');
  const during = await bed.api.node(node);
  expect(during.spec?.unschedulable).toBe(true);
  expect(drained.status?.node).toMatchObject({ uid: during.metadata.uid, before: { unschedulable: false } });
  expect(drained.status?.startTime).toBeDefined();
  await bed.endMaintenance(node);
  const after = await bed.snapshot(node);
  expect(after).toMatchObject({ unschedulable: false, taints: [], maintenanceConditions: [] });
  expect(after.labels['example.com/new']).toBe('yes');
});

test.concurrent('a maintenance of a node that is missing can be deleted', async () => {
  const node = `${bed.prefix}-never`;
  await bed.maintain(node);
  await bed.untilSaid(node, 'Ready', 'False/NodeNotFound');
  const began = Date.now();
  await bed.endMaintenance(node);
  expect(Date.now() - began).toBeLessThan(5000);
});

test.concurrent('a maintenance whose node has been deleted says so and can be deleted', async () => {
  const { node } = await bed.island('gone', { spares: 0 });
  await bed.maintain(node);
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  await bed.kubectl.run(['delete', 'node', node, '--timeout=10s']);
  const gone = await bed.untilSaid(node, 'Ready', 'False/NodeGone');
  expect(gone.status?.phase).toBe('NodeGone');
  expect(said(gone, 'Stalled')).toBe('True/NodeGone');
  expect(said(gone, 'Cordoned')?.startsWith('True')).toBe(false);
  expect(said(gone, 'Drained')?.startsWith('True')).toBe(false);
  await bed.endMaintenance(node);
  expect(bed.audit.nodePatches(node)).toHaveLength(1);
});

test.concurrent('a node that registers again under its name is a new node: recorded afresh, maintained, put back', async () => {
  const island = await bed.island('again');
  const { node, namespace } = island;
  await bed.kubectl.run(['cordon', node]);
  await bed.maintain(node, { drain: { timeoutSeconds: 600 } });
  const first = await bed.untilSaid(node, 'Ready', 'True/Drained');
  expect(first.status?.node?.before).toEqual({ unschedulable: true });
  await bed.kubectl.run(['delete', 'node', node, '--timeout=10s']);
  await bed.untilSaid(node, 'Ready', 'False/NodeGone');

  await bed.addNode(node, { labels: { ...island.nodeSelector, 'example.com/second': 'yes' } });
  await bed.until(node, 'it holds the new node', ({ status }) => {
    return status?.node?.uid !== undefined && status.node.uid !== first.status?.node?.uid;
  });
  const second = await bed.untilSaid(node, 'Ready', 'True/Drained');
  const during = await bed.api.node(node);
  expect(second.status?.node).toMatchObject({ uid: during.metadata.uid, before: { unschedulable: false } });
  expect(during.spec?.unschedulable).toBe(true);
  expect(condition(second, 'Stalled')).toBeUndefined();

  // Its policy holds for the new node: a pod that is bound to it leaves.
  await bed.edit(node, { drain: { unmanagedPods: 'Evict' } });
  await bed.kubectl.apply(island.barePod('straggler', { spec: { nodeName: node } }));
  await bed.eventually('the pod was evicted', () => bed.audit.accepted(namespace).length === 1);
  await bed.endMaintenance(node);
  const after = await bed.snapshot(node);
  expect(after).toMatchObject({
    unschedulable: false,
    taints: [],
    finalizers: [],
    maintenanceConditions: [],
  });
  expect(after.annotations).toEqual({});
  expect(after.labels).toMatchObject({ 'example.com/second': 'yes' });
  expect(
    Object.keys(after.labels).filter((key) => key.includes('haulout') && !key.startsWith('test.')),
  ).toEqual([]);
});

test.concurrent('a node that is replaced in mid-drain: the pods of the new one are counted anew', async () => {
  const island = await bed.island('swap', { spares: 1 });
  const { node, namespace } = island;
  await bed.place(
    island,
    island.deployment('free', { replicas: 2 }),
    island.deployment('web', { replicas: 2 }),
    island.budget('web', { minAvailable: 2 }),
  );
  await bed.maintain(node);
  const first = await bed.until(node, 'blocked after two', ({ status }) => {
    return status?.drain?.pods?.gone === 2 && status.blockersTotal === 2;
  });
  await bed.kubectl.run(['delete', 'node', node, '--timeout=10s']);
  await bed.untilSaid(node, 'Ready', 'False/NodeGone');
  // The same pods are bound to the new node, whose name is the same: its machine may have come back with them.
  await bed.addNode(node, { labels: island.nodeSelector });
  const second = await bed.until(node, 'held up on the new node', ({ status }) => {
    return (
      status?.node !== undefined && status.node.uid !== first.status?.node?.uid && status.blockersTotal === 2
    );
  });
  expect(second.status?.drain?.pods).toMatchObject({ total: 2, gone: 0, remaining: 2 });
  await bed.kubectl.run(['delete', 'pdb', 'web', `--namespace=${namespace}`]);
  const drained = await bed.untilSaid(node, 'Ready', 'True/Drained');
  expect(drained.status?.drain?.pods).toMatchObject({ total: 2, gone: 2, remaining: 0 });
  expect(bed.audit.accepted(namespace)).toHaveLength(4);
});

test.concurrent('a maintenance that was suspended meanwhile leaves the new node alone until it goes on', async () => {
  const { node } = await bed.island('paused', { spares: 0 });
  await bed.maintain(node);
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  await bed.edit(node, { suspend: true });
  await bed.kubectl.run(['delete', 'node', node, '--timeout=10s']);
  await bed.untilSaid(node, 'Ready', 'False/NodeGone');
  const writes = bed.audit.nodePatches(node).length;

  await bed.addNode(node);
  const paused = await bed.untilSaid(node, 'Ready', 'False/Suspended');
  expect(paused.status?.phase).toBe('Pending');
  await holdsFor(1000, 'the new node is schedulable', async () => {
    return (await bed.api.node(node)).spec?.unschedulable !== true;
  });
  expect(bed.audit.nodePatches(node)).toHaveLength(writes);
  await bed.edit(node, { suspend: false });
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  expect((await bed.api.node(node)).spec?.unschedulable).toBe(true);
});
