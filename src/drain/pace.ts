import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { TokenBucket } from '../runtime/token-bucket.ts';

export interface EvictionPaceOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The rate that is never exceeded. */
  readonly ratePerSecond: number;
  readonly burst: number;
  /** The rate is this from now on; called with the first one, too. */
  readonly onRate: (ratePerSecond: number) => void;
}

/** A server that refuses even this much is asked again and again without harm. */
const lowestRate = 1;
/** From nothing to everything in 50 s. */
const recoveryStepMs = 5_000;
const recoveryShare = 0.1;

/**
 * How fast evictions and deletions are sent: as configured, and slower for a while after the API server has said that it
 * is overloaded (429 by priority and fairness). Halved by each overload, raised step by step, as TCP does it.
 */
export class EvictionPace {
  readonly #options: EvictionPaceOptions;
  readonly #bucket: TokenBucket;
  /** Answers to what was sent before the last slowdown had an effect do not count: monotonic milliseconds. */
  #slowedUntil = Number.NEGATIVE_INFINITY;
  #cancelRecovery: (() => void) | undefined;

  constructor(options: EvictionPaceOptions) {
    this.#options = options;
    this.#bucket = new TokenBucket(options);
    options.onRate(options.ratePerSecond);
  }

  get ratePerSecond(): number {
    return this.#bucket.ratePerSecond;
  }

  /** Resolves when one more may be sent. Rejects with the reason of `signal` when that is aborted first. */
  take(signal: AbortSignal): Promise<void> {
    return this.#bucket.take(signal);
  }

  /** The server refused a request because it has too much to do, and said when to come back. */
  overloaded(retryAfterSeconds: number): void {
    const { clock, logger, ratePerSecond: most } = this.#options;
    const now = clock.monotonic();
    if (now < this.#slowedUntil) return;
    const pauseMs = retryAfterSeconds * 1000;
    this.#slowedUntil = now + pauseMs;
    this.#bucket.pause(pauseMs);
    this.#setRate(Math.max(this.#bucket.ratePerSecond / 2, Math.min(lowestRate, most)));
    const { ratePerSecond } = this.#bucket;
    logger.warn('the API server is overloaded, evicting more slowly', { ratePerSecond, retryAfterSeconds });
    this.#recoverAfter(pauseMs + recoveryStepMs);
  }

  /** Ends the recovery. */
  stop(): void {
    this.#cancelRecovery?.();
  }

  #recoverAfter(delayMs: number): void {
    const { clock, logger, ratePerSecond: most } = this.#options;
    this.#cancelRecovery?.();
    this.#cancelRecovery = clock.after(delayMs, () => {
      this.#setRate(Math.min(most, this.#bucket.ratePerSecond + most * recoveryShare));
      if (this.#bucket.ratePerSecond < most) this.#recoverAfter(recoveryStepMs);
      else logger.info('evicting at the full rate again', { ratePerSecond: most });
    });
  }

  #setRate(ratePerSecond: number): void {
    this.#bucket.setRate(ratePerSecond);
    this.#options.onRate(ratePerSecond);
  }
}
