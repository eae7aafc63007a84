import type { Blocker } from '../api/types.generated.ts';
import { type Obstacle, protectedFrom } from '../drain/obstacles.ts';
import { isTerminating } from '../drain/filters.ts';
import type { Node, Pod } from '../kube/types.ts';
import { compareText } from '../runtime/compare.ts';
import { cleanMessage } from '../runtime/plain-text.ts';
import { timestamp } from './drain-clock.ts';
import {
  type Evacuation,
  type Evacuator,
  budgetCauses,
  deletionTime,
  heldUpSince,
  oneBudgetCauses,
} from './evacuation.ts';
import { readyCondition } from './pods.ts';
import { type RestartWords, isHeldByBudget } from './restarts.ts';
import { returnsAfterEviction } from './returns.ts';
import type { Snapshot } from './snapshot.ts';
import type { Stance } from './stance.ts';

/** A pod that should have been gone for so long is stuck: a kubelet needs a moment after the grace period. */
const stuckAfterMs = 10_000;

/** A pod may have any number of finalizers; a status has not. */
const longestMessage = 2_048;

export interface BlockerList {
  /** Sorted by cause, namespace and name. */
  readonly blockers: readonly Blocker[];
  /** Wall-clock milliseconds at which a terminating pod will count as stuck. */
  readonly nextStuckAt: number | undefined;
}

/** Who holds up one maintenance, and why. */
export function listBlockers(
  snapshot: Snapshot,
  node: Node,
  evacuators: readonly Evacuator[],
  evacuator: Evacuator,
  evacuation: Evacuation,
): BlockerList {
  const blockers: Blocker[] = [];
  let nextStuckAt: number | undefined;
  for (const pod of evacuator.view.remaining) {
    const stuckAt = stuckTime(pod);
    if (stuckAt !== undefined && stuckAt > snapshot.now)
      nextStuckAt = Math.min(nextStuckAt ?? stuckAt, stuckAt);
    const obstacle = isTerminating(pod)
      ? stuckTerminating(pod, node, stuckAt, snapshot.now)
      : (held(pod, evacuator) ?? evacuation.obstacles.get(pod.metadata.uid));
    const blocker = obstacle
      ? blockerOf(snapshot, pod, obstacle, evacuation, evacuators, evacuator)
      : whatWasSaid(snapshot, pod, evacuator);
    if (blocker) blockers.push(blocker);
  }
  for (const { pod, why } of evacuator.view.abandoned) {
    if (why === 'returns')
      blockers.push(blockerOf(snapshot, pod, returnsAfterEviction(pod), evacuation, evacuators, evacuator));
  }
  return { blockers: blockers.toSorted(compareBlockers), nextStuckAt };
}

/** A process that has just started decides nothing about a pod before it knows its volumes: until then nothing is new. */
function whatWasSaid({ volumes }: Snapshot, pod: Pod, { stance }: Evacuator): Blocker | undefined {
  if (isTerminating(pod) || volumes.volumesOf(pod).kind === 'known') return undefined;
  return stance.maintenance.status?.blockers?.find(({ pod: { uid } }) => uid === pod.metadata.uid);
}

/** What a drain that gave up was held up by, less what has gone since. */
export function remainingBlockers(previous: readonly Blocker[], remaining: readonly Pod[]): Blocker[] {
  const uids = new Set(remaining.map(({ metadata }) => metadata.uid));
  return previous
    .filter(({ pod }) => pod.uid !== undefined && uids.has(pod.uid))
    .map(({ nextStep: _, ...blocker }) => blocker);
}

function blockerOf(
  snapshot: Snapshot,
  pod: Pod,
  obstacle: Obstacle,
  { restarts }: Evacuation,
  evacuators: readonly Evacuator[],
  evacuator: Evacuator,
): Blocker {
  // What is known of a budget's refusal later does not make it a younger one.
  const causes = oneBudgetCauses.includes(obstacle.cause) ? oneBudgetCauses : [obstacle.cause];
  const since = heldUpSince(snapshot, pod, causes) ?? snapshot.now;
  const restart = isHeldByBudget(obstacle) ? restarts.words.get(pod.metadata.uid) : undefined;
  const next = nextStep(obstacle, since, restart, evacuators, evacuator);
  return {
    pod: { namespace: pod.metadata.namespace ?? '', name: pod.metadata.name, uid: pod.metadata.uid },
    cause: obstacle.cause,
    message: cleanMessage(obstacle.message, longestMessage),
    ...(obstacle.budget ? { budget: obstacle.budget } : {}),
    since: timestamp(since),
    ...(next === undefined ? {} : { nextStep: next }),
  };
}

