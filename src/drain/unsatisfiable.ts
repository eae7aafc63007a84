import type { PodDisruptionBudget } from '../kube/types.ts';
import { budgetKey, isStale, syncFailure } from './budgets.ts';
import type { Obstacle } from './obstacles.ts';

/** Longer than a healthy budget wants all of its pods, as in the moment between an eviction and its replacement. */
export const unsatisfiableAfterMs = 60_000;

/**
 * Whether the budget wants as many healthy pods as there are, so that it cannot allow a disruption even with all of them
 * healthy. A healthy budget passes through that state: it counts once it lasts. Never judged from disruptionsAllowed,
 * which is 0 after every eviction. A budget with a controller of its own is left out: whoever made it (KubeVirt, an
 * operator of databases) moves its pods by itself after the cordon, and needs that budget until it has.
 */
export function looksUnsatisfiable(budget: PodDisruptionBudget): boolean {
  const { desiredHealthy = 0, expectedPods = 0, disruptedPods = {} } = budget.status ?? {};
  const isOwned = budget.metadata.ownerReferences?.some(({ controller }) => controller === true) ?? false;
  return (
    !isOwned &&
    !isStale(budget) &&
    syncFailure(budget) === undefined &&
    expectedPods > 0 &&
    desiredHealthy >= expectedPods &&
    Object.keys(disruptedPods).length === 0
  );
}

/** Since when budgets look unsatisfiable without interruption, as their watch has shown them; a restart forgets it. */
export class UnsatisfiableBudgets {
  readonly #since = new Map<string, number>();

  /** To be called for each version of a budget that the watch shows; `isNew`: nothing is known of what it was before. */
  seen(budget: PodDisruptionBudget, now: number, isNew: boolean): void {
    const { uid } = budget.metadata;
    if (!looksUnsatisfiable(budget)) this.#since.delete(uid);
    else if (isNew || !this.#since.has(uid)) this.#since.set(uid, now);
  }

  gone({ metadata }: PodDisruptionBudget): void {
    this.#since.delete(metadata.uid);
  }

  /** The watch has ended: how they are from now on is not known. */
  unwatched(): void {
    this.#since.clear();
  }

  /** Monotonic milliseconds; `undefined`: it does not look unsatisfiable. */
  since({ metadata }: PodDisruptionBudget): number | undefined {
    return this.#since.get(metadata.uid);
  }
}

/** Such as `minAvailable 1 of 1 pod`. */
export function unsatisfiableReason({ spec, status }: PodDisruptionBudget): string {
  const expected = status?.expectedPods ?? 0;
  const rule =
    spec.maxUnavailable === undefined
      ? `minAvailable ${spec.minAvailable ?? status?.desiredHealthy ?? 0}`
      : `maxUnavailable ${spec.maxUnavailable}`;
  return `${rule} of ${expected} ${expected === 1 ? 'pod' : 'pods'}`;
}

/** What its owner can do about it. */
export function unsatisfiableAdvice({ spec }: PodDisruptionBudget): string {
  if (spec.maxUnavailable !== undefined) return 'raise maxUnavailable of the budget';
  // All of the pods, however many there are.
  if (spec.minAvailable === '100%') return 'lower minAvailable of the budget';
  return 'raise the replicas of the workload or lower minAvailable of the budget';
}

export function unsatisfiable(budget: PodDisruptionBudget): Obstacle {
  const { desiredHealthy: needs = 0, currentHealthy: has = 0 } = budget.status ?? {};
  return {
    cause: 'UnsatisfiablePodDisruptionBudget',
    message: `budget ${budgetKey(budget)} can never allow a disruption: ${unsatisfiableReason(budget)}`,
    budget: { name: budget.metadata.name, needs, has },
    advice: unsatisfiableAdvice(budget),
  };
}
