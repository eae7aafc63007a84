import { backoffMs } from './backoff.ts';
import type { Clock } from './clock.ts';
import { DelayQueue } from './delay-queue.ts';

/** Called as things happen; all are optional. Times are in seconds, as metrics want them. */
export interface WorkQueueMetrics {
  /** Keys that wait for a free handler, after every change. */
  readonly depth?: (keys: number) => void;
  /** A handler begins; `latencySeconds` since the key was added or its delay ended. */
  readonly started?: (latencySeconds: number) => void;
  readonly finished?: (seconds: number, outcome: 'ok' | 'error') => void;
}

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** Numbers from 0 up to 1, as Math.random. */
  readonly random: () => number;
  /** How many keys are handled at the same time. */
  readonly concurrency: number;
  /** Does the work of one key. `signal` is aborted by stop(). */
  readonly handle: (key: string, signal: AbortSignal) => Promise<void>;
  /** A handler threw; the key is tried again in `retryMs` milliseconds. */
  readonly onError: (key: string, error: unknown, retryMs: number) => void;
  /** Back-off of a key whose handler throws: 5 ms, doubling up to a minute unless given. */
  readonly baseDelayMs?: number;
  readonly maxDelayMs?: number;
  readonly metrics?: WorkQueueMetrics;
}

/**
 * A queue of keys with the rules of client-go's work queue: a key waits once however often it is added, is never
 * handled twice at the same time, and is handled once more when it was added meanwhile. First come, first served. A
 * handler that throws is tried again with a back-off of its own and holds up nobody else.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  // Key -> time it was added (monotonic milliseconds); the Map keeps the order of adding.
  readonly #waiting = new Map<string, number>();
  readonly #addedMeanwhile = new Map<string, number>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #failures = new Map<string, number>();
  readonly #delayed = new DelayQueue();
  readonly #abort = new AbortController();
  #timer: { readonly dueMs: number; readonly cancel: () => void } | undefined;
  #startScheduled = false;

  constructor(options: WorkQueueOptions) {
    if (!Number.isInteger(options.concurrency) || options.concurrency < 1) {
      throw new RangeError(`concurrency must be a whole number of at least 1, not ${options.concurrency}`);
    }
    this.#options = options;
  }

  /** Keys that wait for a free handler. */
  get depth(): number {
    return this.#waiting.size;
  }

  /** Keys whose time has not come. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /** Keys that are being handled. */
  get running(): number {
    return this.#running.size;
  }

  /** Handles `key` as soon as possible. A delay that was asked for before still ends in its time. */
  add(key: string): void {
    if (this.#abort.signal.aborted) return;
    const now = this.#options.clock.monotonic();
    if (this.#running.has(key)) {
      if (!this.#addedMeanwhile.has(key)) this.#addedMeanwhile.set(key, now);
      return;
    }
    if (this.#waiting.has(key)) return;
    this.#waiting.set(key, now);
    this.#options.metrics?.depth?.(this.#waiting.size);
    this.#startSoon();
  }

  /** Adds `key` in `delayMs` milliseconds. Of several times only the earliest counts. */
  addAfter(key: string, delayMs: number): void {
    if (this.#abort.signal.aborted) return;
    // Also a delay that is not a number: too early does no harm, never would.
    if (!(delayMs > 0)) {
      this.add(key);
      return;
    }
    this.#delayed.set(key, this.#options.clock.monotonic() + delayMs);
    this.#armTimer();
  }

  /** Forgets the failures of `key`: its next back-off is the shortest again. A handler that succeeds does the same. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /**
   * Starts nothing more, aborts the signal of the running handlers and resolves when they have ended. What waits is
   * dropped, later calls of add are ignored.
   */
  async stop(): Promise<void> {
    this.#abort.abort();
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#delayed.clear();
    this.#addedMeanwhile.clear();
    this.#waiting.clear();
    this.#options.metrics?.depth?.(0);
    await Promise.allSettled(this.#running.values());
  }

  // Not within add(): a caller that adds many keys in one go would otherwise run handlers in its midst.
  #startSoon(): void {
    if (this.#startScheduled) return;
    this.#startScheduled = true;
    queueMicrotask(() => {
      this.#startScheduled = false;
      this.#startWaiting();
    });
  }

  #startWaiting(): void {
    for (const [key, addedMs] of this.#waiting) {
      if (this.#running.size >= this.#options.concurrency) return;
      this.#waiting.delete(key);
      this.#running.set(key, this.#run(key, addedMs));
      this.#options.metrics?.depth?.(this.#waiting.size);
    }
  }

  async #run(key: string, addedMs: number): Promise<void> {
    const { clock, handle, metrics } = this.#options;
    const { signal } = this.#abort;
    const startMs = clock.monotonic();
    metrics?.started?.((startMs - addedMs) / 1000);
    let failure: { readonly error: unknown } | undefined;
    try {
      // Behind a promise, so that #running knows the key before the handler can do anything.
      await Promise.resolve();
      if (!signal.aborted) await handle(key, signal);
      this.#failures.delete(key);
    } catch (error) {
      failure = { error };
    }
    this.#running.delete(key);
    this.#addAgain(key);
    this.#startSoon();
    metrics?.finished?.((clock.monotonic() - startMs) / 1000, failure === undefined ? 'ok' : 'error');
    if (failure !== undefined) this.#fail(key, failure.error);
  }

  #addAgain(key: string): void {
    const addedMs = this.#addedMeanwhile.get(key);
    if (addedMs === undefined) return;
    this.#addedMeanwhile.delete(key);
    this.#waiting.set(key, addedMs);
    this.#options.metrics?.depth?.(this.#waiting.size);
  }

  #fail(key: string, error: unknown): void {
    // A handler that ends because it was told to has not failed.
    if (this.#abort.signal.aborted && isAbort(error, this.#abort.signal)) return;
    const failures = (this.#failures.get(key) ?? 0) + 1;
    const { baseDelayMs = 5, maxDelayMs = 60_000, random, onError } = this.#options;
    const retryMs = backoffMs(failures, { baseMs: baseDelayMs, maxMs: maxDelayMs }, random);
    if (!this.#abort.signal.aborted) {
      this.#failures.set(key, failures);
      this.addAfter(key, retryMs);
    }
    onError(key, error, retryMs);
  }

  // One timer for all keys, for the earliest time.
  #armTimer(): void {
    const dueMs = this.#delayed.nextDueMs;
    if (dueMs === undefined || (this.#timer !== undefined && this.#timer.dueMs <= dueMs)) return;
    this.#timer?.cancel();
    const cancel = this.#options.clock.after(dueMs - this.#options.clock.monotonic(), () => {
      this.#timer = undefined;
      const now = this.#options.clock.monotonic();
      for (let key = this.#delayed.takeDue(now); key !== undefined; key = this.#delayed.takeDue(now)) {
        this.add(key);
      }
      this.#armTimer();
    });
    this.#timer = { dueMs, cancel };
  }
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  return error === signal.reason || (error instanceof Error && error.name === 'AbortError');
}
