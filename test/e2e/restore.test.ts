/** Only what was put on is taken off. */
import { expect, test } from '@jest/globals';
import type { Node } from '../../src/kube/types.ts';
import { sharedTestBed } from './support/beds.ts';
import { History } from './support/history.ts';
import { condition, taintsOf } from './support/status.ts';

const bed = sharedTestBed(import.meta.filename);

const POLICIES = [
  ['NoSchedule', 'True/Cordoned'],
  ['Evacuate', 'True/Drained'],
] as const;

for (const [nodeDrainPolicy, done] of POLICIES) {
  test.concurrent(`a node that somebody had cordoned before stays cordoned after ${nodeDrainPolicy}`, async () => {
    const island = await bed.island(`cordoned-${nodeDrainPolicy.toLowerCase()}`);
    const { node } = island;
    await bed.place(island, island.deployment('web', { replicas: 2 }));
    await bed.kubectl.run(['cordon', node]);
    await bed.eventually(
      'the cordon has its taint',
      async () => taintsOf(await bed.api.node(node)).length === 1,
    );
    const before = await bed.snapshot(node);
    await bed.maintain(node, { nodeDrainPolicy });
    const held = await bed.untilSaid(node, 'Ready', done);
    expect(held.status?.node?.before).toEqual({ unschedulable: true });

    const history = await History.of<Node>(bed.files.kubeconfig, '/api/v1/nodes', node);
    await bed.endMaintenance(node);
    expect(before.unschedulable).toBe(true);
    expect(await bed.snapshot(node)).toEqual(before);
    // Not for a moment: pods would be bound to it.
    await history.upTo(await bed.api.get<Node>(`/api/v1/nodes/${node}`));
    expect(history.versions.every(({ object }) => object.spec?.unschedulable === true)).toBe(true);
  });
}

test.concurrent('labels, annotations and taints of others are never touched, whenever they came', async () => {
  const { node } = await bed.island('foreign', {
    spares: 0,
    labels: { 'example.com/before': '1' },
    annotations: { 'example.com/before': '1' },
    taints: [{ key: 'example.com/before', value: '1', effect: 'PreferNoSchedule' }],
  });
  const before = await bed.snapshot(node);
  await bed.maintain(node);
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  await bed.kubectl.run([
    'label',
    'node',
    node,
    'example.com/meanwhile=2',
    'example.com/before=changed',
    '--overwrite',
  ]);
  await bed.kubectl.run(['annotate', 'node', node, 'example.com/meanwhile=2']);
  await bed.kubectl.run(['taint', 'node', node, 'example.com/meanwhile=2:PreferNoSchedule']);

  await bed.endMaintenance(node);
  expect(await bed.snapshot(node)).toEqual({
    ...before,
    labels: { ...before.labels, 'example.com/before': 'changed', 'example.com/meanwhile': '2' },
    annotations: { ...before.annotations, 'example.com/meanwhile': '2' },
    taints: [...before.taints, 'example.com/meanwhile=2:PreferNoSchedule'].toSorted(),
  });
});

test.concurrent('what looks like ours and was there before stays', async () => {
  const { node } = await bed.island('alike', {
    spares: 0,
    labels: {
      'node.kubernetes.io/exclude-from-external-load-balancers': '',
      'remediation.medik8s.io/exclude-from-remediation': 'true',
      'haulout.dev/maintenance': 'true',
    },
    annotations: {
      'cluster-autoscaler.kubernetes.io/scale-down-disabled': 'true',
      'karpenter.sh/do-not-disrupt': 'true',
    },
    taints: [
      { key: 'example.com/same', value: 'v', effect: 'NoSchedule' },
      { key: 'example.com/other', value: 'theirs', effect: 'NoSchedule' },
      { key: 'haulout.dev/maintenance', effect: 'PreferNoSchedule' },
    ],
  });
  const before = await bed.snapshot(node);
  await bed.maintain(node, {
    taints: [
      { key: 'example.com/same', value: 'v', effect: 'NoSchedule' },
      { key: 'example.com/other', value: 'ours', effect: 'NoSchedule' },
      { key: 'example.com/new', value: 'n', effect: 'NoSchedule' },
    ],
  });
  const held = await bed.untilSaid(node, 'Ready', 'True/Drained');
  const during = await bed.api.node(node);
  expect(taintsOf(during)).toEqual(
    [
      'example.com/new=n:NoSchedule',
      'example.com/other=theirs:NoSchedule',
      'example.com/same=v:NoSchedule',
      'haulout.dev/maintenance:PreferNoSchedule',
      'node.kubernetes.io/unschedulable:NoSchedule',
    ].toSorted(),
  );
  // The one with another value is left alone, and said.
  expect(condition(held, 'Cordoned')?.message).toContain('example.com/other');
  expect(condition(held, 'Cordoned')?.message).not.toContain('example.com/same');

  await bed.endMaintenance(node);
  expect(await bed.snapshot(node)).toEqual(before);
});

test.concurrent('a mark that somebody takes off meanwhile comes back, and is off at the end', async () => {
  const { node } = await bed.island('drift', { spares: 0 });
  const before = await bed.snapshot(node);
  await bed.maintain(node);
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  const during = await bed.snapshot(node);
  await bed.kubectl.run(['taint', 'node', node, 'haulout.dev/maintenance:PreferNoSchedule-']);
  await bed.kubectl.run(['label', 'node', node, 'haulout.dev/maintenance-']);
  await bed.kubectl.run(['annotate', 'node', node, 'karpenter.sh/do-not-disrupt-']);
  await bed.eventually('the marks are back', async () => {
    expect(await bed.snapshot(node)).toEqual(during);
    return true;
  });
  await bed.endMaintenance(node);
  expect(await bed.snapshot(node)).toEqual(before);
});
