import type { Pod, PodDisruptionBudget } from '../kube/types.ts';
import { isStale, syncFailure } from './budgets.ts';
import { isReady, isTerminating } from './filters.ts';

/** Longer than the disruption controller takes to count a pod that has become Ready. */
export const countedAfterMs = 30_000;

/** There are more healthy pods than the status of the budget says. */
export interface Miscount {
  /** Wall-clock milliseconds; before, they may have become Ready too late to be counted. */
  readonly from: number;
  /** How many have been Ready for so long now. */
  readonly ready: number;
}

/**
 * Whether the status of the budget is out of date, as far as `selected` shows: pods that it selects and that nobody
 * evicts. When a pod changes, Kubernetes counts anew only one of the budgets that select it (getPdbForPod of the
 * disruption controller): where there were two, the status of the other stays as it was until something else happens.
 */
export function miscountOf(
  budget: PodDisruptionBudget,
  selected: readonly Pod[],
  now: number,
): Miscount | undefined {
  const counted = budget.status?.currentHealthy;
  if (counted === undefined || isStale(budget) || syncFailure(budget) !== undefined) return undefined;
  const countedBy = selected
    .filter((pod) => isHealthy(pod, budget))
    .map((pod) => readySince(pod) + countedAfterMs)
    .filter((time) => !Number.isNaN(time))
    .toSorted((a, b) => a - b);
  const from = countedBy[counted];
  return from === undefined ? undefined : { from, ready: countedBy.filter((time) => time <= now).length };
}

/** In the eyes of the disruption controller. */
function isHealthy(pod: Pod, { status }: PodDisruptionBudget): boolean {
  return (
    isReady(pod) && !isTerminating(pod) && !Object.hasOwn(status?.disruptedPods ?? {}, pod.metadata.name)
  );
}

function readySince({ status }: Pod): number {
  return Date.parse(status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? '');
}
