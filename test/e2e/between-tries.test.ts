/** Pods that are replaced, or finish, between two tries to evict them. */
import { expect, test } from '@jest/globals';
import type { Pod } from '../../src/kube/types.ts';
import { sharedTestBed } from './support/beds.ts';
import { eventually, holdsFor } from './support/eventually.ts';
import { isReady } from './support/status.ts';
import { EvictionWebhook } from './support/webhook-server.ts';

const bed = sharedTestBed(import.meta.filename);

const podPath = (namespace: string, name: string): string => `/api/v1/namespaces/${namespace}/pods/${name}`;

/** Waits for a Ready pod of this name that is not the old one. */
async function successorOf({ metadata }: Pod): Promise<Pod> {
  const { namespace = '', name, uid } = metadata;
  return bed.eventually(`another ${name} is Ready`, async () => {
    const pod = await bed.api.find<Pod>(podPath(namespace, name));
    return pod && pod.metadata.uid !== uid && isReady(pod) && pod;
  });
}

test.concurrent('a StatefulSet pod that is replaced elsewhere between two tries is not asked for any more', async () => {
  const island = await bed.island('replaced');
  const { node, namespace } = island;
  const [old] = (await bed.place(
    island,
    island.statefulSet('db'),
    island.budget('db', { minAvailable: 1 }),
  )) as [Pod];
  await bed.maintain(node, { drain: { retryIntervalSeconds: 1 } });
  await bed.eventually('it was tried again', () => bed.audit.evictions(namespace).length >= 2);
  await bed.kubectl.run(['delete', 'pod', 'db-0', `--namespace=${namespace}`]);
  const successor = await successorOf(old);
  expect(successor.spec.nodeName).toBe(island.spares[0]);
  const drained = await bed.untilSaid(node, 'Ready', 'True/Drained');
  expect(drained.status?.drain?.pods).toMatchObject({ total: 1, gone: 1, remaining: 0 });
  const posts = bed.audit.evictions(namespace).length;
  // Longer than the next try would have been away.
  await holdsFor(6000, 'nobody asks for the successor', () => {
    expect(bed.audit.evictions(namespace)).toHaveLength(posts);
  });
  for (const { uid, accepted } of bed.audit.evictions(namespace))
    expect({ uid, accepted }).toEqual({ uid: old.metadata.uid, accepted: false });
  expect((await bed.api.get<Pod>(podPath(namespace, 'db-0'))).metadata.uid).toBe(successor.metadata.uid);
});

test.concurrent('a StatefulSet pod that is replaced while its eviction is on the way: the new one stays', async () => {
  const island = await bed.island('raced');
  const { node, namespace } = island;
  const [old] = (await bed.place(island, island.statefulSet('db'))) as [Pod];
  // Admission comes before the API server looks at the pod: what it then finds is another one.
  const webhook = new EvictionWebhook(bed.api, `${bed.prefix}.raced.test`, async ({ pod }) => {
    await bed.api.remove(podPath(namespace, pod), { gracePeriodSeconds: 0 });
    await eventually('another one has its name', async () => {
      const found = await bed.api.find<Pod>(podPath(namespace, pod));
      return found !== undefined && found.metadata.uid !== old.metadata.uid;
    });
    return undefined;
  });
  await webhook.start(namespace);
  try {
    await bed.maintain(node);
    const successor = await successorOf(old);
    const drained = await bed.untilSaid(node, 'Ready', 'True/Drained');
    expect(drained.status?.drain?.pods).toMatchObject({ total: 1, gone: 1, remaining: 0 });
    await holdsFor(2000, 'the new one is left alone', async () => {
      const pod = await bed.api.get<Pod>(podPath(namespace, 'db-0'));
      expect(pod.metadata).toMatchObject({ uid: successor.metadata.uid });
      expect(pod.metadata.deletionTimestamp).toBeUndefined();
    });
    const asked = bed.audit.evictions(namespace).filter(({ pod }) => pod === 'db-0');
    expect(asked.map(({ uid, code }) => ({ uid, code }))).toEqual([{ uid: old.metadata.uid, code: 409 }]);
  } finally {
    await webhook.stop();
  }
});

test.concurrent('a pod that its budget holds up leaves as soon as its work is done', async () => {
  const island = await bed.island('done');
  const { node, namespace } = island;
  const [pod] = (await bed.place(
    island,
    island.job('batch'),
    island.budget('batch', { minAvailable: 1 }),
  )) as [Pod];
  await bed.maintain(node);
  await bed.untilSaid(node, 'DrainBlocked', 'True/PodDisruptionBudget');
  // The kubelet plays that it ends by itself.
  await bed.api.mergePatch(podPath(namespace, pod.metadata.name), {
    metadata: { annotations: { 'pod-complete.stage.kwok.x-k8s.io/delay': '100ms' } },
  });
  // By the news of its end: the next try for the budget's sake is 20 s away and more.
  const drained = await bed.untilSaid(node, 'Ready', 'True/Drained', { timeoutMs: 15_000 });
  expect(drained.status?.drain?.pods).toMatchObject({ total: 1, gone: 1 });
  expect(bed.audit.accepted(namespace).map(({ uid }) => uid)).toEqual([pod.metadata.uid]);
  expect(bed.audit.podDeletions(namespace)).toEqual([]);
});
