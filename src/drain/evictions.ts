import type { Pod, PodDisruptionBudget } from '../kube/types.ts';
import { budgetGate, budgetKey, isStale } from './budgets.ts';
import { isReady } from './filters.ts';
import type { Attempt, Claim, DrainMemory, Lane } from './memory.ts';
import { type Obstacle, heldByBudgets, obstacleOf } from './obstacles.ts';

/** A pod that has to leave and may be evicted: neither terminating nor protected. */
export interface Candidate {
  readonly pod: Pod;
  /** A shorter grace period than the pod's own, in seconds. */
  readonly gracePeriodSeconds: number | undefined;
  /** Every maintenance of the node agrees that the pod is deleted if its budget refuses it. */
  readonly mayBeDeleted: boolean;
  /** How long to wait after a refusal that no event will end. */
  readonly retryIntervalMs: number;
  /** Its budget refused it before: it counts as held up until its eviction is accepted, so that texts do not flap. */
  readonly heldUpBefore: boolean;
}

export interface Post {
  readonly pod: Pod;
  readonly gracePeriodSeconds: number | undefined;
  /** The budget under which it goes, and that is asked once more if it is a probe. */
  readonly lane: string | undefined;
  readonly probe: boolean;
  /** Read the pod first: the last attempt's fate is not known. */
  readonly readFirst: boolean;
  readonly retryIntervalMs: number;
  /** The budget's resourceVersion on which the decision rests. */
  readonly budgetVersion: string | undefined;
}

export interface Deletion {
  readonly pod: Pod;
  readonly gracePeriodSeconds: number | undefined;
  readonly retryIntervalMs: number;
}

export interface EvictionPlan {
  readonly posts: readonly Post[];
  readonly deletions: readonly Deletion[];
  /** Why pods cannot leave now, by UID. */
  readonly obstacles: ReadonlyMap<string, Obstacle>;
  /** What is left for each lane beside the posts. */
  readonly claims: ReadonlyMap<string, Claim>;
  /** Lanes whose next change matters to this node. */
  readonly waitsFor: ReadonlySet<string>;
  /** Monotonic milliseconds at which a retry is due. */
  readonly wakeAt: number | undefined;
}

export interface EvictionInput {
  readonly nodeName: string;
  /** Of the node's oldest maintenance that evacuates: of two nodes, the one with the lesser text goes first. */
  readonly age: string;
  /** In the order in which they go. */
  readonly candidates: readonly Candidate[];
  readonly budgetsOf: (pod: Pod) => readonly PodDisruptionBudget[];
  readonly memory: DrainMemory;
  /** Monotonic milliseconds. */
  readonly now: number;
}

/** Decides which pods are posted now, which are deleted, and why the others wait. */
export function planEvictions(input: EvictionInput): EvictionPlan {
  const round = new Round(input);
  for (const candidate of input.candidates) round.consider(candidate);
  return round.finish();
}

// Far longer than the disruption controller takes.
const unseenMs = 30_000;

interface LaneQueue {
  readonly budgets: readonly PodDisruptionBudget[];
  readonly candidates: Candidate[];
}

class Round {
  readonly #input: EvictionInput;
  readonly #posts: Post[] = [];
  readonly #deletions: Deletion[] = [];
  readonly #obstacles = new Map<string, Obstacle>();
  readonly #queues = new Map<string, LaneQueue>();
  readonly #claims = new Map<string, Claim>();
  #wakeAt: number | undefined;

  constructor(input: EvictionInput) {
    this.#input = input;
  }

  consider(candidate: Candidate): void {
    const { memory, now, budgetsOf } = this.#input;
    const { uid } = candidate.pod.metadata;
    if (memory.accepted.has(uid)) return;
    const underway = memory.inFlight.has(uid);
    const attempt = memory.attempts.get(uid);
    if (attempt?.notBefore !== undefined) {
      // Held up until an answer says otherwise: the text must not flap with every try.
      this.#obstacles.set(uid, obstacleOf(attempt.refusal));
      if (!underway && attempt.notBefore > now) this.#wake(attempt.notBefore);
      if (underway || attempt.notBefore > now) return;
    }
    const gate = budgetGate(candidate.pod, budgetsOf(candidate.pod));
    if (gate.kind === 'free') {
      if (!underway) this.#post(candidate, undefined, false);
    } else if (gate.kind === 'counted') this.#enqueue(budgetKey(gate.budget), [gate.budget], candidate);
    else this.#enqueue(gate.budgets.map(budgetKey).toSorted().join(' '), gate.budgets, candidate);
  }

