/** What is said to hold up a pod, asked once more of the cluster as it is. */
import { evacuates, hasEmptyDir, isUnmanaged } from './asks.ts';
import { selects } from './selector.ts';
import type { ClusterState, StateBudget, StateMaintenance, StatePod } from './state.ts';

type Protection = 'unmanagedPods' | 'emptyDirPods';

const DEFAULTS: Readonly<Record<Protection, string>> = { unmanagedPods: 'Block', emptyDirPods: 'Evict' };

/** Whether it is so. What only an answer of the API server or the past can tell is not here. */
const CAUSES: Readonly<Record<string, (pod: StatePod, state: ClusterState) => boolean>> = {
  PodDisruptionBudget: (pod, state) => {
    const budgets = budgetsOf(pod, state);
    return budgets.length > 0 && !(budgets.length === 1 && budgets.every(allowsOne));
  },
  UnsatisfiablePodDisruptionBudget: (pod, state) => {
    const budgets = budgetsOf(pod, state);
    return budgets.length === 1 && budgets.every(wantsAll);
  },
  MultiplePodDisruptionBudgets: (pod, state) => budgetsOf(pod, state).length > 1,
  UnmanagedPod: (pod, state) => isUnmanaged(pod) && isProtected(pod, 'unmanagedPods', state),
  EmptyDir: (pod, state) => hasEmptyDir(pod) && isProtected(pod, 'emptyDirPods', state),
  StuckTerminating: ({ metadata }) => metadata.deletionTimestamp !== undefined,
  NamespaceTerminating: ({ metadata }, { namespaces }) =>
    namespaces.find(({ metadata: { name } }) => name === metadata.namespace)?.metadata.deletionTimestamp !==
    undefined,
};

export function isSo(cause: string, pod: StatePod, state: ClusterState): boolean {
  return CAUSES[cause]?.(pod, state) ?? true;
}

function budgetsOf({ metadata }: StatePod, { budgets }: ClusterState): readonly StateBudget[] {
  return budgets.filter(
    (budget) =>
      budget.metadata.namespace === metadata.namespace &&
      selects(budget.spec.selector, metadata.labels ?? {}),
  );
}

const isFresh = ({ metadata, status }: StateBudget): boolean =>
  status?.observedGeneration === metadata.generation;

const allowsOne = (budget: StateBudget): boolean =>
  isFresh(budget) && (budget.status?.disruptionsAllowed ?? 0) > 0;

/** One that has a controller is never called unsatisfiable: whoever made it moves its pods. */
function wantsAll(budget: StateBudget): boolean {
  const { desiredHealthy = 0, expectedPods = 0 } = budget.status ?? {};
  const isOwned = budget.metadata.ownerReferences?.some(({ controller }) => controller === true) ?? false;
  return !isOwned && isFresh(budget) && expectedPods > 0 && desiredHealthy >= expectedPods;
}

/** Each that evacuates the node has a say, also one that is suspended, waits, or does not select the pod. */
function isProtected({ spec }: StatePod, protection: Protection, state: ClusterState): boolean {
  const refuses = ({ spec: { drain } }: StateMaintenance): boolean =>
    (drain?.[protection] ?? DEFAULTS[protection]) !== 'Evict';
  return state.maintenances.some(
    (maintenance) =>
      maintenance.spec.nodeName === spec.nodeName && evacuates(maintenance, state) && refuses(maintenance),
  );
}
