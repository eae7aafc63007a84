import type { MovingVolume } from '../api/types.generated.ts';
import type { Candidate, EvictionPlan } from '../drain/evictions.ts';
import { type Obstacle, slowDetach, slowStop, unknownVolumes } from '../drain/obstacles.ts';
import type { Pod } from '../kube/types.ts';
import { compareText } from '../runtime/compare.ts';
import {
  type Move,
  type Orphan,
  type PodVolumes,
  beginMove,
  driversOf,
  isPending,
  isUnderway,
  orphanSlowAt,
  slowAt,
} from './moves.ts';

export interface PaceInput {
  readonly candidates: readonly Candidate[];
  /** Decides about pods as if none of them had volumes. */
  readonly planEvictions: (candidates: readonly Candidate[]) => EvictionPlan;
  readonly pods: readonly Pod[];
  readonly volumesOf: (pod: Pod) => PodVolumes;
  /** All moves that status knows, as they stand now. */
  readonly moves: readonly Move[];
  readonly orphans: readonly Orphan[];
  /** The pod was asked to leave, and what came of it is not known or not seen yet. */
  readonly isAsked: (uid: string) => boolean;
  /** Nobody waits for the end of the pod any more: its node is silent. */
  readonly isAbandoned: (uid: string) => boolean;
  readonly maxConcurrent: number;
  /** Wall-clock milliseconds. */
  readonly now: number;
}

export interface PacedPlan extends EvictionPlan {
  /** For status. A pod is asked to leave only when status has its move already. */
  readonly moves: readonly Move[];
}

/**
 * Lets pods with volumes go at a pace: of each driver at most `maxConcurrent` are on the move, highest priority first.
 * Pods without volumes pass; a pod that cannot leave (its budget says no) holds no place.
 */
export function planAtPace(input: PaceInput): PacedPlan {
  const known = new Map<string, readonly MovingVolume[]>();
  const unknown = new Map<string, Obstacle>();
  for (const { pod } of input.candidates) {
    const volumes = input.volumesOf(pod);
    if (volumes.kind === 'known') known.set(pod.metadata.uid, volumes.volumes);
    else if (volumes.problem !== undefined) unknown.set(pod.metadata.uid, unknownVolumes(volumes.problem));
  }
  const lanes = new Lanes(input, known);
  let candidates = input.candidates.filter(({ pod }) => known.has(pod.metadata.uid));
  const obstacles = new Map(unknown);
  let placed: ReadonlySet<string> = new Set();
  for (;;) {
    const plan = input.planEvictions(candidates);
    const chosen = lanes.choose(
      [...plan.posts, ...plan.deletions].map(({ pod }) => pod),
      placed,
    );
    for (const [uid, obstacle] of plan.obstacles) obstacles.set(uid, obstacle);
    if (chosen.without.size === 0) return chosen.paced(plan, obstacles);
    for (const uid of chosen.without) {
      const slow = lanes.slowMove(known.get(uid) ?? []);
      if (slow) obstacles.set(uid, slow);
    }
    // Whoever has no place must not take up what the budget allows others. These others come after those who have one:
    // a place that was given back would not reach whoever was turned away for it.
    candidates = candidates.filter(({ pod }) => !chosen.without.has(pod.metadata.uid));
    placed = chosen.placed;
  }
}

class Lanes {
  readonly #input: PaceInput;
  readonly #known: ReadonlyMap<string, readonly MovingVolume[]>;
  /** In status, and not asked to leave yet, by UID of the pod. */
  readonly #announced: ReadonlyMap<string, Move>;
  readonly #lasting: readonly Move[];

  constructor(input: PaceInput, known: ReadonlyMap<string, readonly MovingVolume[]>) {
    const { moves, pods, isAsked } = input;
    const announced = moves.filter((move) => isPending(move, pods) && !isAsked(move.pod.uid));
    this.#input = input;
    this.#known = known;
    this.#announced = new Map(announced.map((move) => [move.pod.uid, move]));
    this.#lasting = moves.filter((move) => !announced.includes(move));
  }

