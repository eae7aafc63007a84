/** spec is the user's, and an edit takes effect at once, also in mid-drain. */
import { expect, test } from '@jest/globals';
import { as } from '../../hack/cluster/lib/untyped.ts';
import type { NodeMaintenance } from '../../src/api/types.generated.ts';
import { sharedTestBed } from './support/beds.ts';
import { holdsFor } from './support/eventually.ts';
import { condition, nodeCondition, said, taintsOf } from './support/status.ts';

const bed = sharedTestBed(import.meta.filename);

const LOAD_BALANCERS = 'node.kubernetes.io/exclude-from-external-load-balancers';

test.concurrent('Evacuate, NoSchedule, Ignore and Evacuate again, each by an edit', async () => {
  const island = await bed.island('tour');
  const { node, namespace } = island;
  await bed.place(
    island,
    island.deployment('web', { replicas: 3 }),
    island.budget('web', { minAvailable: 3 }),
  );
  const before = await bed.snapshot(node);
  await bed.maintain(node, { nodeDrainPolicy: 'Evacuate' });
  const draining = await bed.untilSaid(node, 'DrainBlocked', 'True/PodDisruptionBudget');
  expect(draining.status?.drain?.startTime).toBeDefined();
  const began = draining.status?.startTime;

  await bed.edit(node, { nodeDrainPolicy: 'NoSchedule' });
  const cordoned = await bed.untilSaid(node, 'Ready', 'True/Cordoned');
  expect(said(cordoned, 'Drained')).toBe('False/PolicyDoesNotDrain');
  expect(condition(cordoned, 'DrainBlocked')?.status).toBe('False');
  expect(cordoned.status?.blockersTotal ?? 0).toBe(0);
  expect(cordoned.status?.drain?.startTime).toBeUndefined();
  expect(cordoned.status?.phase).toBe('UnderMaintenance');
  await bed.kubectl.run(['delete', 'pdb', 'web', `--namespace=${namespace}`]);
  await holdsFor(2000, 'nothing is evicted any more', () => bed.audit.accepted(namespace).length === 0);
  const held = await bed.api.node(node);
  expect(held.spec?.unschedulable).toBe(true);
  expect(held.metadata.labels?.[LOAD_BALANCERS]).toBeUndefined();
  expect(nodeCondition(held, 'DrainInProgress')?.status).toBe('False');
  expect(nodeCondition(held, 'MaintenanceInProgress')?.status).toBe('True');

  await bed.edit(node, { nodeDrainPolicy: 'Ignore' });
  const announced = await bed.untilSaid(node, 'Ready', 'True/Announced');
  expect(said(announced, 'Cordoned')).toBe('False/PolicyIgnore');
  expect(said(announced, 'Drained')).toBe('False/PolicyDoesNotDrain');
  const { maintenanceConditions: _, ...nodeBefore } = before;
  await bed.eventually('the node is as before, and announced', async () => {
    expect(await bed.snapshot(node)).toMatchObject(nodeBefore);
    const now = await bed.api.node(node);
    expect(nodeCondition(now, 'MaintenancePlanned')?.status).toBe('True');
    expect(nodeCondition(now, 'MaintenanceInProgress')?.status).toBe('False');
    return true;
  });
  expect(bed.audit.accepted(namespace)).toHaveLength(0);

  await bed.edit(node, { nodeDrainPolicy: 'Evacuate' });
  const drained = await bed.untilSaid(node, 'Ready', 'True/Drained');
  expect(bed.audit.accepted(namespace)).toHaveLength(3);
  expect(drained.status?.startTime).toBe(began);
  // Whoever waits for Ready after an edit must not see the Ready of before it: that is taken back first.
  const toldAt = bed.audit
    .entries({ resource: 'nodemaintenances', subresource: 'status', name: node })
    .find(({ requestObject }) => {
      const { status } = as<NodeMaintenance>(requestObject);
      return status?.observedGeneration === drained.metadata.generation;
    });
  const lastPatch = bed.audit.nodePatches(node).at(-1);
  expect(Date.parse(toldAt?.stageTimestamp ?? '')).toBeLessThanOrEqual(
    Date.parse(lastPatch?.requestReceivedTimestamp ?? ''),
  );
  expect(said(as<NodeMaintenance>(toldAt?.requestObject), 'Ready')).toMatch(/^False/);
  expect((await bed.api.node(node)).metadata.labels?.[LOAD_BALANCERS]).toBe('true');
  await bed.endMaintenance(node);
  expect(await bed.snapshot(node)).toEqual(before);
});

test.concurrent('Ignore only announces: the node is not written, pods stay', async () => {
  const island = await bed.island('ignore');
  const { node, namespace } = island;
  const placed = await bed.place(island, island.deployment('web', { replicas: 2 }));
  const { maintenanceConditions: _, ...nodeBefore } = await bed.snapshot(node);
  await bed.maintain(node, { nodeDrainPolicy: 'Ignore', reason: 'Next week' });
  const announced = await bed.untilSaid(node, 'Ready', 'True/Announced');
  expect(announced.status?.phase).toBe('UnderMaintenance');
  await bed.eventually('the node says that it is planned', async () => {
    const found = (await bed.api.node(node)).status?.conditions?.find(
      ({ type }) => type === 'MaintenancePlanned',
    );
    expect(found?.status).toBe('True');
    expect(found?.message).toContain('Next week');
    return true;
  });
  await bed.eventually('an event announces it', async () => {
    return (await bed.api.events('NodeMaintenance', node)).some(({ reason }) => reason === 'Announced');
  });
  expect(await bed.snapshot(node)).toMatchObject(nodeBefore);
  expect(bed.audit.nodePatches(node)).toHaveLength(0);
  await holdsFor(1000, 'pods stay', async () => (await bed.api.podsOnNode(node)).length === placed.length);
  expect(bed.audit.evictions(namespace)).toHaveLength(0);
  await bed.endMaintenance(node);
  expect((await bed.snapshot(node)).maintenanceConditions).toEqual([]);
});

