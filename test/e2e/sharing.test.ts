/** Several maintenances on one node: each has its own status, the node carries the union, the last one out restores. */
import { expect, test } from '@jest/globals';
import { as } from '../../hack/cluster/lib/untyped.ts';
import type { DrainSpec, ExtraTaint } from '../../src/api/types.generated.ts';
import type { DeleteOptions } from './support/audit.ts';
import { sharedTestBed } from './support/beds.ts';
import { holdsFor } from './support/eventually.ts';
import { said, taintsOf } from './support/status.ts';

const bed = sharedTestBed(import.meta.filename);

const taint = (name: string): ExtraTaint => ({
  key: `example.com/${name}`,
  value: name,
  effect: 'NoSchedule',
});
const only = (app: string): { drain: DrainSpec } => ({ drain: { podSelector: { matchLabels: { app } } } });

test.concurrent('Delete needs the consent of all who evacuate the node, the suspended one included', async () => {
  const island = await bed.island('consent');
  const { node, namespace } = island;
  bed.expectPodDeletions(namespace);
  const placed = await bed.place(
    island,
    island.deployment('held', { replicas: 1, gracePeriodSeconds: 7 }),
    island.budget('held', { minAvailable: 1 }),
    island.deployment('free', { replicas: 2 }),
  );
  const held = placed.find((pod) => pod.metadata.labels?.['app'] === 'held');
  const before = await bed.snapshot(node);
  const urgent = `${node}-urgent`;
  const calm = `${node}-calm`;
  await bed.maintain(node, { suspend: true }, calm);
  await bed.untilSaid(calm, 'Ready', 'False/Suspended');
  await bed.maintain(node, { drain: { timeoutSeconds: 2, onTimeout: 'Delete' } }, urgent);

  // What goes past no protection does not need the other's consent.
  const blocked = await bed.until(urgent, 'only the held-up pod is left', ({ status }) => {
    return status?.drain?.pods?.gone === 2 && status.blockersTotal === 1;
  });
  const drainStart = Date.parse(blocked.status?.drain?.startTime ?? '');
  await bed.eventually('the deadline is over', () => Date.now() > drainStart + 3000);
  await holdsFor(2500, 'the held-up pod is spared', () => bed.audit.podDeletions(namespace).length === 0);
  expect(said(await bed.maintenance(urgent), 'Ready')).toBe('False/DrainBlocked');
  const suspended = await bed.maintenance(calm);
  expect(said(suspended, 'Ready')).toBe('False/Suspended');
  expect(suspended.status?.phase).toBe('Pending');

  await bed.edit(calm, { drain: { deleteBlockedAfterSeconds: 1 } });
  await bed.untilSaid(urgent, 'Ready', 'True/Drained');
  const [deletion, ...others] = bed.audit.podDeletions(namespace);
  expect(others).toHaveLength(0);
  const options = as<DeleteOptions>(deletion?.requestObject);
  expect(deletion?.objectRef?.name).toBe(held?.metadata.name);
  expect(options.preconditions?.uid).toBe(held?.metadata.uid);
  expect(options.gracePeriodSeconds ?? 7).toBe(7);
  expect(bed.audit.accepted(namespace)).toHaveLength(2);

  // The suspended one never took the node; the other one gives it back.
  await bed.endMaintenance(urgent);
  expect(await bed.snapshot(node)).toMatchObject({ ...before, maintenanceConditions: expect.anything() });
  await bed.endMaintenance(calm);
  expect(await bed.snapshot(node)).toEqual(before);
});

test.concurrent('without consent of a maintenance that was suspended in mid-drain nothing is deleted', async () => {
  const island = await bed.island('paused');
  const { node, namespace } = island;
  bed.expectPodDeletions(namespace);
  await bed.place(
    island,
    island.deployment('held', { replicas: 1 }),
    island.budget('held', { minAvailable: 1 }),
  );
  const urgent = `${node}-urgent`;
  const calm = `${node}-calm`;
  await bed.maintain(node, {}, calm);
  await bed.untilSaid(calm, 'DrainBlocked', 'True/PodDisruptionBudget');
  await bed.edit(calm, { suspend: true });
  await bed.untilSaid(calm, 'Ready', 'False/Suspended');
  await bed.maintain(node, { drain: { deleteBlockedAfterSeconds: 1 } }, urgent);
  await bed.untilSaid(urgent, 'DrainBlocked', 'True/PodDisruptionBudget');
  await holdsFor(3000, 'the pod is spared', () => bed.audit.podDeletions(namespace).length === 0);

  await bed.endMaintenance(calm);
  await bed.untilSaid(urgent, 'Ready', 'True/Drained');
  expect(bed.audit.podDeletions(namespace)).toHaveLength(1);
  expect((await bed.api.node(node)).spec?.unschedulable).toBe(true);
});

