import { type Candidate, planEvictions } from '../drain/evictions.ts';
import { consentsToEviction, isTerminating } from '../drain/filters.ts';
import type { Obstacle } from '../drain/obstacles.ts';
import { heldByBudgets, protectedFrom } from '../drain/obstacles.ts';
import type { Pod } from '../kube/types.ts';
import { type PacedPlan, planAtPace } from '../volumes/lanes.ts';
import type { DrainClock } from './drain-clock.ts';
import { ageOf, ownPodTurn, whoseTurn } from './order.ts';
import { type PodView, comparePods } from './pods.ts';
import type { Snapshot } from './snapshot.ts';
import type { Stance } from './stance.ts';
import { nameMiscounted } from './miscounts.ts';
import { hopelessBudget, nameUnsatisfiable } from './unsatisfiable.ts';
import type { VolumePart } from './volumes.ts';
import { type RestartPlan, isHeldByBudget, isWithheld, planRestarts } from './restarts.ts';

/** A maintenance that evacuates, with its view of the pods and of the time. */
export interface Evacuator {
  readonly stance: Stance;
  readonly view: PodView;
  readonly clock: DrainClock;
}

export interface Evacuation extends PacedPlan {
  /** UIDs of the pods that may be asked to leave now, those that are underway included. */
  readonly mayLeave: ReadonlySet<string>;
  readonly restarts: RestartPlan;
  /** Wall-clock milliseconds at which a pod's budget will have refused it for long enough to be deleted. */
  readonly nextDeletionAt: number | undefined;
  /** The operator's own pod, when it has to be looked for what is to become of it. */
  readonly undecided: Pod | undefined;
}

/**
 * Which pods of the node go now. A pod is evicted when an active maintenance selects it; whatever goes past a
 * protection needs every maintenance that evacuates the node, suspended ones included.
 */
export function planEvacuation(
  snapshot: Snapshot,
  evacuators: readonly Evacuator[],
  volumes: VolumePart,
): Evacuation {
  const pods = (snapshot.pods ?? []).filter((pod) => !isTerminating(pod)).toSorted(comparePods);
  const objections = new Map<string, Obstacle>();
  const candidates: Candidate[] = [];
  const dates: number[] = [];
  for (const pod of pods) {
    const wanting = evacuators.filter(
      ({ clock, view }) => clock.active && view.verdicts.get(pod.metadata.uid)?.kind === 'leaves',
    );
    if (wanting.length === 0) continue;
    const against = evacuators.find(({ stance }) => !consentsToEviction(pod, stance.policies));
    if (against) {
      objections.set(pod.metadata.uid, objection(pod, against.stance));
      continue;
    }
    const since = heldUpSince(snapshot, pod);
    const deletionAt = deletionTime(evacuators, since, hopelessBudget(snapshot, pod) !== undefined);
    if (deletionAt !== undefined && deletionAt > snapshot.now) dates.push(deletionAt);
    const gracePeriodSeconds = commonGracePeriod(pod, evacuators);
    const mayBeDeleted = deletionAt !== undefined && deletionAt <= snapshot.now;
    const intervals = wanting.map(({ stance }) => stance.spec.drain.retryIntervalSeconds * 1000);
    const retryIntervalMs = Math.min(...intervals);
    const heldUpBefore = since !== undefined;
    candidates.push({ pod, gracePeriodSeconds, mayBeDeleted, retryIntervalMs, heldUpBefore });
  }
  const { budgetsOf, memory, monotonic: now, nodeName } = snapshot;
  const turn = ownPodTurn(snapshot, whoseTurn(snapshot, candidates, evacuators), evacuators);
  const withheld = turn.going.filter(
    ({ pod, mayBeDeleted, heldUpBefore }) =>
      !mayBeDeleted && isWithheld(snapshot, evacuators, pod, heldUpBefore),
  );
  const going = turn.going.filter((candidate) => !withheld.includes(candidate));
  const age = ageOf(evacuators);
  // A watch may be behind the answer that got lost; one that never came may not hold up others for long.
  const unheardUntil = (uid: string) => {
    const attempt = memory.attempts.get(uid);
    if (attempt?.uncertain !== true || attempt.refusal.kind !== 'network') return undefined;
    const end = attempt.at + unheardMs;
    return end > now ? end : undefined;
  };
  const plan = planAtPace({
    candidates: going,
    planEvictions: (those) => planEvictions({ nodeName, age, candidates: those, budgetsOf, memory, now }),
    pods: snapshot.pods ?? [],
    volumesOf: (pod) => snapshot.volumes.volumesOf(pod),
    moves: volumes.moves,
    orphans: volumes.orphans,
    isAsked: (uid) => memory.inFlight.has(uid) || memory.accepted.has(uid) || unheardUntil(uid) !== undefined,
    isAbandoned: (uid) =>
      evacuators.every(({ view }) => view.abandoned.some(({ pod }) => pod.metadata.uid === uid)),
    maxConcurrent: volumes.maxConcurrent,
    now: snapshot.now,
  });
  const named = nameUnsatisfiable(snapshot, pods, plan.obstacles);
  const held = new Map([
    ...withheld.map(({ pod }) => [pod.metadata.uid, heldByBudgets(budgetsOf(pod))] as const),
    ...named.obstacles,
  ]);
  const counted = nameMiscounted(snapshot, held);
  const obstacles = new Map([...counted.obstacles, ...objections]);
  const heldByBudget = turn.going
    .map(({ pod }) => pod)
    .filter(({ metadata }) => isHeldByBudget(obstacles.get(metadata.uid)));
  const restarts = planRestarts(snapshot, evacuators, heldByBudget);
  return {
    ...plan,
    mayLeave: new Set(going.map(({ pod }) => pod.metadata.uid)),
    obstacles,
    restarts,
    wakeAt: earliest(
      plan.wakeAt,
      ...going.map(({ pod }) => unheardUntil(pod.metadata.uid)),
      named.wakeAt,
      counted.wakeAt,
      restarts.wakeAt,
      turn.wakeAt,
    ),
    undecided: turn.undecided,
    nextDeletionAt: dates.length > 0 ? Math.min(...dates) : undefined,
  };
}

