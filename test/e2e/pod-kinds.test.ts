/** Each kind of pod leaves or stays as designed, and one that must not leave holds up nobody but itself. */
import { expect, test } from '@jest/globals';
import type { Pod } from '../../src/kube/types.ts';
import { sharedTestBed } from './support/beds.ts';
import type { Manifest } from './support/builders.ts';
import { holdsFor } from './support/eventually.ts';
import type { Island } from './support/island.ts';
import { condition, isDone, said } from './support/status.ts';

const bed = sharedTestBed(import.meta.filename);

async function leftOn(node: string): Promise<string[]> {
  return (await bed.api.podsOnNode(node)).map(({ metadata }) => metadata.labels?.['app'] ?? '').toSorted();
}

/** The kubelet's image of a static pod: it has no controller, and deleting it does not stop it. */
function mirrorPod(island: Island, name: string): Manifest {
  return island.barePod(name, {
    annotations: { 'kubernetes.io/config.mirror': 'hash', 'kubernetes.io/config.source': 'file' },
    emptyDir: true,
    spec: { nodeName: island.node },
  });
}

test.concurrent('unmanagedPods Block: a bare pod is named and stays, the others leave', async () => {
  const island = await bed.island('bare');
  const { node, namespace } = island;
  const placed = await bed.place(
    island,
    island.barePod('bare'),
    island.deployment('web', { replicas: 2 }),
    island.job('batch', { replicas: 1 }),
  );
  const bare = placed.find((pod) => pod.metadata.name === 'bare');
  await bed.maintain(node);
  const blocked = await bed.until(node, 'only the bare pod is left', ({ status }) => {
    return status?.drain?.pods?.gone === 3 && status.blockersTotal === 1;
  });
  expect(said(blocked, 'DrainBlocked')).toBe('True/UnmanagedPod');
  expect(blocked.status?.blockers?.[0]).toMatchObject({
    pod: { namespace, name: 'bare', uid: bare?.metadata.uid },
    cause: 'UnmanagedPod',
    message: expect.stringContaining('unmanagedPods'),
  });
  expect(bed.audit.evictions(namespace, { name: 'bare' })).toHaveLength(0);
  expect(await leftOn(node)).toEqual(['bare']);

  // What the message asks for.
  await bed.kubectl.run(['delete', 'pod', 'bare', `--namespace=${namespace}`, '--wait=false']);
  const drained = await bed.untilSaid(node, 'Ready', 'True/Drained');
  expect(drained.status?.drain?.pods).toMatchObject({ total: 4, gone: 4, remaining: 0 });
});

test.concurrent('unmanagedPods Evict: a bare pod leaves for good', async () => {
  const island = await bed.island('evict');
  const { node, namespace } = island;
  await bed.place(island, island.barePod('bare'));
  await bed.maintain(node, { drain: { unmanagedPods: 'Evict' } });
  await bed.untilSaid(node, 'Drained', 'True/Drained');
  expect(bed.audit.accepted(namespace).map(({ pod }) => pod)).toEqual(['bare']);
  expect(await bed.api.pods(namespace)).toHaveLength(0);
});

test.concurrent('unmanagedPods Skip: a bare pod stays, is not waited for, and is counted', async () => {
  const island = await bed.island('skip');
  const { node, namespace } = island;
  await bed.place(island, island.barePod('bare'), island.deployment('web', { replicas: 1 }));
  await bed.maintain(node, { drain: { unmanagedPods: 'Skip' } });
  const done = await bed.untilSaid(node, 'Ready', 'True/Drained');
  // A reboot would kill it: whoever waits for Drained must not be told that the node is empty.
  expect(said(done, 'Drained')).toBe('False/PodsKept');
  expect(condition(done, 'Drained')?.message).toContain(`${namespace}/bare`);
  expect(done.status?.drain?.pods).toMatchObject({ total: 1, gone: 1, ignored: 1 });
  expect(bed.audit.evictions(namespace, { name: 'bare' })).toHaveLength(0);
});