test.concurrent('the node carries the union of what both want; the last one out restores it', async () => {
  const { node } = await bed.island('union', { spares: 0 });
  const before = await bed.snapshot(node);
  const one = `${node}-one`;
  const two = `${node}-two`;
  await bed.maintain(node, { taints: [taint('one'), taint('both')], reason: 'Disks' }, one);
  await bed.untilSaid(one, 'Ready', 'True/Drained');
  await bed.maintain(node, { nodeDrainPolicy: 'NoSchedule', taints: [taint('two'), taint('both')] }, two);
  await bed.untilSaid(two, 'Ready', 'True/Cordoned');
  const ours = ['haulout.dev/maintenance:PreferNoSchedule', 'node.kubernetes.io/unschedulable:NoSchedule'];
  const during = await bed.api.node(node);
  expect(taintsOf(during)).toEqual(
    [
      ...ours,
      'example.com/both=both:NoSchedule',
      'example.com/one=one:NoSchedule',
      'example.com/two=two:NoSchedule',
    ].toSorted(),
  );
  const record = as<{ holders: { name: string; reason: string }[] }>(
    JSON.parse(during.metadata.annotations?.['haulout.dev/maintenance'] ?? '{}'),
  );
  expect(record.holders.map(({ name }) => name).toSorted()).toEqual([one, two]);
  expect(record.holders.find(({ name }) => name === one)?.reason).toBe('Disks');

  await bed.endMaintenance(one);
  const left = await bed.api.node(node);
  expect(left.spec?.unschedulable).toBe(true);
  expect(taintsOf(left)).toEqual(
    [...ours, 'example.com/both=both:NoSchedule', 'example.com/two=two:NoSchedule'].toSorted(),
  );
  // Only the one that evacuated asked for this.
  expect(left.metadata.labels).not.toHaveProperty([
    'node.kubernetes.io/exclude-from-external-load-balancers',
  ]);
  expect(said(await bed.maintenance(two), 'Ready')).toBe('True/Cordoned');

  await bed.endMaintenance(two);
  expect(await bed.snapshot(node)).toEqual(before);
});

test.concurrent('a protection that one asks for is not undone by the other', async () => {
  const island = await bed.island('protect');
  const { node, namespace } = island;
  await bed.place(
    island,
    island.barePod('bare'),
    island.deployment('web', { replicas: 1, gracePeriodSeconds: 20 }),
  );
  const careless = `${node}-careless`;
  const careful = `${node}-careful`;
  // The careful one is there first, so that nothing has left before it can object.
  await bed.maintain(node, { suspend: true, drain: { unmanagedPods: 'Block' } }, careful);
  await bed.untilSaid(careful, 'Ready', 'False/Suspended');
  await bed.maintain(node, { drain: { unmanagedPods: 'Evict', maxGracePeriodSeconds: 3 } }, careless);
  const blocked = await bed.until(careless, 'the bare pod is held up', ({ status }) => {
    return status?.drain?.pods?.gone === 1 && status.blockersTotal === 1;
  });
  expect(blocked.status?.blockers?.[0]).toMatchObject({
    cause: 'UnmanagedPod',
    pod: { namespace, name: 'bare' },
    message: expect.stringContaining(careful),
  });
  // A shorter grace period needs the consent of both, too.
  expect(bed.audit.evictions(namespace).map(({ gracePeriodSeconds }) => gracePeriodSeconds)).toEqual([
    undefined,
  ]);

  await bed.edit(careful, { drain: { unmanagedPods: 'Evict', maxGracePeriodSeconds: 2 } });
  await bed.untilSaid(careless, 'Ready', 'True/Drained');
  const bare = bed.audit.evictions(namespace, { name: 'bare' });
  expect(bare.map(({ gracePeriodSeconds }) => gracePeriodSeconds)).toEqual([3]);
});

test.concurrent('a pod leaves when one of them selects it, and each says what is left for itself', async () => {
  const island = await bed.island('select');
  const { node, namespace } = island;
  await bed.place(
    island,
    island.deployment('web', { replicas: 1 }),
    island.deployment('db', { replicas: 1 }),
  );
  const web = `${node}-web`;
  const db = `${node}-db`;
  await bed.maintain(node, only('web'), web);
  const kept = await bed.untilSaid(web, 'Ready', 'True/Drained');
  expect(said(kept, 'Drained')).toBe('False/PodsKept');
  expect(kept.status?.drain?.pods).toMatchObject({ total: 1, gone: 1, ignored: 1 });
  expect(bed.audit.accepted(namespace)).toHaveLength(1);
  await bed.maintain(node, only('db'), db);
  await bed.untilSaid(db, 'Drained', 'True/Drained');
  await bed.untilSaid(web, 'Drained', 'True/Drained');
  expect(bed.audit.accepted(namespace)).toHaveLength(2);
});
