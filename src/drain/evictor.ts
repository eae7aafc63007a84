import type { Answer } from '../kube/answer.ts';
import type { Client } from '../kube/client.ts';
import { isEndOfTerm } from '../kube/guarded-client.ts';
import { InFlight } from '../kube/in-flight.ts';
import type { Pod } from '../kube/types.ts';
import type { Clock } from '../runtime/clock.ts';
import { lateAbort } from '../runtime/late-abort.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Deletion, Post } from './evictions.ts';
import type { Claim, LiveDrainMemory } from './memory.ts';
import type { EvictionPace } from './pace.ts';
import { permitPodDeletion } from './permissions.ts';
import { deleteOptions, evictionBody, evictionPath, podPath } from './requests.ts';

export interface EvictorOptions {
  readonly client: Client;
  readonly pace: EvictionPace;
  readonly clock: Clock;
  readonly memory: LiveDrainMemory;
  readonly logger: Logger;
  /** An answer of the eviction API, or of a deletion. */
  readonly onAnswer: (what: 'eviction' | 'deletion', kind: Answer['kind'], pod: Pod) => void;
  /** Whether the watch still shows this pod, and not terminating. */
  readonly isPresent: (pod: Pod) => boolean;
  /** Something changed for this node. */
  readonly wakeNode: (nodeName: string) => void;
  /** The lane is free again, or its budget was heard. */
  readonly wakeLane: (key: string) => void;
}

// The server itself retries for 10 s when evictions under one budget collide.
const evictionTimeoutMs = 60_000;
/**
 * An eviction that is cut off may have spent its budget and evicted nobody; the disruption controller takes two minutes
 * to give it back. So a process that stops lets those on the wire end, well before another one can hold the Lease.
 */
const endingMs = 2_000;
/**
 * On the wire at once. Each has a connection of its own while it runs; twice as many are no faster. With half as many, an
 * API server with little to spare does more of what evictions cause (replacements) before the last one is accepted. A
 * webhook that takes seconds keeps few others waiting, and none of the requests that are no evictions.
 */
const mostOnTheWire = 100;
// After no answer, or an answer that a look at the pod has to explain.
const lookAgainMs = 1_000;

/** What the latest plan of a node decided about its pods. */
export interface EvictorWork {
  readonly posts: readonly Post[];
  readonly deletions: readonly Deletion[];
  /** UIDs of all pods that may be asked to leave now, those that are underway included. */
  readonly mayLeave: ReadonlySet<string>;
  /** What the node has left for each lane beside the posts. */
  readonly claims: ReadonlyMap<string, Claim>;
}

/** Carries out what the plan decided about pods, and remembers the answers. Returns at once; work goes on behind. */
export class Evictor {
  readonly #options: EvictorOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #wire = new InFlight(mostOnTheWire);
  // By node, from the latest plan: what waits for its turn is not sent if an edit took it back meanwhile.
  readonly #mayLeave = new Map<string, ReadonlySet<string>>();

  constructor(options: EvictorOptions) {
    this.#options = options;
  }

  /** Starts the requests; whatever must not be asked twice is noted before this returns. */
  start(nodeName: string, work: EvictorWork, signal: AbortSignal): void {
    const { posts, deletions, mayLeave, claims } = work;
    const { memory, wakeLane } = this.#options;
    if (mayLeave.size > 0) this.#mayLeave.set(nodeName, mayLeave);
    else this.#mayLeave.delete(nodeName);
    const lanes = new Map<string, Post[]>();
    for (const post of posts) {
      memory.inFlight.add(post.pod.metadata.uid);
      if (post.lane === undefined) this.#track(signal, this.#evictAlone(nodeName, post, signal));
      else lanes.set(post.lane, [...(lanes.get(post.lane) ?? []), post]);
    }
    for (const [key, queue] of lanes) {
      memory.lane(key).busy = nodeName;
      this.#track(signal, this.#evictInTurn(nodeName, key, queue, signal));
    }
    for (const deletion of deletions) {
      memory.inFlight.add(deletion.pod.metadata.uid);
      this.#track(signal, this.#delete(nodeName, deletion, signal));
    }
    // A younger node may have stood back for what is not asked for any more; a busy lane wakes it in the end anyhow.
    for (const key of memory.claim(nodeName, claims)) {
      if (memory.lane(key).busy === undefined) wakeLane(key);
    }
  }

