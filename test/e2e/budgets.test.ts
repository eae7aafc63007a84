/** Pods that a budget holds up: named with the reason, hardly asked about, and gone as soon as the budget allows it. */
import { expect, test } from '@jest/globals';
import type { Pod, PodDisruptionBudget } from '../../src/kube/types.ts';
import { sharedTestBed } from './support/beds.ts';
import { holdsFor } from './support/eventually.ts';
import { History } from './support/history.ts';
import type { Island } from './support/island.ts';
import { condition, isReady, nodeCondition, said } from './support/status.ts';

const bed = sharedTestBed(import.meta.filename);

/** At once, and not by the probe that a closed budget gets every 20 s (retryIntervalSeconds). */
const soon = { timeoutMs: 60_000 };

async function edit(namespace: string, name: string, spec: object): Promise<void> {
  await bed.kubectl.run([
    'patch',
    'pdb',
    name,
    `--namespace=${namespace}`,
    '--type=merge',
    '--patch',
    JSON.stringify({ spec }),
  ]);
}

/** Its readiness probe fails from now on; returns when the budget knows. */
async function makeUnready(island: Island, pod: Pod | undefined, healthyLeft: number): Promise<Pod> {
  if (!pod) throw new Error('there is no such pod');
  const { namespace } = island;
  await bed.api.strategicPatch(`/api/v1/namespaces/${namespace}/pods/${pod.metadata.name}/status`, {
    status: {
      conditions: [
        { type: 'Ready', status: 'False', reason: 'ContainersNotReady' },
        { type: 'ContainersReady', status: 'False', reason: 'ContainersNotReady' },
      ],
    },
  });
  await bed.eventually('the budget counts it out', async () => {
    return (await bed.api.budget(namespace, 'web')).status?.currentHealthy === healthyLeft;
  });
  return pod;
}

/** What the API server itself says now, without anything being evicted. */
async function serverAllows({ namespace }: Island, { metadata: { name } }: Pod): Promise<boolean> {
  const { status } = await bed.api.request('POST', `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name },
    deleteOptions: { dryRun: ['All'] },
  });
  if (status !== 201 && status !== 429) throw new Error(`dry run of an eviction: ${status}`);
  return status === 201;
}

/** Asserts that the server would evict these of the pods and refuse the others. */
async function expectServerAllows(
  island: Island,
  pods: readonly Pod[],
  ...allowed: readonly Pod[]
): Promise<void> {
  const answers = await Promise.all(pods.map(async (pod) => serverAllows(island, pod)));
  expect(pods.filter((_, index) => answers[index])).toEqual(allowed);
}

test.concurrent('a held-up pod is named with what its budget needs and has; relaxed, it goes within a second', async () => {
  const island = await bed.island('relax');
  const { node, namespace } = island;
  const placed = await bed.place(
    island,
    island.deployment('web', { replicas: 3 }),
    island.budget('web', { minAvailable: 3 }),
    island.deployment('free', { replicas: 3 }),
  );
  const held = placed.filter((pod) => pod.metadata.labels?.['app'] === 'web');
  await bed.maintain(node);
  const blocked = await bed.until(node, 'only the held-up pods are left', ({ status }) => {
    return status?.blockersTotal === 3 && status.drain?.pods?.remaining === 3;
  });
  expect(said(blocked, 'DrainBlocked')).toBe('True/PodDisruptionBudget');
  expect(said(blocked, 'Ready')).toBe('False/DrainBlocked');
  expect(said(blocked, 'Drained')).toBe('False/PodsRemaining');
  expect(blocked.status?.phase).toBe('Draining');
  expect(blocked.status?.drain?.progress).toBe('3/6');
  const budgetText = `budget ${namespace}/web needs 3 healthy pods and has 3`;
  expect(condition(blocked, 'DrainBlocked')?.message).toContain(budgetText);
  const byName = held.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  expect(blocked.status?.blockers).toEqual(
    byName.map(({ metadata }) =>
      expect.objectContaining({
        pod: { namespace, name: metadata.name, uid: metadata.uid },
        cause: 'PodDisruptionBudget',
        message: budgetText,
        budget: { name: 'web', needs: 3, has: 3 },
        since: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      }),
    ),
  );
  expect(nodeCondition(await bed.api.node(node), 'DrainInProgress')?.status).toBe('True');
  const events = await bed.api.events('NodeMaintenance', node);
  const told = events.filter(
    ({ reason, note }) => reason === 'DrainBlocked' && note?.startsWith('PodDisruptionBudget'),
  );
  expect(told).toHaveLength(1);
  expect(told[0]?.note).toContain(budgetText);

  // A budget that says no is asked once at most, not once for each pod and not again and again.
  const refused = (): number => bed.audit.evictions(namespace).filter(({ accepted }) => !accepted).length;
  expect(refused()).toBeLessThanOrEqual(1);
  await holdsFor(3000, 'nobody asks the budget again', () => refused() <= 1);

  // Measured from when a watch of our own brings the news to when the operator asks: how busy the API server is with
  // other tests is not the operator's doing.
  const path = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`;
  const history = await History.of<PodDisruptionBudget>(bed.files.kubeconfig, path, 'web');
  await edit(namespace, 'web', { minAvailable: 2 });
  const opened = await history.first(
    'a budget that allows one',
    ({ status }) => status?.disruptionsAllowed === 1,
  );
  await history.stop();
  const first = await bed.eventually('the first one goes', () =>
    bed.audit.accepted(namespace).find(({ uid }) => held.some((pod) => pod.metadata.uid === uid)),
  );
  expect(first.askedAt - opened.seenAt).toBeLessThan(1000);
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  const accepted = bed.audit.accepted(namespace);
  expect(accepted.map(({ uid }) => uid).toSorted()).toEqual(
    placed.map(({ metadata }) => metadata.uid).toSorted(),
  );
  // One after another, each when its predecessor had been replaced: the budget was kept, and few posts were wasted.
  expect(refused()).toBeLessThanOrEqual(3);
  for (const { metadata } of held) {
    expect(bed.audit.evictions(namespace, { uid: metadata.uid }).length).toBeLessThanOrEqual(2);
  }
});