test.concurrent('emptyDir data is given up by default, and kept by Block and Skip', async () => {
  const islands = await Promise.all(
    ['ed-evict', 'ed-block', 'ed-skip'].map(async (name) => bed.island(name)),
  );
  await Promise.all(
    islands.map(async (island) =>
      bed.place(
        island,
        island.deployment('scratch', { replicas: 1, emptyDir: true }),
        island.deployment('plain', { replicas: 1 }),
      ),
    ),
  );
  const [evict, block, skip] = islands as [Island, Island, Island];
  await bed.maintain(evict.node);
  await bed.maintain(block.node, { drain: { emptyDirPods: 'Block' } });
  await bed.maintain(skip.node, { drain: { emptyDirPods: 'Skip' } });

  await bed.untilSaid(evict.node, 'Drained', 'True/Drained');
  expect(bed.audit.accepted(evict.namespace)).toHaveLength(2);

  const blocked = await bed.until(block.node, 'only the emptyDir pod is left', ({ status }) => {
    return status?.drain?.pods?.gone === 1 && status.blockersTotal === 1;
  });
  expect(said(blocked, 'DrainBlocked')).toBe('True/EmptyDir');
  expect(blocked.status?.blockers?.[0]?.message).toContain('emptyDirPods');
  expect(await leftOn(block.node)).toEqual(['scratch']);

  const kept = await bed.untilSaid(skip.node, 'Ready', 'True/Drained');
  expect(said(kept, 'Drained')).toBe('False/PodsKept');
  expect(await leftOn(skip.node)).toEqual(['scratch']);
  for (const island of [block, skip]) expect(bed.audit.evictions(island.namespace)).toHaveLength(1);
});

test.concurrent('Block counts before Skip where both speak', async () => {
  const island = await bed.island('both');
  await bed.place(island, island.barePod('both', { emptyDir: true }));
  await bed.maintain(island.node, { drain: { unmanagedPods: 'Skip', emptyDirPods: 'Block' } });
  const blocked = await bed.untilSaid(island.node, 'DrainBlocked', 'True/EmptyDir');
  expect(said(blocked, 'Drained')).toBe('False/PodsRemaining');
  expect(bed.audit.evictions(island.namespace)).toHaveLength(0);
});

test.concurrent('mirror pods and DaemonSet pods stay and do not count', async () => {
  const island = await bed.island('belong');
  const { node, namespace } = island;
  await bed.place(island, island.daemonSet('agent', { emptyDir: true }), mirrorPod(island, 'static'));
  await bed.place(island, island.deployment('web', { replicas: 1 }));
  await bed.maintain(node);
  const drained = await bed.untilSaid(node, 'Drained', 'True/Drained');
  expect(drained.status?.drain?.pods).toEqual({
    total: 1,
    gone: 1,
    remaining: 0,
    terminating: 0,
    ignored: 2,
  });
  expect(await leftOn(node)).toEqual(['agent', 'static']);
  expect(bed.audit.evictions(namespace)).toHaveLength(1);
});

test.concurrent('a daemon that dies during the maintenance comes back', async () => {
  const island = await bed.island('daemon', { spares: 0 });
  const { node, namespace } = island;
  const [daemon] = await bed.place(island, island.daemonSet('agent'));
  await bed.maintain(node);
  await bed.untilSaid(node, 'Drained', 'True/Drained');
  await bed.kubectl.run(['delete', 'pod', daemon?.metadata.name ?? '', `--namespace=${namespace}`]);
  await bed.eventually('another one runs in its place', async () => {
    const [pod] = await bed.api.podsOnNode(node);
    return pod !== undefined && pod.metadata.uid !== daemon?.metadata.uid && pod.status?.phase === 'Running';
  });
  expect(said(await bed.maintenance(node), 'Drained')).toBe('True/Drained');
  expect(bed.audit.evictions(namespace)).toHaveLength(0);
});

test.concurrent('finished pods leave, with or without a controller: they hold volumes', async () => {
  const island = await bed.island('finished');
  const { node, namespace } = island;
  // Not placed: a budget of finished pods never counts them.
  await bed.kubectl.apply(
    island.job('batch', { replicas: 2, completesIn: '100ms' }),
    island.barePod('once', { completesIn: '100ms', emptyDir: true, spec: { restartPolicy: 'Never' } }),
    island.budget('batch', { minAvailable: 2 }),
  );
  await bed.eventually('all have finished', async () => {
    const pods = await bed.api.podsOnNode(node);
    return pods.length === 3 && pods.every(isDone);
  });
  await bed.maintain(node);
  const drained = await bed.untilSaid(node, 'Drained', 'True/Drained');
  expect(drained.status?.drain?.pods).toMatchObject({ total: 3, gone: 3, ignored: 0 });
  expect(bed.audit.accepted(namespace)).toHaveLength(3);
  expect(bed.audit.evictions(namespace)).toHaveLength(3);
});