/** An eviction without an answer counts as accepted for so long: far longer than a watch is behind. */
const unheardMs = 10_000;

/**
 * The moment from which every evacuating maintenance agrees to delete a pod that its budget has refused since
 * `since` (wall-clock milliseconds) and, as `isHopeless` says, will refuse for ever; 0: at once; `undefined`: one of
 * them never does, as far as can be known now.
 */
export function deletionTime(
  evacuators: readonly Evacuator[],
  since: number | undefined,
  isHopeless: boolean,
): number | undefined {
  const dates = evacuators.map(({ stance, clock }) => {
    const { deleteBlockedAfterSeconds: seconds, onTimeout, unsatisfiableBudgets } = stance.spec.drain;
    const byBudget = seconds !== undefined && since !== undefined ? since + seconds * 1000 : Infinity;
    const byDeadline = onTimeout !== 'Delete' ? Infinity : clock.overdue ? 0 : (clock.deadline ?? Infinity);
    const byHope = isHopeless && unsatisfiableBudgets === 'Delete' ? 0 : Infinity;
    return stance.refused === undefined ? Math.min(byBudget, byDeadline, byHope) : Infinity;
  });
  const last = Math.max(...dates);
  return Number.isFinite(last) ? last : undefined;
}

/** Since when the pod's budget has refused it; kept in memory, and in status for those that it lists. */
export function heldUpSince(
  snapshot: Snapshot,
  pod: Pod,
  causes: readonly string[] = budgetCauses,
): number | undefined {
  const { uid } = pod.metadata;
  for (const cause of causes) {
    const remembered = snapshot.memory.heldUpSince.get(`${uid} ${cause}`);
    if (remembered !== undefined) return remembered;
  }
  const noted = snapshot.maintenances
    .flatMap(({ status }) => status?.blockers ?? [])
    .filter((blocker) => blocker.pod.uid === uid && causes.includes(blocker.cause))
    .map(({ since }) => Date.parse(since));
  return noted.length > 0 ? Math.min(...noted) : undefined;
}

/** One refusal, before and after it is known to be for ever. */
export const oneBudgetCauses: readonly string[] = ['PodDisruptionBudget', 'UnsatisfiablePodDisruptionBudget'];

export const budgetCauses: readonly string[] = [...oneBudgetCauses, 'MultiplePodDisruptionBudgets'];

function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

function objection(pod: Pod, stance: Stance): Obstacle {
  const why = consentsToEviction(pod, { ...stance.policies, emptyDirPods: 'Evict' })
    ? 'emptyDirPods'
    : 'unmanagedPods';
  return protectedFrom(
    why,
    `maintenance ${stance.maintenance.metadata.name} asks for ${why} ${stance.policies[why]}`,
  );
}

/** The shorter grace period that all agree on; `undefined`: the pod's own. */
export function commonGracePeriod(
  pod: Pod,
  evacuators: readonly Pick<Evacuator, 'stance'>[],
): number | undefined {
  const ceilings = evacuators.map(({ stance }) => stance.spec.drain.maxGracePeriodSeconds ?? Infinity);
  const ceiling = Math.max(...ceilings);
  const own = pod.spec.terminationGracePeriodSeconds ?? defaultGracePeriodSeconds;
  return ceiling < own ? ceiling : undefined;
}

// What the API server fills in; stored pods always have it.
const defaultGracePeriodSeconds = 30;