test.concurrent('a disruption that an eviction spent before it was cut off: the blocker says so, and until when', async () => {
  const island = await bed.island('spent');
  const { node, namespace } = island;
  const [pod] = await bed.place(
    island,
    island.deployment('web', { replicas: 2 }),
    island.budget('web', { maxUnavailable: 1 }),
  );
  if (!pod) throw new Error('there is no pod');
  // What the API server writes before it deletes the pod.
  const { name } = pod.metadata;
  const path = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/web/status`;
  const at = new Date().toISOString().replace(/\.\d+/, '');
  const until = new Date(Date.parse(at) + 120_000).toISOString().replace('.000', '');
  await bed.api.mergePatch(path, { status: { disruptionsAllowed: 0, disruptedPods: { [name]: at } } });
  await bed.eventually('the disruption controller counts it out', async () => {
    const { status } = await bed.api.budget(namespace, 'web');
    return status?.currentHealthy === 1 && status.disruptionsAllowed === 0;
  });
  await bed.maintain(node);
  const blocked = await bed.until(node, 'both are held up', ({ status }) => status?.blockersTotal === 2);
  const sentence = `budget ${namespace}/web needs 1 healthy pod and has 1; pod ${name} counts as evicted until ${until}, as an eviction of it was cut off`;
  expect(blocked.status?.blockers?.map(({ message }) => message)).toEqual([sentence, sentence]);
  await bed.api.mergePatch(path, { status: { disruptedPods: { [name]: null } } });
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  expect(bed.audit.accepted(namespace)).toHaveLength(2);
});

test.concurrent('an unready pod leaves under IfHealthyBudget while enough of the others are healthy', async () => {
  const island = await bed.island('enough');
  const { node, namespace } = island;
  const placed = await bed.place(
    island,
    island.deployment('web', { replicas: 3 }),
    island.budget('web', { minAvailable: 2, unhealthyPodEvictionPolicy: 'IfHealthyBudget' }),
  );
  const unready = await makeUnready(island, placed[1], 2);
  await expectServerAllows(island, placed, unready);
  await bed.cordon(island.spares[0] ?? ''); // its replacement stays Pending: nothing else may go
  await bed.maintain(node);
  await bed.until(
    node,
    'the ready ones are held up',
    ({ status }) => {
      return status?.blockersTotal === 2 && status.drain?.pods?.gone === 1;
    },
    soon,
  );
  expect(bed.audit.accepted(namespace).map(({ uid }) => uid)).toEqual([unready.metadata.uid]);
  expect(bed.audit.evictions(namespace, { uid: unready.metadata.uid })).toHaveLength(1);
  await bed.uncordon(island.spares[0] ?? '');
  await bed.untilSaid(node, 'Ready', 'True/Drained');
});

test.concurrent('an unready pod is held up under IfHealthyBudget while too few are healthy', async () => {
  const island = await bed.island('few');
  const { node, namespace } = island;
  const placed = await bed.place(
    island,
    island.deployment('web', { replicas: 3 }),
    island.budget('web', { minAvailable: 3, unhealthyPodEvictionPolicy: 'IfHealthyBudget' }),
  );
  await makeUnready(island, placed[0], 2);
  await expectServerAllows(island, placed);
  await bed.maintain(node);
  const blocked = await bed.until(node, 'all are held up', ({ status }) => status?.blockersTotal === 3);
  expect(blocked.status?.blockers?.map((blocker) => blocker.budget)).toEqual(
    Array.from({ length: 3 }, () => ({ name: 'web', needs: 3, has: 2 })),
  );
  await holdsFor(1500, 'nothing is evicted', () => bed.audit.accepted(namespace).length === 0);
  expect((await bed.api.pods(namespace)).filter(isReady)).toHaveLength(2);
});

test.concurrent('an unready pod leaves under AlwaysAllow however few are healthy', async () => {
  const island = await bed.island('always');
  const { node, namespace } = island;
  const placed = await bed.place(
    island,
    island.deployment('web', { replicas: 3 }),
    island.budget('web', { minAvailable: 3, unhealthyPodEvictionPolicy: 'AlwaysAllow' }),
  );
  const unready = await makeUnready(island, placed[2], 2);
  await expectServerAllows(island, placed, unready);
  await bed.maintain(node);
  const blocked = await bed.until(
    node,
    'the ready ones are held up',
    ({ status }) => {
      return status?.blockersTotal === 2 && status.drain?.pods?.gone === 1;
    },
    soon,
  );
  expect(bed.audit.accepted(namespace).map(({ uid }) => uid)).toEqual([unready.metadata.uid]);
  expect(bed.audit.evictions(namespace, { uid: unready.metadata.uid })).toHaveLength(1);
  expect(blocked.status?.blockers?.map(({ pod }) => pod.uid)).not.toContain(unready.metadata.uid);
});

test.concurrent('two budgets for one pod are named both, the other pods leave meanwhile, and one less is enough', async () => {
  const island = await bed.island('several');
  const { node, namespace } = island;
  const placed = await bed.place(
    island,
    island.deployment('web', { replicas: 1 }),
    island.deployment('free', { replicas: 2 }),
    island.deployment('lane', { replicas: 2 }),
    island.budget('lane', { maxUnavailable: 1 }),
  );
  // When their pods are Ready already: of two budgets for one pod the disruption controller brings only one up to date.
  await bed.place(
    island,
    island.budget('one', { app: 'web', maxUnavailable: 1 }),
    island.budget('two', { app: 'web', maxUnavailable: 1 }),
  );
  const web = placed.find(({ metadata }) => metadata.labels?.['app'] === 'web');
  await bed.maintain(node);
  await bed.untilSaid(node, 'DrainBlocked', 'True/MultiplePodDisruptionBudgets');
  const blocked = await bed.until(node, 'the others are gone', ({ status }) => {
    return status?.drain?.pods?.gone === 4 && status.blockersTotal === 1;
  });
  expect(blocked.status?.blockers?.[0]?.message).toContain(`${namespace}/one, ${namespace}/two`);
  const asked = bed.audit.evictions(namespace, { uid: web?.metadata.uid ?? '' });
  // The server's answer is 500 always: hardly ever asked for.
  expect(asked.length).toBeLessThanOrEqual(1);
  expect(asked.some(({ accepted }) => accepted)).toBe(false);
  await bed.kubectl.run(['delete', 'pdb', 'two', `--namespace=${namespace}`]);
  await bed.untilSaid(node, 'Ready', 'True/Drained');
});