test.concurrent('pods that --cascade=orphan has left behind are unmanaged', async () => {
  const island = await bed.island('orphaned');
  const { node, namespace } = island;
  await bed.place(
    island,
    island.deployment('web', { replicas: 1 }),
    island.daemonSet('agent'),
    island.statefulSet('db', { replicas: 1 }),
  );
  for (const [kind, name] of [
    ['daemonset', 'agent'],
    ['statefulset', 'db'],
  ] as const) {
    await bed.kubectl.run(['delete', kind, name, `--namespace=${namespace}`, '--cascade=orphan']);
  }
  // A Deployment's pods belong to its ReplicaSet.
  await bed.kubectl.run(['delete', 'deployment', 'web', `--namespace=${namespace}`, '--cascade=orphan']);
  await bed.kubectl.run(['delete', 'replicaset', '--all', `--namespace=${namespace}`, '--cascade=orphan']);
  const orphans = await bed.eventually('nobody owns them', async () => {
    const pods = await bed.api.podsOnNode(node);
    return pods.length === 3 && pods.every(({ metadata }) => !metadata.ownerReferences) && pods;
  });
  await bed.maintain(node);
  const blocked = await bed.until(node, 'all three are held up', ({ status }) => status?.blockersTotal === 3);
  expect(blocked.status?.blockers?.map(({ cause }) => cause)).toEqual(
    Array.from({ length: 3 }, () => 'UnmanagedPod'),
  );
  expect(blocked.status?.blockers?.map(({ pod }) => pod.uid).toSorted()).toEqual(
    orphans.map(({ metadata }) => metadata.uid).toSorted(),
  );
  await holdsFor(1000, 'none is evicted', () => bed.audit.evictions(namespace).length === 0);
  await bed.edit(node, { drain: { unmanagedPods: 'Evict' } });
  await bed.untilSaid(node, 'Drained', 'True/Drained');
  expect(bed.audit.accepted(namespace)).toHaveLength(3);
});

test.concurrent('podSelector: only what it selects is asked to leave', async () => {
  const island = await bed.island('selector');
  const { node, namespace } = island;
  await bed.place(
    island,
    island.deployment('web', { replicas: 2, labels: { tier: 'front' } }),
    island.deployment('db', { replicas: 1, labels: { tier: 'back' } }),
    island.barePod('bare'),
  );
  const expressions = [
    { key: 'tier', operator: 'NotIn' as const, values: ['back'] },
    { key: 'tier', operator: 'Exists' as const },
  ];
  await bed.maintain(node, { drain: { podSelector: { matchExpressions: expressions } } });
  const done = await bed.untilSaid(node, 'Ready', 'True/Drained');
  expect(said(done, 'Drained')).toBe('False/PodsKept');
  expect(condition(done, 'Drained')?.message).toMatch(/^2 pods/);
  expect(done.status?.drain?.pods).toMatchObject({ total: 2, gone: 2, ignored: 2 });
  expect(await leftOn(node)).toEqual(['bare', 'db']);
  expect(bed.audit.evictions(namespace)).toHaveLength(2);
  await bed.edit(node, { drain: { podSelector: null, unmanagedPods: 'Evict' } });
  await bed.untilSaid(node, 'Drained', 'True/Drained');
});

test.concurrent('maxGracePeriodSeconds is a ceiling: a shorter period stays the pod’s own', async () => {
  const island = await bed.island('grace');
  const { node, namespace } = island;
  const placed = await bed.place(
    island,
    island.deployment('long', { replicas: 1, gracePeriodSeconds: 60, stopsIn: '30s' }),
    island.deployment('short', { replicas: 1, gracePeriodSeconds: 1 }),
  );
  await bed.maintain(node, { drain: { maxGracePeriodSeconds: 2 } });
  await bed.untilSaid(node, 'Drained', 'True/Drained');
  const grace = (app: string): number | undefined => {
    const pod: Pod | undefined = placed.find(({ metadata }) => metadata.labels?.['app'] === app);
    return bed.audit.evictions(namespace, { name: pod?.metadata.name ?? '' })[0]?.gracePeriodSeconds;
  };
  expect(grace('long')).toBe(2);
  expect(grace('short') ?? 1).toBe(1);
});
