import { type Evacuation, type Evacuator, planEvacuation } from './evacuation.ts';
import type { Node, Pod } from '../kube/types.ts';
import { listBlockers, remainingBlockers } from './blockers.ts';
import { advanceDrainClock } from './drain-clock.ts';
import { type PodView, viewPods } from './pods.ts';
import { isReleasingAll, staysPut } from './order.ts';
import { keepsReturning } from './returns.ts';
import type { Plan, Snapshot, Tally } from './snapshot.ts';
import type { Stance } from './stance.ts';
import type { DrainFacts } from './status.ts';
import { noRestarts } from './restarts.ts';
import { givesUp } from './unsatisfiable.ts';
import { findLeftovers, followVolumes } from './volumes.ts';
import { orphanSlowAt, slowAt } from '../volumes/moves.ts';

type DrainActions = Pick<
  Plan,
  | 'posts'
  | 'restarts'
  | 'deletions'
  | 'mayLeave'
  | 'claims'
  | 'undecided'
  | 'watchPods'
  | 'moves'
  | 'waitsFor'
  | 'tallies'
  | 'carriers'
  | 'heldUpSince'
>;

/** The part of a plan that is about pods. */
export interface DrainPart {
  readonly facts: ReadonlyMap<Stance, DrainFacts>;
  /** What to do; nothing is evicted from a node that is not cordoned yet, and nothing before it is counted. */
  readonly actions: (cordoned: boolean) => DrainActions;
  /** Pods that still have to leave for a maintenance; `undefined`: not known. */
  readonly remaining: (stance: Stance) => number | undefined;
  /** Wall-clock milliseconds. */
  readonly wakeAt: readonly (number | undefined)[];
  readonly wakeAtMonotonic: number | undefined;
}

const nothing: DrainActions = {
  posts: [],
  deletions: [],
  restarts: noRestarts,
  mayLeave: new Set(),
  claims: new Map(),
  undecided: undefined,
  watchPods: false,
  moves: [],
  waitsFor: new Set(),
  tallies: new Map(),
  carriers: undefined,
  heldUpSince: new Map(),
};

export const noDrain: DrainPart = {
  facts: new Map(),
  actions: () => nothing,
  remaining: () => undefined,
  wakeAt: [],
  wakeAtMonotonic: undefined,
};

/**
 * `stances` evacuate the node; `silent` ones have not begun and evict nothing, but their protections count.
 */
export function planDrain(
  seen: Snapshot,
  node: Node,
  stances: readonly Stance[],
  silent: readonly Stance[],
): DrainPart {
  const snapshot = { ...seen, pods: seen.pods?.filter((pod) => !isReleasingAll(pod, seen.self)) };
  const { pods, now, daemonSetExists } = snapshot;
  if (pods === undefined) return { ...noDrain, actions: () => ({ ...nothing, watchPods: true }) };
  const whyAbandoned = (pod: Pod) => {
    if (keepsReturning(snapshot, pod)) return 'returns';
    return staysPut(snapshot, pod) ? 'ownPod' : undefined;
  };
  const view = (stance: Stance) => viewPods(stance, pods, node, daemonSetExists, now, whyAbandoned);
  const active = stances.map((stance) => evacuator(snapshot, stance, view(stance), node));
  const all = [...active, ...silent.map((stance) => evacuator(snapshot, stance, view(stance), node))];
  const volumes = followVolumes(snapshot, node, pods, active);
  const evacuation = planEvacuation(snapshot, all, volumes);
  const lists = active.map((each) => ({ each, ...blockersOf(snapshot, node, all, each, evacuation) }));
  const tallies = new Map(
    active.map((each) => [each.stance.maintenance.metadata.uid, tallyOf(snapshot, each)] as const),
  );
  const facts = new Map(
    lists.map(({ each, blockers }) => {
      const tally = tallies.get(each.stance.maintenance.metadata.uid);
      const { moves } = evacuation;
      const orphans = volumes.orphans.filter(({ since, deadline }) => since !== undefined && deadline > now);
      const leftovers = findLeftovers(each, volumes);
      const gone = tally ? goneCount(snapshot, tally) : 0;
      return [each.stance, { ...each, blockers, gone, moves, orphans, leftovers }] as const;
    }),
  );
  // A process that took over now could not know who had left before it came.
  const counted = active.every(({ stance }) => sameNodeStatus(stance, snapshot)?.pods !== undefined);
  return {
    facts,
    actions: (cordoned) => ({
      posts: cordoned && counted ? evacuation.posts : [],
      deletions: cordoned && counted ? evacuation.deletions : [],
      mayLeave: cordoned ? evacuation.mayLeave : new Set(),
      claims: cordoned && counted ? evacuation.claims : new Map(),
      undecided: cordoned && counted ? evacuation.undecided : undefined,
      restarts: { ...evacuation.restarts, ...(cordoned && counted ? {} : { looks: [] }) },
      watchPods: true,
      moves: evacuation.moves,
      waitsFor: evacuation.waitsFor,
      tallies,
      carriers: volumes.carriers,
      heldUpSince: rememberBlockers(lists.flatMap(({ blockers }) => blockers)),
    }),
    remaining: (stance) => facts.get(stance)?.view.remaining.length,
    wakeAt: [
      evacuation.nextDeletionAt,
      ...active.flatMap(({ clock, view: { nextAbandonedAt } }) => [clock.deadline, nextAbandonedAt]),
      ...lists.map(({ nextStuckAt }) => nextStuckAt),
      ...evacuation.moves.flatMap((move) => [move.deadline, slowAt(move)]),
      ...volumes.orphans.flatMap((orphan) => [orphan.deadline, orphanSlowAt(orphan)]),
      ...[...facts.values()].map(({ leftovers }) => leftovers.nextAt),
    ],
    wakeAtMonotonic: evacuation.wakeAt,
  };
}