  finish(): EvictionPlan {
    for (const [key, queue] of this.#queues) this.#serve(key, queue);
    return {
      posts: this.#posts,
      deletions: this.#deletions,
      obstacles: this.#obstacles,
      claims: this.#claims,
      waitsFor: new Set([...this.#queues].flatMap(([key, { budgets }]) => [key, ...budgets.map(budgetKey)])),
      wakeAt: this.#wakeAt,
    };
  }

  #serve(key: string, { budgets, candidates: queued }: LaneQueue): void {
    const { memory } = this.#input;
    const lane = memory.lane(key);
    const candidates = unreadyFirst(queued.filter(({ pod }) => !memory.inFlight.has(pod.metadata.uid)));
    const obstacle = heldByBudgets(
      budgets,
      candidates.map(({ pod }) => pod),
    );
    if (budgets.length === 1) this.#claim(key, candidates.length);
    const [budget] = budgets;
    const refusedBefore = budget === undefined || lane.refusedVersion === budget.metadata.resourceVersion;
    const open = budgets.length === 1 && !refusedBefore && !isStale(budget);
    const shown = open ? (budget.status?.disruptionsAllowed ?? 0) : 0;
    if (shown > 0) {
      this.#refuse(
        queued.filter(({ heldUpBefore }) => heldUpBefore),
        obstacle,
      );
      // Whoever has the lane wakes this node when the answers are there; so does the budget when it shows them.
      const taken = this.#unseen(lane) + this.#claimedByElders(lane);
      const allowed = lane.busy === undefined ? Math.max(0, shown - taken) : 0;
      const going = candidates.slice(0, allowed);
      for (const candidate of going) this.#post(candidate, key, false);
      this.#claim(key, candidates.length - going.length);
      return;
    }
    this.#refuse(queued, obstacle);
    if (lane.busy === undefined) this.#escalateOrProbe(key, candidates, refusedBefore);
  }

  /** Evictions to be counted beside the status; one that it never showed (a list came between) is let go in time. */
  #unseen({ unseen }: Readonly<Lane>): number {
    const ends = [...unseen.values()].map((at) => at + unseenMs).filter((end) => end > this.#input.now);
    for (const end of ends) this.#wake(end);
    return ends.length;
  }

  /** For the next plans of other nodes. */
  #claim(key: string, pods: number): void {
    if (pods > 0) this.#claims.set(key, { age: this.#input.age, pods });
    else this.#claims.delete(key);
  }

  /** What nodes have to post whose maintenance is older; they are woken by what wakes this node. */
  #claimedByElders({ claims }: Readonly<Lane>): number {
    const { nodeName, age } = this.#input;
    return [...claims]
      .filter(([name, claim]) => name !== nodeName && claim.age < age)
      .reduce((pods, [, claim]) => pods + claim.pods, 0);
  }

  /** At most one post in a closed lane: a proof that the budget refuses the pod itself, or a probe. */
  #escalateOrProbe(key: string, candidates: readonly Candidate[], refusedBefore: boolean): void {
    const { probe } = this.#input.memory.lane(key);
    const early = probe !== undefined && probe.nextAt > this.#input.now;
    let proof: Candidate | undefined;
    for (const candidate of candidates) {
      if (!candidate.mayBeDeleted) continue;
      const attempt = this.#attempt(candidate);
      // A budget that the server could not use is not a "no", and asked again at once it would say the same.
      const tooEarly = early && refusedBefore && attempt?.refusal.kind === 'budgetStale';
      if (isBudgetRefusal(attempt)) this.#deletions.push(candidate);
      else if (!tooEarly) proof ??= candidate;
    }
    if (proof) return this.#post(proof, key, true);
    if (early) return this.#wake(probe.nextAt);
    // A probe that finds the budget open again takes a disruption like any other.
    if (this.#claimedByElders(this.#input.memory.lane(key)) > 0) return;
    // Each pod in its turn: a budget may be closed for long, and no pod should collect refusals.
    const [longestUnasked] = candidates
      .filter((candidate) => !candidate.mayBeDeleted)
      .toSorted((a, b) => this.#askedAt(a) - this.#askedAt(b));
    if (longestUnasked) this.#post(longestUnasked, key, true);
  }

  #askedAt(candidate: Candidate): number {
    return this.#attempt(candidate)?.at ?? 0;
  }

  #refuse(candidates: readonly Candidate[], obstacle: Obstacle): void {
    for (const candidate of candidates) {
      // A webhook's "no" weighs more than the budget's: the pod is not deleted either. It is said until the next answer.
      const { refusal } = this.#attempt(candidate) ?? {};
      const own = refusal?.kind === 'admission' ? obstacleOf(refusal) : obstacle;
      this.#obstacles.set(candidate.pod.metadata.uid, own);
    }
  }

  #enqueue(key: string, budgets: readonly PodDisruptionBudget[], candidate: Candidate): void {
    const queue = this.#queues.get(key);
    if (queue) queue.candidates.push(candidate);
    else this.#queues.set(key, { budgets, candidates: [candidate] });
  }

  #post(candidate: Candidate, lane: string | undefined, probe: boolean): void {
    const { pod, gracePeriodSeconds, retryIntervalMs } = candidate;
    const readFirst = this.#attempt(candidate)?.uncertain ?? false;
    const budgets = lane === undefined ? [] : (this.#queues.get(lane)?.budgets ?? []);
    const budgetVersion = budgets.length === 1 ? budgets[0]?.metadata.resourceVersion : undefined;
    this.#posts.push({ pod, gracePeriodSeconds, lane, probe, readFirst, retryIntervalMs, budgetVersion });
  }

  #attempt({ pod }: Candidate): Attempt | undefined {
    return this.#input.memory.attempts.get(pod.metadata.uid);
  }

  #wake(at: number): void {
    this.#wakeAt = Math.min(this.#wakeAt ?? at, at);
  }
}

/** A pod that is not ready takes nothing from its budget, so the ready ones can stay a little longer. */
function unreadyFirst(candidates: readonly Candidate[]): Candidate[] {
  return candidates.toSorted((a, b) => Number(isReady(a.pod)) - Number(isReady(b.pod)));
}

/** A plain DELETE goes around webhooks too: only the server's own "no" of a budget may lead to one. */
function isBudgetRefusal(attempt: Attempt | undefined): boolean {
  return attempt?.refusal.kind === 'budget' || attempt?.refusal.kind === 'multipleBudgets';
}
