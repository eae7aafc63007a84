import type { Refusal } from '../kube/answer.ts';
import type { Pod, PodDisruptionBudget } from '../kube/types.ts';
import { budgetKey, budgetMessage, syncFailure } from './budgets.ts';

export type Cause =
  | 'AdmissionDenied'
  | 'ApiError'
  | 'EmptyDir'
  | 'MultiplePodDisruptionBudgets'
  | 'NamespaceTerminating'
  | 'PodDisruptionBudget'
  | 'ReturnsAfterEviction'
  | 'StuckTerminating'
  | 'UnmanagedPod'
  | 'UnsatisfiablePodDisruptionBudget'
  | 'VolumeDetach';

/** Why one pod cannot leave now. */
export interface Obstacle {
  readonly cause: Cause;
  readonly message: string;
  readonly budget?: { readonly name: string; readonly needs: number; readonly has: number };
  /** What somebody can do about it, where nothing happens by itself. */
  readonly advice?: string;
}

/** `budgets` are those that select the pod, `waiting` the pods of the node under them that nobody is evicting. */
export function heldByBudgets(
  budgets: readonly PodDisruptionBudget[],
  waiting: readonly Pod[] = [],
): Obstacle {
  const [budget, ...others] = budgets;
  if (budget === undefined || others.length > 0) return severalBudgets(budgets.map(budgetKey));
  const { desiredHealthy: needs = 0, currentHealthy: has = 0 } = budget.status ?? {};
  return {
    cause: 'PodDisruptionBudget',
    message: budgetMessage(budget, waiting),
    budget: { name: budget.metadata.name, needs, has },
    ...(syncFailure(budget) === undefined ? {} : { advice: SYNC_ADVICE }),
  };
}

/** The other forms are shares of what the controllers of the pods want, whose scale has to be readable. */
const SYNC_ADVICE = 'minAvailable as a number works with pods of any controller';

/** `ready` pods of the node have been Ready for long, and the budget's status has fewer in all. */
export function miscounted(obstacle: Obstacle, ready: number): Obstacle {
  const pods =
    ready === 1 ? '1 pod of this node that it selects is' : `${ready} pods of this node that it selects are`;
  return {
    ...obstacle,
    message: `${obstacle.message}, although ${pods} Ready: its status is out of date`,
    advice: 'a change of the budget, such as an annotation, has it counted again',
  };
}

function severalBudgets(keys: readonly string[]): Obstacle {
  return {
    cause: 'MultiplePodDisruptionBudgets',
    message: `several budgets select it, which the eviction API does not support: ${keys.toSorted().join(', ')}; change their selectors so that one of them does`,
  };
}

/** Without knowing its volumes nobody could follow them once the pod is gone. */
export function unknownVolumes(problem: string): Obstacle {
  return { cause: 'ApiError', message: `its volumes could not be looked up: ${problem}` };
}

/** `volumes` are those of `pod` (`namespace/name`), which left before it; `undefined`: whose they were is not known. */
export function slowDetach(pod: string | undefined, volumes: readonly string[]): Obstacle {
  const whose = `${volumes.join(', ')} of ${pod === undefined ? 'a pod that left before' : `pod ${pod}`}`;
  return {
    cause: 'VolumeDetach',
    message: `it leaves when ${whose} is detached from the node, which takes long; look at the VolumeAttachment and at the driver's controller`,
  };
}

/** The same while `pod` is still here, although its grace period is over. */
export function slowStop(pod: string, volumes: readonly string[]): Obstacle {
  return {
    cause: 'VolumeDetach',
    message: `it leaves when pod ${pod} has stopped and its ${volumes.join(', ')} is detached from the node, which takes long`,
  };
}

/** The obstacle that an answer of the eviction API (or of a deletion) stands for. */
export function obstacleOf(refusal: Refusal): Obstacle {
  switch (refusal.kind) {
    case 'budget': {
      const { budget, needs, has, message } = refusal;
      const facts =
        budget !== undefined && needs !== undefined && has !== undefined
          ? { budget: { name: budget, needs, has } }
          : {};
      return { cause: 'PodDisruptionBudget', message, ...facts };
    }
    case 'budgetStale':
      return { cause: 'PodDisruptionBudget', message: refusal.message };
    case 'multipleBudgets':
      return { cause: 'MultiplePodDisruptionBudgets', message: refusal.message };
    case 'admission':
      return { cause: 'AdmissionDenied', message: refusal.message };
    case 'namespaceTerminating':
      return {
        cause: 'NamespaceTerminating',
        message: 'its namespace is being deleted and takes the pod with it',
      };
    case 'throttled':
      return { cause: 'ApiError', message: `the API server is overloaded: ${refusal.message}` };
    case 'forbidden':
      return { cause: 'ApiError', message: `haulout is not permitted to do it: ${refusal.message}` };
    case 'conflict':
    case 'expired':
    case 'invalid':
    case 'network':
    case 'notFound':
    case 'notServed':
    case 'serverError':
      return { cause: 'ApiError', message: refusal.message };
  }
}

/** `because` says who asks for the protection. */
export function protectedFrom(policy: 'unmanagedPods' | 'emptyDirPods', because: string): Obstacle {
  return policy === 'unmanagedPods'
    ? { cause: 'UnmanagedPod', message: `nothing would create it again (no controller), and ${because}` }
    : { cause: 'EmptyDir', message: `its emptyDir data would be lost, and ${because}` };
}
