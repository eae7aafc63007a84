/** Somebody runs kubectl uncordon on a node that is in maintenance. */
import { expect, test } from '@jest/globals';
import { sharedTestBed } from './support/beds.ts';
import { nodeCondition, said } from './support/status.ts';

const bed = sharedTestBed(import.meta.filename);

test.concurrent('uncordoned by hand in mid-drain: it is put back with an event, and the drain goes on', async () => {
  const island = await bed.island('drain');
  const { node, namespace } = island;
  await bed.place(
    island,
    island.deployment('held', { replicas: 2 }),
    island.budget('held', { minAvailable: 2 }),
  );
  const before = await bed.snapshot(node);
  await bed.maintain(node);
  await bed.untilSaid(node, 'DrainBlocked', 'True/PodDisruptionBudget');

  await bed.kubectl.run(['uncordon', node]);
  await bed.eventually('the node is cordoned again', async () => {
    const { spec } = await bed.api.node(node);
    return spec?.unschedulable === true;
  });
  await bed.untilSaid(node, 'Cordoned', 'True/Cordoned');
  await bed.eventually('both the maintenance and the node have an event', async () => {
    for (const kind of ['NodeMaintenance', 'Node'] as const) {
      const events = (await bed.api.events(kind, node)).filter(({ reason }) => reason === 'CordonPutBack');
      expect(events).toHaveLength(1);
      expect(events[0]?.type).toBe('Warning');
    }
    return true;
  });

  await bed.kubectl.run(['delete', 'pdb', 'held', `--namespace=${namespace}`]);
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  expect(bed.audit.accepted(namespace)).toHaveLength(2);
  await bed.endMaintenance(node);
  expect(await bed.snapshot(node)).toEqual(before);
});

test.concurrent('cordoned by hand before and uncordoned by hand meanwhile: schedulable afterwards', async () => {
  const { node } = await bed.island('both', { spares: 0 });
  const before = await bed.snapshot(node);
  await bed.kubectl.run(['cordon', node]);
  await bed.maintain(node);
  const held = await bed.untilSaid(node, 'Ready', 'True/Drained');
  expect(held.status?.node?.before).toEqual({ unschedulable: true });

  await bed.kubectl.run(['uncordon', node]);
  await bed.eventually('cordoned again, and known to have been uncordoned', async () => {
    const { spec } = await bed.api.node(node);
    const { status } = await bed.maintenance(node);
    return spec?.unschedulable === true && status?.node?.before?.unschedulable === false;
  });
  await bed.endMaintenance(node);
  expect(before.unschedulable).toBe(false);
  expect(await bed.snapshot(node)).toEqual(before);
});

test.concurrent('under Ignore a cordon is nobody’s but the user’s', async () => {
  const { node } = await bed.island('ignore', { spares: 0 });
  await bed.maintain(node, { nodeDrainPolicy: 'Ignore' });
  const announced = await bed.untilSaid(node, 'Ready', 'True/Announced');
  expect(said(announced, 'Cordoned')).toBe('False/PolicyIgnore');
  await bed.kubectl.run(['cordon', node]);
  await bed.kubectl.run(['uncordon', node]);
  await bed.kubectl.run(['cordon', node]);
  await bed.eventually('the planned maintenance is known', async () => {
    return nodeCondition(await bed.api.node(node), 'MaintenancePlanned')?.status === 'True';
  });
  await bed.endMaintenance(node);
  expect((await bed.api.node(node)).spec?.unschedulable).toBe(true);
  expect(bed.audit.nodePatches(node)).toHaveLength(0);
});

test.concurrent('who uncordons again and again is answered more and more slowly', async () => {
  const { node } = await bed.island('stubborn', { spares: 0 });
  await bed.maintain(node);
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  for (let round = 1; round <= 3; round++) {
    await bed.kubectl.run(['uncordon', node]);
    await bed.eventually(
      'cordoned again',
      async () => (await bed.api.node(node)).spec?.unschedulable === true,
    );
  }
  await bed.untilSaid(node, 'Cordoned', 'True/Cordoned');
  // The node lifecycle controller may take the taint off once more, from what it saw a moment before; that the taint
  // alone is put back is no cordon.
  const [, first = 0, second = 0, third = 0, ...others] = bed.audit
    .nodePatches(node)
    .filter(({ requestObject }) => setsUnschedulable(requestObject))
    .map(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp));
  expect(others).toEqual([]);
  expect(second - first).toBeGreaterThan(950);
  expect(third - second).toBeGreaterThan(1900);
});

function setsUnschedulable(patch: unknown): boolean {
  return (patch as { spec?: { unschedulable?: boolean | null } }).spec?.unschedulable === true;
}