test.concurrent('NoSchedule cordons: pods stay and none arrives', async () => {
  const island = await bed.island('noschedule', { spares: 0 });
  const { node, namespace } = island;
  await bed.place(island, island.deployment('web', { replicas: 2 }));
  await bed.maintain(node, { nodeDrainPolicy: 'NoSchedule' });
  await bed.untilSaid(node, 'Ready', 'True/Cordoned');
  await bed.kubectl.run(['scale', 'deployment', 'web', '--replicas=3', `--namespace=${namespace}`]);
  await bed.eventually('the third pod finds no node', async () => {
    const pods = await bed.api.pods(namespace);
    return pods.some((pod) =>
      pod.status?.conditions?.some(
        ({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable',
      ),
    );
  });
  expect(await bed.api.podsOnNode(node)).toHaveLength(2);
  expect(bed.audit.evictions(namespace)).toHaveLength(0);
  await bed.endMaintenance(node);
  await bed.eventually('the third pod arrives', async () => (await bed.api.podsOnNode(node)).length === 3);
});

test.concurrent('taints, load balancers and drain settings follow their edits', async () => {
  const island = await bed.island('settings');
  const { node, namespace } = island;
  await bed.place(island, island.barePod('bare'));
  await bed.maintain(node, {
    excludeFromLoadBalancers: false,
    taints: [{ key: 'example.com/one', value: 'a', effect: 'NoSchedule' }],
  });
  await bed.untilSaid(node, 'DrainBlocked', 'True/UnmanagedPod');
  expect((await bed.api.node(node)).metadata.labels?.[LOAD_BALANCERS]).toBeUndefined();

  await bed.edit(node, {
    excludeFromLoadBalancers: true,
    taints: [
      { key: 'example.com/one', value: 'b', effect: 'NoSchedule' },
      { key: 'example.com/two', effect: 'PreferNoSchedule' },
    ],
  });
  await bed.eventually('the node has followed', async () => {
    const now = await bed.api.node(node);
    expect(now.metadata.labels?.[LOAD_BALANCERS]).toBe('true');
    expect(taintsOf(now)).toEqual(
      [
        'example.com/one=b:NoSchedule',
        'example.com/two:PreferNoSchedule',
        'haulout.dev/maintenance:PreferNoSchedule',
        'node.kubernetes.io/unschedulable:NoSchedule',
      ].toSorted(),
    );
    return true;
  });
  expect(bed.audit.evictions(namespace)).toHaveLength(0);
  await bed.edit(node, { taints: null, drain: { unmanagedPods: 'Evict' } });
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  expect(bed.audit.accepted(namespace)).toHaveLength(1);
  await bed.eventually(
    'the taints are off',
    async () => (await bed.api.node(node)).spec?.taints?.length === 2,
  );
});

test.concurrent('suspend stops a drain and lets it go on', async () => {
  const island = await bed.island('suspend');
  const { node, namespace } = island;
  await bed.place(
    island,
    island.deployment('web', { replicas: 2 }),
    island.budget('web', { minAvailable: 2 }),
  );
  await bed.maintain(node);
  await bed.untilSaid(node, 'DrainBlocked', 'True/PodDisruptionBudget');
  await bed.edit(node, { suspend: true });
  const suspended = await bed.untilSaid(node, 'Ready', 'False/Suspended');
  expect(said(suspended, 'Cordoned')).toBe('True/Cordoned');
  expect(suspended.status?.drain?.startTime).toBeUndefined();
  await bed.kubectl.run(['delete', 'pdb', 'web', `--namespace=${namespace}`]);
  await holdsFor(2000, 'nothing is evicted', () => bed.audit.accepted(namespace).length === 0);
  expect((await bed.api.node(node)).spec?.unschedulable).toBe(true);
  await bed.edit(node, { suspend: false });
  await bed.untilSaid(node, 'Ready', 'True/Drained');
});

test.concurrent('suspended before it begins, a maintenance leaves the node alone', async () => {
  const { node } = await bed.island('later', { spares: 0 });
  const before = await bed.snapshot(node);
  await bed.maintain(node, { suspend: true });
  const pending = await bed.untilSaid(node, 'Ready', 'False/Suspended');
  expect(pending.status?.phase).toBe('Pending');
  const { maintenanceConditions: _, ...nodeBefore } = before;
  expect(await bed.snapshot(node)).toMatchObject(nodeBefore);
  expect(bed.audit.nodePatches(node)).toHaveLength(0);
  await bed.edit(node, { suspend: false });
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  await bed.endMaintenance(node);
  expect(await bed.snapshot(node)).toEqual(before);
});
