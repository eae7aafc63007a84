import { releaseAllLabel } from '../api/names.ts';
import type { Candidate } from '../drain/evictions.ts';
import { isTerminating } from '../drain/filters.ts';
import type { Pod } from '../kube/types.ts';
import { compareText } from '../runtime/compare.ts';
import type { Evacuator } from './evacuation.ts';
import type { Snapshot } from './snapshot.ts';

/** The least priority of the classes system-cluster-critical and system-node-critical. */
const systemCritical = 2_000_000_000;

/**
 * The candidates whose turn it is: system-critical pods after all others, and the operator's own pod after those. The
 * others count as long as they are here, terminating and held ones included; kept ones and those that are not waited for
 * do not. A maintenance that stands still asks nobody to leave, so nobody waits for what it would want.
 */
export function whoseTurn(
  { self }: Pick<Snapshot, 'self'>,
  candidates: readonly Candidate[],
  evacuators: readonly Evacuator[],
): readonly Candidate[] {
  const remaining = evacuators.filter(({ clock }) => clock.active).flatMap(({ view }) => view.remaining);
  const first = Math.min(...remaining.map((pod) => rank(pod, self)));
  return candidates.filter(({ pod }) => rank(pod, self) <= first);
}

/** What a look at the API server found out about the operator's own pod, when all others were gone. */
export interface OwnPodFate {
  readonly kind: 'leaves' | 'stays' | 'unknown';
  /** Monotonic milliseconds. */
  readonly at: number;
}

/** Other nodes come and fill up: so long after a look there is another one. */
export const fateLastsMs = 60_000;

export interface OwnPodTurn {
  readonly going: readonly Candidate[];
  /** It has to be looked for what is to become of it. */
  readonly undecided: Pod | undefined;
  /** Monotonic milliseconds. */
  readonly wakeAt: number | undefined;
}

/** The operator's own pod leaves only when another node can take it: `going` are the candidates whose turn it is. */
export function ownPodTurn(
  { self, memory, monotonic }: Pick<Snapshot, 'self' | 'memory' | 'monotonic'>,
  going: readonly Candidate[],
  evacuators: readonly Evacuator[],
): OwnPodTurn {
  const abandoned = evacuators.flatMap(({ view }) => view.abandoned);
  const pod =
    going.find((each) => isOwn(each.pod, self))?.pod ?? abandoned.find(({ why }) => why === 'ownPod')?.pod;
  const { ownPod: fate, accepted, inFlight } = memory;
  if (!pod || accepted.has(pod.metadata.uid) || inFlight.has(pod.metadata.uid))
    return { going, undecided: undefined, wakeAt: undefined };
  const lasts = fate !== undefined && fate.at + fateLastsMs > monotonic;
  return {
    going: fate?.kind === 'leaves' ? going : going.filter((each) => each.pod !== pod),
    undecided: lasts ? undefined : pod,
    wakeAt: lasts ? fate.at + fateLastsMs : undefined,
  };
}

/**
 * Of the oldest maintenance that evacuates the node now; the least text is the oldest. Creation times have whole seconds,
 * and names decide between objects of the same second.
 */
export function ageOf(evacuators: readonly Evacuator[]): string {
  const [oldest = ''] = evacuators
    .filter(({ clock }) => clock.active)
    .map(
      ({ stance: { maintenance } }) =>
        `${maintenance.metadata.creationTimestamp} ${maintenance.metadata.name}`,
    )
    .toSorted(compareText);
  return oldest;
}

function rank(pod: Pod, self: Snapshot['self']): number {
  if (isOwn(pod, self)) return 2;
  return isSystemCritical(pod) ? 1 : 0;
}

/** Whether the pod leaves only when all others have. */
export function isSystemCritical({ spec }: Pod): boolean {
  return (spec.priority ?? 0) >= systemCritical;
}

/** The operator's own pod, when no other node could take it. */
export function staysPut({ self, memory }: Pick<Snapshot, 'self' | 'memory'>, pod: Pod): boolean {
  return memory.ownPod?.kind === 'stays' && isOwn(pod, self) && !isTerminating(pod);
}

/** Whether it puts all nodes back before this operator is uninstalled. Who evicts it keeps that from happening. */
export function isReleasingAll({ metadata }: Pod, self: Snapshot['self']): boolean {
  return (
    self !== undefined &&
    metadata.namespace === self.namespace &&
    metadata.labels?.[releaseAllLabel] !== undefined
  );
}

/** Whether this process runs in the pod. */
export function isOwn({ metadata }: Pod, self: Snapshot['self']): boolean {
  return self !== undefined && metadata.name === self.name && metadata.namespace === self.namespace;
}