  /** Resolves when nothing is on the wire any more. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #evictAlone(nodeName: string, post: Post, signal: AbortSignal): Promise<void> {
    try {
      await this.#evict(nodeName, post, signal);
    } finally {
      this.#options.memory.inFlight.delete(post.pod.metadata.uid);
      this.#options.wakeNode(nodeName);
    }
  }

  /** Evictions under one budget collide in the server if they are sent at the same time. */
  async #evictInTurn(
    nodeName: string,
    key: string,
    posts: readonly Post[],
    signal: AbortSignal,
  ): Promise<void> {
    const { memory, wakeNode, wakeLane } = this.#options;
    try {
      for (const post of posts) {
        if ((await this.#evict(nodeName, post, signal)) === 'closed') break;
      }
    } finally {
      for (const { pod } of posts) memory.inFlight.delete(pod.metadata.uid);
      memory.lane(key).busy = undefined;
      wakeNode(nodeName);
      wakeLane(key);
    }
  }

  async #evict(nodeName: string, post: Post, signal: AbortSignal): Promise<'open' | 'closed'> {
    const { pod } = post;
    const answer = await this.#inTurn(signal, () => this.#post(nodeName, post, signal));
    if (answer === undefined) return 'open';
    this.#options.onAnswer('eviction', answer.kind, pod);
    this.#log('eviction', nodeName, pod, answer);
    if (answer.kind !== 'ok' && answer.kind !== 'notFound') this.#options.memory.unreserve(pod.metadata.uid);
    return this.#learn(post, answer, signal);
  }

  /** `undefined`: there was no reason to ask any more. */
  async #post(nodeName: string, post: Post, signal: AbortSignal): Promise<Answer | undefined> {
    const { client, clock, memory } = this.#options;
    const { pod, lane } = post;
    if (post.readFirst && (await this.#hasLeft(pod, signal))) return undefined;
    if (!this.#isStillDue(nodeName, pod)) return undefined;
    if (lane !== undefined) memory.reserve(lane, pod, clock.monotonic());
    signal.throwIfAborted();
    const ending = lateAbort(signal, clock, endingMs);
    return client
      .create<unknown>(evictionPath(pod), evictionBody(post), {
        signal: ending.signal,
        timeoutMs: evictionTimeoutMs,
      })
      .finally(ending.done);
  }

  async #delete(nodeName: string, deletion: Deletion, signal: AbortSignal): Promise<void> {
    const { client, memory } = this.#options;
    const { pod, gracePeriodSeconds, retryIntervalMs } = deletion;
    try {
      const answer = await this.#inTurn(signal, async () =>
        this.#isStillDue(nodeName, pod)
          ? client.delete<unknown>(podPath(pod), deleteOptions(pod, gracePeriodSeconds), { signal })
          : undefined,
      );
      if (answer === undefined) return;
      this.#options.onAnswer('deletion', answer.kind, pod);
      this.#log('deletion', nodeName, pod, answer);
      // The ClusterRole may say less than the flags.
      const told =
        answer.kind === 'forbidden'
          ? { ...answer, message: `${answer.message}; ${permitPodDeletion}` }
          : answer;
      await this.#learn({ pod, retryIntervalMs, lane: undefined, budgetVersion: undefined }, told, signal);
    } finally {
      memory.inFlight.delete(pod.metadata.uid);
      this.#options.wakeNode(nodeName);
    }
  }

  /** Waits for a place on the wire, and then for the rate: who has both goes out in this moment, and in no pause. */
  async #inTurn<T>(signal: AbortSignal, request: () => Promise<T>): Promise<T> {
    await this.#wire.enter(signal);
    try {
      await this.#options.pace.take(signal);
      return await request();
    } finally {
      this.#wire.leave();
    }
  }

  /** What happened since the plan counts: a pod that is terminating, or that nobody wants to leave now, is let be. */
  #isStillDue(nodeName: string, pod: Pod): boolean {
    const wanted = this.#mayLeave.get(nodeName)?.has(pod.metadata.uid) ?? false;
    return wanted && this.#options.isPresent(pod);
  }

  /** `closed`: the budget says no, so the others of its lane need not ask. */
  async #learn(
    post: Pick<Post, 'pod' | 'lane' | 'retryIntervalMs' | 'budgetVersion'>,
    answer: Answer,
    signal: AbortSignal,
  ): Promise<'open' | 'closed'> {
    const { memory, clock, isPresent, pace } = this.#options;
    const { pod, lane, retryIntervalMs } = post;
    const { uid } = pod.metadata;
    const at = clock.monotonic();
    const retryAt = (delayMs: number | undefined, uncertain = false) => {
      if (answer.kind === 'ok') return;
      const notBefore = delayMs === undefined ? undefined : at + delayMs;
      memory.attempts.set(uid, { refusal: answer, at, notBefore, uncertain });
    };
    switch (answer.kind) {
      case 'ok':
      case 'notFound':
        memory.attempts.delete(uid);
        if (isPresent(pod)) memory.accepted.add(uid);
        return 'open';
      case 'conflict':
        if (!(await this.#hasLeft(pod, signal))) retryAt(lookAgainMs);
        return 'open';
      case 'budget':
      case 'budgetStale':
      case 'multipleBudgets':
        if (lane === undefined) {
          // A budget that the watch has not shown yet.
          retryAt(answer.kind === 'multipleBudgets' ? retryIntervalMs : lookAgainMs);
          return 'open';
        }
        retryAt(undefined);
        memory.lane(lane).refusedVersion = post.budgetVersion;
        memory.postponeProbe(lane, at, retryIntervalMs);
        return 'closed';
      case 'throttled':
        pace.overloaded(answer.retryAfterSeconds);
        retryAt(Math.max(answer.retryAfterSeconds * 1000, lookAgainMs));
        return 'open';
      case 'network':
        retryAt(lookAgainMs, true);
        return 'open';
      case 'serverError':
        retryAt(retryIntervalMs, true);
        return 'open';
      case 'admission':
      case 'namespaceTerminating':
      case 'forbidden':
      case 'invalid':
      case 'expired':
      case 'notServed':
        retryAt(retryIntervalMs);
        return 'open';
    }
  }

  /** Only a look at the API server tells: this pod is terminating, gone, or another one has its name. */
  async #hasLeft(pod: Pod, signal: AbortSignal): Promise<boolean> {
    const { client, memory, clock, isPresent } = this.#options;
    const { uid } = pod.metadata;
    const answer = await client.get<Pod>(podPath(pod), { signal });
    if (answer.kind === 'ok') {
      const { metadata } = answer.object;
      if (metadata.uid === uid && metadata.deletionTimestamp === undefined) return false;
    } else if (answer.kind !== 'notFound') {
      memory.attempts.set(uid, {
        refusal: answer,
        at: clock.monotonic(),
        notBefore: clock.monotonic() + lookAgainMs,
        uncertain: true,
      });
      return true;
    }
    memory.attempts.delete(uid);
    if (isPresent(pod)) memory.accepted.add(uid);
    return true;
  }

  #log(what: 'eviction' | 'deletion', node: string, pod: Pod, answer: Answer): void {
    const fields = {
      node,
      pod: `${pod.metadata.namespace ?? ''}/${pod.metadata.name}`,
      uid: pod.metadata.uid,
    };
    if (answer.kind === 'ok') this.#options.logger.info(`${what} accepted`, fields);
    else
      this.#options.logger.info(`${what} not accepted`, {
        ...fields,
        cause: answer.kind,
        answer: answer.message,
      });
  }

  #track(signal: AbortSignal, work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => {
        if (!isEndOfTerm(error, signal)) this.#options.logger.error('evicting failed', { error });
      })
      .finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }
}
