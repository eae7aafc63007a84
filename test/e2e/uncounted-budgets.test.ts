/** Budgets that Kubernetes has not worked out, or not again: what is said of them, and that the advice helps. */
import { expect, test } from '@jest/globals';
import type { KubeObject, Pod } from '../../src/kube/types.ts';
import { sharedTestBed } from './support/beds.ts';
import { ownedBy } from './support/builders.ts';
import type { Island } from './support/island.ts';

const bed = sharedTestBed(import.meta.filename);

/** Half a minute that a pod has to be Ready for, and some. */
const aWhile = { timeoutMs: 60_000 };

async function setReady({ namespace }: Island, name: string, status: 'True' | 'False'): Promise<void> {
  await bed.api.strategicPatch(`/api/v1/namespaces/${namespace}/pods/${name}/status`, {
    status: {
      conditions: [
        { type: 'Ready', status, lastTransitionTime: new Date().toISOString() },
        { type: 'ContainersReady', status },
      ],
    },
  });
}

const healthy = async ({ namespace }: Island, budget: string): Promise<number | undefined> =>
  (await bed.api.budget(namespace, budget)).status?.currentHealthy;

/** Returns when the disruption controller has gone through all that happened to pods before: it takes them in their order. */
async function caughtUp(island: Island, marker: string): Promise<void> {
  for (const [status, count] of [
    ['False', 0],
    ['True', 1],
  ] as const) {
    await setReady(island, marker, status);
    await bed.eventually(
      `budget marker counts ${count}`,
      async () => (await healthy(island, 'marker')) === count,
    );
  }
}

/** Returns the one of the two budgets of the pod that has missed that it is Ready again; which one is left to chance. */
async function untilOneIsMissed(island: Island, pod: string, marker: string): Promise<'one' | 'two'> {
  return bed.eventually(
    'the pod is Ready, and one of its budgets has not heard of it',
    async () => {
      for (const status of ['False', 'True'] as const) {
        await setReady(island, pod, status);
        await caughtUp(island, marker);
      }
      const counts = { one: await healthy(island, 'one'), two: await healthy(island, 'two') };
      return (['one', 'two'] as const).find((name) => counts[name] === 0);
    },
    aWhile,
  );
}

const nameOf = (pods: readonly Pod[], app: string): string =>
  pods.find(({ metadata }) => metadata.labels?.['app'] === app)?.metadata.name ?? '';

test.concurrent('the budget that is left of two may never be counted again: the blocker says so, and a change of it helps', async () => {
  const island = await bed.island('missed', { spares: 2 });
  const { node, namespace } = island;
  const placed = await bed.place(island, island.deployment('web'), island.deployment('marker'));
  await bed.place(
    island,
    island.budget('one', { app: 'web', maxUnavailable: 1 }),
    island.budget('two', { app: 'web', maxUnavailable: 1 }),
    island.budget('marker', { maxUnavailable: 1 }),
  );
  const missed = await untilOneIsMissed(island, nameOf(placed, 'web'), nameOf(placed, 'marker'));
  await bed.kubectl.run(['delete', 'pdb', missed === 'one' ? 'two' : 'one', `--namespace=${namespace}`]);
  await bed.maintain(node);
  const blocked = await bed.until(
    node,
    'the budget is said to be out of date',
    ({ status }) => status?.blockers?.some(({ message }) => message.includes('out of date')) === true,
    aWhile,
  );
  expect(blocked.status?.blockers).toMatchObject([
    {
      cause: 'PodDisruptionBudget',
      message: `budget ${namespace}/${missed} needs 0 healthy pods and has 0, although 1 pod of this node that it selects is Ready: its status is out of date`,
      nextStep: expect.stringContaining(
        'a change of the budget, such as an annotation, has it counted again',
      ),
    },
  ]);
  await bed.kubectl.run(['annotate', 'pdb', missed, 'example.com/counted=again', `--namespace=${namespace}`]);
  await bed.untilSaid(node, 'Ready', 'True/Drained');
});

test.concurrent('a budget over pods of a controller that Kubernetes does not know: its words are in the blocker, and the advice helps', async () => {
  const island = await bed.island('unknown-owner');
  const { node, namespace } = island;
  const owner = await bed.api.create<KubeObject>(`/api/v1/namespaces/${namespace}/configmaps`, {
    metadata: { name: 'owner' },
  });
  await bed.place(
    island,
    ownedBy({ apiVersion: 'v1', kind: 'ConfigMap', metadata: owner.metadata }, island.barePod('web')),
  );
  await bed.kubectl.apply(island.budget('web', { maxUnavailable: 1 }));
  await bed.maintain(node);
  const blocked = await bed.until(
    node,
    'the words of the disruption controller are there',
    ({ status }) => status?.blockers?.some(({ message }) => message.includes('cannot work it out')) === true,
  );
  expect(blocked.status?.blockers).toMatchObject([
    {
      cause: 'PodDisruptionBudget',
      message: `budget ${namespace}/web allows nothing, as the disruption controller cannot work it out: configmaps does not implement the scale subresource`,
      nextStep: expect.stringContaining('minAvailable as a number works with pods of any controller'),
    },
  ]);
  const advice = JSON.stringify({ spec: { maxUnavailable: null, minAvailable: 0 } });
  await bed.kubectl.run([
    'patch',
    'pdb',
    'web',
    `--namespace=${namespace}`,
    '--type=merge',
    '--patch',
    advice,
  ]);
  await bed.untilSaid(node, 'Ready', 'True/Drained');
});
