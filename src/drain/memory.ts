import type { Refusal } from '../kube/answer.ts';
import type { Pod, PodDisruptionBudget } from '../kube/types.ts';
import { budgetKey } from './budgets.ts';

/** The last answer to an eviction of one pod. Times are monotonic milliseconds. */
export interface Attempt {
  readonly refusal: Refusal;
  readonly at: number;
  /** Not to be posted again before; `undefined` where the budget's own state decides. */
  readonly notBefore: number | undefined;
  /** Whether it took effect is not known: the pod is read before it is posted again. */
  readonly uncertain: boolean;
}

/** What is remembered of one budget, or of one combination of budgets. */
export interface Lane {
  /** The node whose evictions go through the lane now; evictions under one budget go one after another. */
  busy: string | undefined;
  /** Evictions that the budget's status does not show yet: pod name to the monotonic time at which it was asked. */
  readonly unseen: Map<string, number>;
  /** The resourceVersion at which the server refused although the status looked open. */
  refusedVersion: string | undefined;
  probe: { readonly nextAt: number; readonly intervalMs: number } | undefined;
  /** Nodes that have pods to post as soon as the lane lets them. */
  readonly claims: Map<string, Claim>;
}

/** What a node has left for a lane. */
export interface Claim {
  /** Of its oldest maintenance that evacuates; the least text is the oldest. */
  readonly age: string;
  readonly pods: number;
}

/** What a restart may forget: it only makes the drain slower, never wrong. */
export interface DrainMemory {
  readonly attempts: ReadonlyMap<string, Attempt>;
  /** UIDs whose eviction or deletion is on the wire. */
  readonly inFlight: ReadonlySet<string>;
  /** UIDs whose eviction or deletion was accepted, until the watch shows them terminating or gone. */
  readonly accepted: ReadonlySet<string>;
  lane(key: string): Readonly<Lane>;
}

const longestProbeIntervalMs = 600_000;

/** Of a combination of budgets, whose keys it names. */
const isOfSeveral = (key: string): boolean => key.includes(' ');

/** Nothing would be forgotten with it. */
const isIdle = ({ busy, unseen, refusedVersion, probe, claims }: Lane): boolean =>
  busy === undefined &&
  refusedVersion === undefined &&
  probe === undefined &&
  unseen.size === 0 &&
  claims.size === 0;

export class LiveDrainMemory implements DrainMemory {
  readonly attempts = new Map<string, Attempt>();
  readonly inFlight = new Set<string>();
  readonly accepted = new Set<string>();
  readonly #lanes = new Map<string, Lane>();
  readonly #reserved = new Map<string, { readonly key: string; readonly name: string }>();

  /** How many lanes are remembered. */
  get lanes(): number {
    return this.#lanes.size;
  }

  lane(key: string): Lane {
    let lane = this.#lanes.get(key);
    if (!lane) {
      lane = {
        busy: undefined,
        unseen: new Map(),
        refusedVersion: undefined,
        probe: undefined,
        claims: new Map(),
      };
      this.#lanes.set(key, lane);
    }
    return lane;
  }

  /** To be called for each change of a budget: evictions that its status accounts for are no longer counted apart. */
  budgetChanged(budget: PodDisruptionBudget): void {
    const lane = this.#lanes.get(budgetKey(budget));
    if (!lane) return;
    if (lane.refusedVersion !== budget.metadata.resourceVersion) lane.refusedVersion = undefined;
    for (const name of Object.keys(budget.status?.disruptedPods ?? {})) lane.unseen.delete(name);
    if ((budget.status?.disruptionsAllowed ?? 0) > 0) lane.probe = undefined;
  }

  budgetGone(budget: PodDisruptionBudget): void {
    const gone = budgetKey(budget);
    this.#lanes.delete(gone);
    for (const key of this.#lanes.keys())
      if (isOfSeveral(key) && key.split(' ').includes(gone)) this.#lanes.delete(key);
  }

  /** Budgets are not watched any more: what they are like when they are watched again is another matter. */
  budgetsUnwatched(): void {
    for (const [key, lane] of this.#lanes) if (lane.busy === undefined) this.#lanes.delete(key);
  }

  /** A budget's "no" postpones the next probe of it: first by the interval, then by twice as much each time. */
  postponeProbe(key: string, now: number, intervalMs: number): void {
    const lane = this.lane(key);
    const next = lane.probe ? Math.min(lane.probe.intervalMs * 2, longestProbeIntervalMs) : intervalMs;
    const wait = Math.max(next, intervalMs);
    lane.probe = { nextAt: now + wait, intervalMs: wait };
  }

  /** The disruption is counted from the moment at which it is asked for: its budget's change may come before the answer. */
  reserve(key: string, pod: Pod, now: number): void {
    this.lane(key).unseen.set(pod.metadata.name, now);
    this.#reserved.set(pod.metadata.uid, { key, name: pod.metadata.name });
  }

  /** Replaces what a node claims; returns the lanes in which it leaves more to others than before. */
  claim(nodeName: string, claims: ReadonlyMap<string, Claim>): string[] {
    const eased: string[] = [];
    for (const [key, lane] of this.#lanes) {
      const before = lane.claims.get(nodeName)?.pods ?? 0;
      if (before > (claims.get(key)?.pods ?? 0)) eased.push(key);
      lane.claims.delete(nodeName);
      if (isIdle(lane)) this.#lanes.delete(key);
    }
    for (const [key, claim] of claims) this.lane(key).claims.set(nodeName, claim);
    return eased;
  }

  /** The server did not allow the disruption, or its budget accounts for it because the pod is gone. */
  unreserve(uid: string): void {
    const reserved = this.#reserved.get(uid);
    if (reserved) this.#lanes.get(reserved.key)?.unseen.delete(reserved.name);
    this.#reserved.delete(uid);
  }

  /** The watch shows the pod terminating: nothing is asked for it any more. */
  podTerminates(uid: string): void {
    this.attempts.delete(uid);
    this.accepted.delete(uid);
  }

  podGone(uid: string): void {
    this.podTerminates(uid);
    this.unreserve(uid);
  }
}
