/** A StatefulSet pod that comes back under its name is another pod: it is told apart by its UID everywhere. */
import { expect, test } from '@jest/globals';
import { sharedTestBed } from './support/beds.ts';
import { isReady } from './support/status.ts';

const bed = sharedTestBed(import.meta.filename);

test.concurrent('a pod that comes back elsewhere under the same name has left, and is not evicted again', async () => {
  const island = await bed.island('elsewhere');
  const { node, namespace } = island;
  const placed = await bed.place(island, island.statefulSet('db', { replicas: 3 }));
  const uids = placed.map(({ metadata }) => metadata.uid);
  await bed.maintain(node);
  const drained = await bed.untilSaid(node, 'Drained', 'True/Drained');
  expect(drained.status?.drain?.pods).toMatchObject({ total: 3, gone: 3, remaining: 0 });
  const reborn = await bed.eventually('the same names run elsewhere', async () => {
    const pods = await bed.api.pods(namespace);
    return pods.length === 3 && pods.every((pod) => isReady(pod)) && pods;
  });
  expect(reborn.map(({ metadata }) => metadata.name).toSorted()).toEqual(['db-0', 'db-1', 'db-2']);
  expect(reborn.every((pod) => pod.spec.nodeName === island.spares[0])).toBe(true);
  expect(reborn.some(({ metadata }) => uids.includes(metadata.uid))).toBe(false);
  const posts = bed.audit.evictions(namespace);
  expect(posts.map(({ uid }) => uid).toSorted()).toEqual(uids.toSorted());
  expect(posts.every(({ accepted }) => accepted)).toBe(true);
});

test.concurrent('when its new node is drained too, the new pod is evicted as itself', async () => {
  const island = await bed.island('again', { spares: 2 });
  const { node, namespace } = island;
  const [first, second] = island.spares as [string, string];
  const placed = await bed.place(island, island.statefulSet('db', { replicas: 2 }));
  await bed.cordon(second);
  await bed.maintain(node);
  await bed.untilSaid(node, 'Drained', 'True/Drained');
  const moved = await bed.eventually('they run on the first spare', async () => {
    const pods = await bed.api.podsOnNode(first);
    return pods.filter(isReady).length === 2 && pods;
  });
  await bed.uncordon(second);
  await bed.maintain(first);
  const drained = await bed.untilSaid(first, 'Drained', 'True/Drained');
  expect(drained.status?.drain?.pods).toMatchObject({ total: 2, gone: 2 });
  const accepted = bed.audit.accepted(namespace);
  expect(accepted.map(({ uid }) => uid).toSorted()).toEqual(
    [...placed, ...moved].map(({ metadata }) => metadata.uid).toSorted(),
  );
  expect(accepted.map(({ pod }) => pod).toSorted()).toEqual(['db-0', 'db-0', 'db-1', 'db-1']);
  // What is known of the first node has not changed by what happened on the other.
  expect((await bed.maintenance(node)).status?.drain?.pods).toMatchObject({ total: 2, gone: 2 });
});

test.concurrent('a pod that comes back on the same node leaves again, as another pod', async () => {
  const island = await bed.island('back', { spares: 0 });
  const { node, namespace } = island;
  // It tolerates the cordon, so the scheduler puts it back once where it was.
  const tolerations = [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' }];
  const [before] = await bed.place(island, island.statefulSet('db', { replicas: 1, tolerations }));
  await bed.maintain(node);
  await bed.eventually('the second one was evicted too', () => bed.audit.accepted(namespace).length >= 2);
  await bed.kubectl.run(['scale', 'statefulset', 'db', '--replicas=0', `--namespace=${namespace}`]);
  const drained = await bed.untilSaid(node, 'Drained', 'True/Drained');
  const accepted = bed.audit.accepted(namespace);
  expect(accepted[0]?.uid).toBe(before?.metadata.uid);
  expect(new Set(accepted.map(({ uid }) => uid)).size).toBe(accepted.length);
  expect(accepted.every(({ pod }) => pod === 'db-0')).toBe(true);
  expect(drained.status?.drain?.pods?.gone).toBeGreaterThanOrEqual(2);
});