  /** Gives the free places to those of `pods` that come first; those that are `placed` have theirs. */
  choose(pods: readonly Pod[], placed: ReadonlySet<string>) {
    const taken = this.#takenPlaces();
    const begun: Move[] = [];
    const without = new Set<string>();
    const unannounced = new Set<string>();
    for (const pod of pods.toSorted((a, b) => this.#compare(a, b, placed))) {
      const { uid } = pod.metadata;
      const volumes = this.#known.get(uid) ?? [];
      // An eviction whose answer got lost is tried again: the pod has its place already.
      if (volumes.length === 0 || this.#lasting.some((move) => move.pod.uid === uid)) continue;
      const drivers = driversOf(volumes);
      if (drivers.some((driver) => (taken.get(driver) ?? 0) >= this.#input.maxConcurrent)) {
        without.add(uid);
        continue;
      }
      take(taken, drivers);
      const announced = this.#announced.get(uid);
      if (!announced) unannounced.add(uid);
      begun.push(announced ?? beginMove(pod, volumes));
    }
    const moves = [...this.#lasting, ...begun].toSorted(compareMoves);
    const isReady = ({ pod }: { readonly pod: Pod }) => !unannounced.has(pod.metadata.uid);
    const paced = (plan: EvictionPlan, obstacles: ReadonlyMap<string, Obstacle>): PacedPlan => ({
      ...plan,
      posts: plan.posts.filter(isReady),
      deletions: plan.deletions.filter(isReady),
      obstacles,
      moves,
    });
    return { without, placed: new Set(begun.map((move) => move.pod.uid)), paced };
  }

  /** Why one of these volumes has to wait for long. */
  slowMove(volumes: readonly MovingVolume[]): Obstacle | undefined {
    const drivers = driversOf(volumes);
    const { now, orphans } = this.#input;
    const slow = this.#lasting.find(
      (move) =>
        (slowAt(move) ?? Infinity) <= now &&
        driversOf(move.volumes).some((driver) => drivers.includes(driver)),
    );
    if (!slow) {
      const orphan = orphans.find(
        (each) =>
          (orphanSlowAt(each) ?? Infinity) <= now && each.deadline > now && drivers.includes(each.driver),
      );
      return orphan && slowDetach(undefined, [orphan.persistentVolume]);
    }
    const names = slow.volumes.map(({ persistentVolume }) => persistentVolume);
    return slow.phase === 'Leaving' ? slowStop(podKey(slow.pod), names) : slowDetach(podKey(slow.pod), names);
  }

  #takenPlaces(): Map<string, number> {
    const { orphans, now, isAbandoned } = this.#input;
    const taken = new Map<string, number>();
    const awaited = this.#lasting.filter((move) => isUnderway(move) && !isAbandoned(move.pod.uid));
    for (const { volumes } of awaited) take(taken, driversOf(volumes));
    for (const { driver, deadline } of orphans) if (deadline > now) take(taken, [driver]);
    return taken;
  }

  /** Next those that were announced, so that an announcement is not taken back for another. */
  #compare(a: Pod, b: Pod, placed: ReadonlySet<string>): number {
    const firstOf = (uids: { has(uid: string): boolean }) =>
      Number(uids.has(b.metadata.uid)) - Number(uids.has(a.metadata.uid));
    const priority = (b.spec.priority ?? 0) - (a.spec.priority ?? 0);
    const order = firstOf(placed) || firstOf(this.#announced) || priority;
    return order || compareText(podKey(a.metadata), podKey(b.metadata));
  }
}

function take(places: Map<string, number>, drivers: readonly string[]): void {
  for (const driver of drivers) places.set(driver, (places.get(driver) ?? 0) + 1);
}

function compareMoves(a: Move, b: Move): number {
  return compareText(`${podKey(a.pod)} ${a.pod.uid}`, `${podKey(b.pod)} ${b.pod.uid}`);
}

function podKey({ namespace = '', name }: { readonly namespace?: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