function evacuator(snapshot: Snapshot, stance: Stance, view: PodView, node: Node): Evacuator {
  const { status } = stance.maintenance;
  const clock = advanceDrainClock({
    // The times of another node of the same name say nothing about this one.
    previous: status?.node?.uid === node.metadata.uid ? status.drain : undefined,
    allowed: !stance.spec.suspend && stance.refused === undefined,
    empty: view.remaining.length === 0,
    specHash: stance.specHash,
    timeouts: stance.spec.drain,
    givesUp: givesUp(snapshot, stance, view),
    now: snapshot.now,
  });
  return { stance, view, clock: withoutCounts(clock) };
}

/** `previous` may be a whole status.drain; only its times are handed on. */
function withoutCounts(clock: Evacuator['clock']): Evacuator['clock'] {
  const { startTime, activeSeconds, completionTime, failure } = clock.times;
  const times = {
    ...(startTime === undefined ? {} : { startTime }),
    ...(activeSeconds === undefined ? {} : { activeSeconds }),
    ...(completionTime === undefined ? {} : { completionTime }),
    ...(failure === undefined ? {} : { failure }),
  };
  return { ...clock, times };
}

function blockersOf(
  snapshot: Snapshot,
  node: Node,
  evacuators: readonly Evacuator[],
  each: Evacuator,
  evacuation: Evacuation,
) {
  if (each.clock.active) return listBlockers(snapshot, node, evacuators, each, evacuation);
  const previous = each.clock.times.failure ? (each.stance.maintenance.status?.blockers ?? []) : [];
  return { blockers: remainingBlockers(previous, each.view.remaining), nextStuckAt: undefined };
}

/** Who had to leave: seen by this process, or counted in status by the one before. */
function tallyOf(snapshot: Snapshot, { stance, view }: Evacuator): Tally {
  const { uid } = stance.maintenance.metadata;
  const before = snapshot.memory.tallies.get(uid);
  const remaining = view.remaining.map((pod) => pod.metadata.uid);
  if (before?.nodeUid === snapshot.node?.metadata.uid && before) {
    return { ...before, uids: new Set([...before.uids, ...remaining]) };
  }
  const counted = sameNodeStatus(stance, snapshot)?.pods;
  const goneBefore = counted ? Math.max(counted.gone, counted.total - remaining.length) : 0;
  return { nodeUid: snapshot.node?.metadata.uid ?? '', goneBefore, uids: new Set(remaining) };
}

function goneCount(snapshot: Snapshot, tally: Tally): number {
  const here = new Set((snapshot.pods ?? []).map((pod) => pod.metadata.uid));
  return tally.goneBefore + [...tally.uids].filter((uid) => !here.has(uid)).length;
}

function sameNodeStatus(stance: Stance, snapshot: Snapshot) {
  const { status } = stance.maintenance;
  return status?.node?.uid === snapshot.node?.metadata.uid ? status?.drain : undefined;
}

function rememberBlockers(blockers: readonly DrainFacts['blockers'][number][]): ReadonlyMap<string, number> {
  return new Map(blockers.map(({ pod, cause, since }) => [`${pod.uid ?? ''} ${cause}`, Date.parse(since)]));
}
