/** Situations in which drains are known to go wrong: a pod too many is asked, or killed, or waited for for ever. */
import { expect, test } from '@jest/globals';
import type { NodeMaintenance } from '../../src/api/types.generated.ts';
import { nodeMaintenancesPath } from '../../src/api/names.ts';
import type { KubeObject, Pod } from '../../src/kube/types.ts';
import { sharedTestBed } from './support/beds.ts';
import { ownedBy } from './support/builders.ts';
import { eventually, holdsFor } from './support/eventually.ts';
import { History } from './support/history.ts';
import { condition, isReady, nodeCondition, said } from './support/status.ts';
import { EvictionWebhook } from './support/webhook-server.ts';

const bed = sharedTestBed(import.meta.filename);

const podPath = (namespace: string, name: string): string => `/api/v1/namespaces/${namespace}/pods/${name}`;

const says = ({ status }: NodeMaintenance): string => status?.blockers?.[0]?.message ?? '';

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

test.concurrent('a silent node whose pods are all held up by their budget is finished with, and no pod runs twice', async () => {
  const island = await bed.island('silent');
  const { node, namespace } = island;
  const old = await bed.place(
    island,
    island.statefulSet('db', { replicas: 2, gracePeriodSeconds: 3 }),
    island.budget('db', { minAvailable: 2 }),
  );
  const uids = old.map(({ metadata }) => metadata.uid).toSorted();
  await bed.kubectl.run(['annotate', 'node', node, 'test.haulout.dev/kubelet=dead']);
  await bed.eventually('the budget has no healthy pod left', async () => {
    expect(nodeCondition(await bed.api.node(node), 'Ready')?.status).toBe('Unknown');
    return (await bed.api.budget(namespace, 'db')).status?.currentHealthy === 0;
  });
  await bed.maintain(node, { drain: { skipWaitForDeleteTimeoutSeconds: 5 } });
  const held = await bed.until(node, 'both are held up', ({ status }) => status?.blockersTotal === 2);
  expect(held.status?.blockers?.map(({ cause }) => cause)).toEqual([
    'PodDisruptionBudget',
    'PodDisruptionBudget',
  ]);
  expect(bed.audit.podDeletions(namespace)).toEqual([]);

  bed.expectPodDeletions(namespace);
  await bed.edit(node, { drain: { deleteBlockedAfterSeconds: 1 } });
  const drained = await bed.untilSaid(node, 'Ready', 'True/Drained');
  for (const { metadata } of old)
    expect(condition(drained, 'Ready')?.message).toContain(`${namespace}/${metadata.name}`);
  const deletions = bed.audit.podDeletions(namespace).map(({ requestObject }) => requestObject);
  expect(deletions).toHaveLength(2);
  for (const options of deletions) expect(options).not.toHaveProperty('gracePeriodSeconds');
  // They may still run there, so none runs elsewhere.
  const still = await bed.api.pods(namespace);
  expect(still.map(({ metadata }) => metadata.uid).toSorted()).toEqual(uids);
  for (const { metadata } of still)
    expect(Date.now()).toBeGreaterThan(Date.parse(metadata.deletionTimestamp ?? '') + 5000);

  await bed.kubectl.run(['annotate', 'node', node, 'test.haulout.dev/kubelet-']);
  for (const pod of old) expect((await successorOf(pod)).spec.nodeName).toBe(island.spares[0]);
});

test.concurrent('a virtual machine that migrates because its eviction was refused is waited for, whatever the deadlines', async () => {
  const island = await bed.island('vm');
  const { node, namespace } = island;
  const evacuation = `Eviction triggered evacuation of VMI "${namespace}/vm"`;
  const moving = `Evacuation in progress: Eviction triggered evacuation of VMI "${namespace}/vm"`;
  let asked = 0;
  const webhook = new EvictionWebhook(bed.api, `${bed.prefix}.vm.test`, ({ pod }) => {
    if (!pod.startsWith('virt-launcher')) return undefined;
    return { code: 429, message: asked++ === 0 ? evacuation : moving };
  });
  await webhook.start(namespace);
  try {
    const machine = await bed.api.create<KubeObject>(`/api/v1/namespaces/${namespace}/configmaps`, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'vm' },
    });
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', metadata: machine.metadata };
    const placed = await bed.place(
      island,
      island.deployment('web', { replicas: 2 }),
      ownedBy(owner, island.barePod('virt-launcher')),
      ownedBy(owner, island.budget('virt-launcher', { minAvailable: 1 })),
    );
    const launcher = placed.find(({ metadata }) => metadata.name === 'virt-launcher');
    const history = await History.of<NodeMaintenance>(bed.files.kubeconfig, nodeMaintenancesPath, node);
    const began = Date.now();
    await bed.maintain(node, {
      drain: {
        retryIntervalSeconds: 1,
        timeoutSeconds: 4,
        onTimeout: 'Delete',
        deleteBlockedAfterSeconds: 2,
        unsatisfiableBudgets: 'Delete',
      },
    });
    await history.first('the words of the webhook', (object) => says(object).includes(evacuation));
    await bed.until(node, 'its later words', (object) => says(object).includes('in progress'));
    await holdsFor(began + 8000 - Date.now(), 'it may take longer than any deadline', async () => {
      const { status } = await bed.maintenance(node);
      expect(status?.phase === 'Draining' || status?.phase === 'Pending').toBe(true);
      const found = await bed.api.get<Pod>(podPath(namespace, 'virt-launcher'));
      expect(found.metadata.uid).toBe(launcher?.metadata.uid);
      expect(found.metadata.deletionTimestamp).toBeUndefined();
    });
    const held = await bed.maintenance(node);
    expect(held.status?.drain?.pods).toMatchObject({ total: 3, gone: 2, remaining: 1 });
    expect(held.status?.blockers).toMatchObject([{ cause: 'AdmissionDenied' }]);
    expect(said(held, 'Stalled')).toBeUndefined();
    // Once a second, and not as fast as it can.
    expect(asked).toBeGreaterThanOrEqual(3);
    expect(asked).toBeLessThanOrEqual(2 + (Date.now() - began) / 1000);

    // It has arrived elsewhere; whoever moved it takes the old pod away.
    await bed.kubectl.run(['delete', 'pod', 'virt-launcher', `--namespace=${namespace}`]);
    await bed.untilSaid(node, 'Ready', 'True/Drained');
    const posts = bed.audit.evictions(namespace, { uid: launcher?.metadata.uid ?? '' });
    expect(new Set(posts.map(({ code }) => code))).toEqual(new Set([429]));
    expect(bed.audit.podDeletions(namespace)).toEqual([]);
    await history.stop();
  } finally {
    await webhook.stop();
  }
});
