import type { Pod, PodDisruptionBudget } from '../kube/types.ts';
import { timestamp } from '../runtime/timestamp.ts';
import { isFinished, isReady } from './filters.ts';

/** What the API server will ask before it evicts a pod; mirrors its own order of checks. */
export type BudgetGate =
  /** No budget has a say: no budget, or the pod's state makes the server pass it by. */
  | { readonly kind: 'free' }
  /** Takes one of the disruptions that the budget allows. */
  | { readonly kind: 'counted'; readonly budget: PodDisruptionBudget }
  /** The server refuses every eviction of a pod with several budgets. */
  | { readonly kind: 'several'; readonly budgets: readonly PodDisruptionBudget[] };

/** `budgets` are those that select the pod. Terminating pods are not asked about: they are never posted. */
export function budgetGate(pod: Pod, budgets: readonly PodDisruptionBudget[]): BudgetGate {
  if (isFinished(pod) || pod.status?.phase === 'Pending') return { kind: 'free' };
  const [budget, ...others] = budgets;
  if (budget === undefined) return { kind: 'free' };
  if (others.length > 0) return { kind: 'several', budgets };
  if (!isReady(pod) && unreadyPodsPass(budget)) return { kind: 'free' };
  return { kind: 'counted', budget };
}

function unreadyPodsPass(budget: PodDisruptionBudget): boolean {
  if (budget.spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = budget.status ?? {};
  return desiredHealthy > 0 && currentHealthy >= desiredHealthy;
}

/** Until the disruption controller has seen the spec, the server refuses with Retry-After. */
export function isStale(budget: PodDisruptionBudget): boolean {
  return (budget.status?.observedGeneration ?? 0) < (budget.metadata.generation ?? 0);
}

/** Why the disruption controller could not work the budget out; as long as it cannot, nothing is allowed. */
export function syncFailure({ status }: PodDisruptionBudget): string | undefined {
  const failed = status?.conditions?.find(({ reason }) => reason === 'SyncFailed');
  return failed && (failed.message ?? 'it does not say why');
}

/** `namespace/name`: what lanes and waiters are keyed by. */
export function budgetKey(budget: PodDisruptionBudget): string {
  return `${budget.metadata.namespace ?? ''}/${budget.metadata.name}`;
}

/** The sentence that people read; the same facts are in the blocker's `budget`. `waiting`: pods that nobody is evicting. */
export function budgetMessage(budget: PodDisruptionBudget, waiting: readonly Pod[] = []): string {
  const name = budgetKey(budget);
  const failure = syncFailure(budget);
  if (failure !== undefined)
    return `budget ${name} allows nothing, as the disruption controller cannot work it out: ${failure}`;
  if (isStale(budget)) return `budget ${name} is being processed by the disruption controller`;
  const { desiredHealthy = 0, currentHealthy = 0 } = budget.status ?? {};
  const pods = desiredHealthy === 1 ? 'pod' : 'pods';
  const counts = `budget ${name} needs ${desiredHealthy} healthy ${pods} and has ${currentHealthy}`;
  return [counts, ...waiting.flatMap((pod) => spentFor(pod, budget))].join('; ');
}

/** The disruption controller's DeletionTimeout: so long it waits for the deletion that follows an accepted eviction. */
const deletionTimeoutMs = 120_000;

/** An eviction that was cut off may have spent its budget and evicted nobody: with all pods Ready nobody would guess why. */
function spentFor({ metadata }: Pod, { status }: PodDisruptionBudget): string[] {
  const at = Date.parse(status?.disruptedPods?.[metadata.name] ?? '');
  if (Number.isNaN(at)) return [];
  return [
    `pod ${metadata.name} counts as evicted until ${timestamp(at + deletionTimeoutMs)}, as an eviction of it was cut off`,
  ];
}