function nextStep(
  obstacle: Obstacle,
  since: number,
  restart: RestartWords | undefined,
  evacuators: readonly Evacuator[],
  evacuator: Evacuator,
): string | undefined {
  const limit = limitStep(obstacle, since, evacuators, evacuator);
  const steps =
    restart?.helps === true ? [restart.text, limit] : [limit ?? byItself(obstacle, evacuator), restart?.text];
  const words = steps.filter((step) => step !== undefined).join('; ');
  return words === '' ? undefined : words;
}

/** What comes in any case, whatever others do. */
function limitStep(
  obstacle: Obstacle,
  since: number,
  evacuators: readonly Evacuator[],
  { stance, clock }: Evacuator,
): string | undefined {
  if (obstacle.cause === 'ReturnsAfterEviction') return undefined;
  const { onTimeout, unsatisfiableBudgets } = stance.spec.drain;
  const isHopeless = obstacle.cause === 'UnsatisfiablePodDisruptionBudget';
  if (budgetCauses.includes(obstacle.cause)) {
    const at = deletionTime(evacuators, since, isHopeless);
    if (at === 0) {
      const byHope = isHopeless && unsatisfiableBudgets === 'Delete';
      return `deleted now (${byHope ? 'unsatisfiableBudgets is Delete' : 'timeoutSeconds is over'})`;
    }
    if (at !== undefined) return `deleted at ${timestamp(at)} (${deletionRule(stance)})`;
  }
  if (isHopeless && unsatisfiableBudgets === 'Fail')
    return 'the drain gives up now (unsatisfiableBudgets is Fail)';
  if (clock.deadline !== undefined && onTimeout === 'Fail') {
    return `the drain gives up at ${timestamp(clock.deadline)} (timeoutSeconds)`;
  }
  return undefined;
}

/** What makes this maintenance agree to a deletion that has a date. */
function deletionRule({ spec: { drain } }: Stance): string {
  if (drain.deleteBlockedAfterSeconds !== undefined) return 'deleteBlockedAfterSeconds';
  // An unsatisfiable budget has no date: another maintenance of the node agrees only then.
  return drain.onTimeout === 'Delete' ? 'timeoutSeconds' : 'when every maintenance of the node agrees';
}

/** What becomes of it without anybody's doing. */
export function byItself(
  { cause, advice }: Obstacle,
  { stance }: Pick<Evacuator, 'stance'>,
): string | undefined {
  if (cause === 'PodDisruptionBudget')
    return ['evicted as soon as the budget allows it', ...(advice === undefined ? [] : [advice])].join('; ');
  // KubeVirt refuses as long as it migrates a machine: that is progress, and its words say so.
  if (cause === 'AdmissionDenied')
    return `asked again every ${stance.spec.drain.retryIntervalSeconds} s, and never deleted as long as a webhook or a policy refuses it`;
  if (cause === 'ApiError') return 'tried again by itself';
  if (advice !== undefined) return `nothing happens by itself: ${advice}`;
  return undefined;
}

function held(pod: Pod, { stance, view }: Evacuator): Obstacle | undefined {
  const verdict = view.verdicts.get(pod.metadata.uid);
  if (verdict?.kind !== 'held') return undefined;
  const what = verdict.why === 'unmanagedPods' ? 'an unmanaged pod' : 'a pod with emptyDir data';
  const because = `drain.${verdict.why} is ${stance.policies[verdict.why]}: delete the pod, or set Evict or Skip to let ${what} go or stay`;
  return protectedFrom(verdict.why, because);
}

function stuckTime(pod: Pod): number | undefined {
  const due = pod.metadata.deletionTimestamp;
  return due === undefined ? undefined : Date.parse(due) + stuckAfterMs;
}

function stuckTerminating(
  pod: Pod,
  node: Node,
  stuckAt: number | undefined,
  now: number,
): Obstacle | undefined {
  if (stuckAt === undefined || stuckAt > now) return undefined;
  const finalizers = pod.metadata.finalizers ?? [];
  const due = `should have been gone at ${pod.metadata.deletionTimestamp ?? ''}`;
  const ready = readyCondition(node);
  const causes: string[] = [];
  if (finalizers.length > 0)
    causes.push(`its finalizers are still there: ${finalizers.toSorted().join(', ')}`);
  if (ready?.status !== 'True') {
    causes.push(
      `node ${node.metadata.name} is not Ready (${ready?.reason ?? 'no condition'}), so its kubelet cannot confirm that the pod stopped; ` +
        'if the machine is off, the taint node.kubernetes.io/out-of-service or deleting the Node releases it, or set drain.skipWaitForDeleteTimeoutSeconds',
    );
  }
  if (causes.length === 0) causes.push('its kubelet has not stopped it yet');
  return { cause: 'StuckTerminating', message: `${due}: ${causes.join('; ')}` };
}

function compareBlockers(a: Blocker, b: Blocker): number {
  return compareText(sortKey(a), sortKey(b));
}

function sortKey({ cause, pod }: Blocker): string {
  return `${cause} ${pod.namespace}/${pod.name}`;
}
