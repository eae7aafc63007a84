/** A node that is silent, under a budget that allows nothing: the drain ends as its deadline and skipWaitForDelete say. */
import { expect, test } from '@jest/globals';
import type { Pod } from '../../src/kube/types.ts';
import { as } from '../../hack/cluster/lib/untyped.ts';
import { sharedTestBed } from './support/beds.ts';
import type { DeleteOptions } from './support/audit.ts';
import type { BudgetOptions } from './support/builders.ts';
import type { Island } from './support/island.ts';
import { condition, nodeCondition, said } from './support/status.ts';

const bed = sharedTestBed(import.meta.filename);

const KUBELET = 'test.haulout.dev/kubelet';

/** Two pods of a budget that wants both, on a node whose kubelet has fallen silent. */
async function silentIsland(name: string, options: BudgetOptions = {}): Promise<[Island, readonly Pod[]]> {
  const island = await bed.island(name);
  const { node, namespace } = island;
  const pods = await bed.place(
    island,
    island.deployment('web', { replicas: 2, gracePeriodSeconds: 2 }),
    island.budget('web', { minAvailable: 2, ...options }),
  );
  await bed.kubectl.run(['annotate', 'node', node, `${KUBELET}=dead`]);
  await bed.eventually('the node controller notices, and the budget with it', async () => {
    const { status } = await bed.api.budget(namespace, 'web');
    return (
      nodeCondition(await bed.api.node(node), 'Ready')?.status === 'Unknown' && status?.currentHealthy === 0
    );
  });
  return [island, pods];
}

const uidsOf = (pods: readonly Pod[]): readonly string[] =>
  pods.map(({ metadata }) => metadata.uid).toSorted();

/** No kubelet has confirmed that they stopped, and nobody may take them for gone. */
async function areStillThere({ node }: Island, pods: readonly Pod[]): Promise<void> {
  const left = await bed.api.podsOnNode(node);
  expect(uidsOf(left)).toEqual(uidsOf(pods));
  expect(left.every(({ metadata }) => metadata.deletionTimestamp !== undefined)).toBe(true);
}

test.concurrent('Fail gives up; Delete with skipWaitForDelete ends, and what may still run is named', async () => {
  const [island, pods] = await silentIsland('closed');
  const { node, namespace } = island;
  const drain = { timeoutSeconds: 3, retryIntervalSeconds: 1, skipWaitForDeleteTimeoutSeconds: 3 };
  await bed.maintain(node, { drain });
  const failed = await bed.untilSaid(node, 'Ready', 'False/DrainFailed');
  expect(failed.status?.blockers?.map(({ cause }) => cause)).toEqual([
    'PodDisruptionBudget',
    'PodDisruptionBudget',
  ]);
  expect(bed.audit.accepted(namespace)).toEqual([]);
  expect(bed.audit.podDeletions(namespace)).toEqual([]);

  bed.expectPodDeletions(namespace);
  await bed.edit(node, { drain: { onTimeout: 'Delete' } });
  const drained = await bed.untilSaid(node, 'Drained', 'True/Drained');
  expect(said(drained, 'Ready')).toBe('True/Drained');
  for (const { metadata } of pods) {
    for (const type of ['Ready', 'Drained'])
      expect(condition(drained, type)?.message).toContain(`${namespace}/${metadata.name}`);
  }
  expect(condition(drained, 'Drained')?.message).toContain('because the node is not Ready');
  expect(drained.status?.drain?.pods).toMatchObject({ remaining: 0, ignored: 2 });
  await areStillThere(island, pods);
  const deletions = bed.audit.podDeletions(namespace);
  expect(deletions).toHaveLength(2);
  for (const { requestObject } of deletions)
    expect(as<DeleteOptions>(requestObject)).not.toHaveProperty('gracePeriodSeconds');

  // The machine comes back: now it is known that they stopped.
  await bed.kubectl.run(['annotate', 'node', node, `${KUBELET}-`]);
  await bed.eventually('they have stopped', async () => (await bed.api.podsOnNode(node)).length === 0);
  const empty = await bed.until(node, 'nobody is named any more', (object) => {
    return (
      said(object, 'Drained') === 'True/Drained' &&
      !condition(object, 'Ready')?.message?.includes('waited for')
    );
  });
  expect(empty.status?.drain?.pods).toMatchObject({ total: 2, gone: 2, remaining: 0, ignored: 0 });
});

test.concurrent('a budget that lets unready pods pass holds up nothing, and no pod is given up unasked', async () => {
  const [island, pods] = await silentIsland('lenient', { unhealthyPodEvictionPolicy: 'AlwaysAllow' });
  const { node, namespace } = island;
  await bed.maintain(node);
  const held = await bed.untilSaid(node, 'DrainBlocked', 'True/StuckTerminating');
  expect(held.status?.blockers).toHaveLength(2);
  expect(held.status?.blockers?.[0]?.message).toContain(`node ${node} is not Ready`);
  expect(uidsOf(pods)).toEqual(
    bed.audit
      .accepted(namespace)
      .map(({ uid }) => uid)
      .toSorted(),
  );
  // Without skipWaitForDeleteTimeoutSeconds nothing but a person or the machine ends this.
  expect(said(held, 'Drained')).toBe('False/PodsRemaining');
  await areStillThere(island, pods);

  await bed.edit(node, { drain: { skipWaitForDeleteTimeoutSeconds: 1 } });
  await bed.untilSaid(node, 'Drained', 'True/Drained');
  await areStillThere(island, pods);
  expect(bed.audit.podDeletions(namespace)).toEqual([]);
});
