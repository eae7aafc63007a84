/** Budgets that can never allow a disruption: named with the reason after a minute, and waited for, failed with or deleted past. */
import { expect, test } from '@jest/globals';
import type { NodeMaintenance } from '../../src/api/types.generated.ts';
import { nodeMaintenancesPath } from '../../src/api/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { sharedTestBed } from './support/beds.ts';
import { holdsFor } from './support/eventually.ts';
import { History } from './support/history.ts';
import type { Island } from './support/island.ts';
import { condition } from './support/status.ts';

const bed = sharedTestBed(import.meta.filename);

const named = 'True/UnsatisfiablePodDisruptionBudget';
/** The minute that a budget is given, and some. */
const aMinute = { timeoutMs: 90_000 };
const reason = 'minAvailable 1 of 1 pod';

async function withHopelessBudget(name: string): Promise<Island> {
  const island = await bed.island(name);
  await bed.place(
    island,
    island.deployment('free', { replicas: 2 }),
    island.deployment('web', { gracePeriodSeconds: 9 }),
    island.budget('web', { minAvailable: 1 }),
  );
  return island;
}

test.concurrent('Wait: it is named with the reason and with advice, and the pod goes when the advice is taken', async () => {
  const island = await withHopelessBudget('wait');
  const { node, namespace } = island;
  await bed.maintain(node);
  const held = await bed.untilSaid(node, 'DrainBlocked', 'True/PodDisruptionBudget');
  const blocked = await bed.untilSaid(node, 'DrainBlocked', named, aMinute);
  expect(blocked.status?.blockers).toMatchObject([
    {
      cause: 'UnsatisfiablePodDisruptionBudget',
      message: `budget ${namespace}/web can never allow a disruption: ${reason}`,
      budget: { name: 'web', needs: 1, has: 1 },
      since: held.status?.blockers?.[0]?.since,
      nextStep: expect.stringContaining('raise the replicas of the workload'),
    },
  ]);
  expect(blocked.status?.phase).toBe('Draining');
  await bed.kubectl.run(['scale', 'deployment', 'web', '--replicas=2', `--namespace=${namespace}`]);
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  expect(bed.audit.podDeletions(namespace)).toEqual([]);
});

test.concurrent('Fail: the drain gives up with the reason, keeps the cordon, and an edit begins again', async () => {
  const island = await withHopelessBudget('fail');
  const { node, namespace } = island;
  await bed.maintain(node, { drain: { unsatisfiableBudgets: 'Fail' } });
  const failed = await bed.untilSaid(node, 'Ready', 'False/DrainFailed', aMinute);
  expect(failed.status?.drain?.failure).toMatchObject({
    reason: 'UnsatisfiablePodDisruptionBudget',
    message: expect.stringContaining(`budget ${namespace}/web can never let pod ${namespace}/web-`),
  });
  expect(condition(failed, 'Stalled')?.message).toContain(reason);
  expect(failed.status?.phase).toBe('Failed');
  expect(failed.status?.blockers).toMatchObject([{ cause: 'UnsatisfiablePodDisruptionBudget' }]);
  expect(failed.status?.drain?.pods).toMatchObject({ gone: 2, remaining: 1 });
  expect((await bed.api.node(node)).spec?.unschedulable).toBe(true);
  await bed.edit(node, { drain: { unsatisfiableBudgets: 'Wait' } });
  await bed.untilSaid(node, 'DrainBlocked', named);
  expect((await bed.maintenance(node)).status?.phase).toBe('Draining');
});

test.concurrent('Delete: the pod is deleted with its own grace period, if every maintenance agrees', async () => {
  const island = await withHopelessBudget('delete');
  const { node, namespace } = island;
  bed.expectPodDeletions(namespace);
  await bed.maintain(node, { drain: { unsatisfiableBudgets: 'Delete' } });
  await bed.maintain(node, { suspend: true }, `${node}-2`);
  await bed.untilSaid(node, 'DrainBlocked', named, aMinute);
  await holdsFor(2000, 'the suspended one does not agree', () => {
    expect(bed.audit.podDeletions(namespace)).toEqual([]);
  });
  await bed.edit(`${node}-2`, { drain: { unsatisfiableBudgets: 'Delete' } });
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  const [deletion, ...others] = bed.audit.podDeletions(namespace);
  expect(others).toEqual([]);
  const { gracePeriodSeconds, preconditions } = (deletion?.requestObject ?? {}) as {
    gracePeriodSeconds?: number;
    preconditions?: { uid?: string };
  };
  expect(gracePeriodSeconds).toBeUndefined();
  expect(preconditions?.uid).toBeDefined();
  // The proof: its own eviction was refused, and nothing was deleted before that.
  const refused = bed.audit.evictions(namespace, { uid: preconditions?.uid ?? '' });
  expect(refused.map(({ code }) => code)).toContain(429);
  expect(refused.every(({ accepted }) => !accepted)).toBe(true);
});

test.concurrent('a budget that something owns which moves its pods itself is not called unsatisfiable', async () => {
  const island = await bed.island('owned');
  const { node, namespace } = island;
  const owner = await bed.api.create<KubeObject>(`/api/v1/namespaces/${namespace}/configmaps`, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'database' },
  });
  const { name, uid } = owner.metadata;
  const budget = island.budget('web', { minAvailable: 1 });
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid, controller: true }];
  await bed.place(island, island.deployment('web'), {
    ...budget,
    metadata: { ...budget.metadata, ownerReferences },
  });
  bed.expectPodDeletions(namespace);
  await bed.maintain(node, { drain: { unsatisfiableBudgets: 'Delete' } });
  await bed.untilSaid(node, 'DrainBlocked', 'True/PodDisruptionBudget');
  await holdsFor(66_000, 'it gets its time', async () => {
    const { status } = await bed.maintenance(node);
    expect(status?.blockers).toMatchObject([{ cause: 'PodDisruptionBudget' }]);
  });
  expect(bed.audit.podDeletions(namespace)).toEqual([]);
});

test.concurrent('a healthy budget is never called so, whatever its disruptions pass through', async () => {
  const island = await bed.island('healthy');
  const { node, namespace } = island;
  await bed.place(
    island,
    island.deployment('web', { replicas: 6, stopsIn: '8s' }),
    island.budget('web', { minAvailable: 5 }),
  );
  const history = await History.of<NodeMaintenance>(bed.files.kubeconfig, nodeMaintenancesPath, node);
  await bed.maintain(node, { drain: { unsatisfiableBudgets: 'Fail' } });
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  await history.upTo(await bed.maintenance(node));
  const causes = history.versions
    .flatMap(({ object }) => object.status?.blockers ?? [])
    .map(({ cause }) => cause);
  expect(new Set(causes)).toEqual(new Set(['PodDisruptionBudget']));
  expect(bed.audit.podDeletions(namespace)).toEqual([]);
});
