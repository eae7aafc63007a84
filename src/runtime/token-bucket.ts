import type { Clock } from './clock.ts';
import { WaitingLine } from './waiting-line.ts';

export interface TokenBucketOptions {
  readonly clock: Clock;
  readonly ratePerSecond: number;
  /** The most tokens that are saved up; the bucket begins full. */
  readonly burst: number;
}

// Sums of fractions come out a little short; without this a waiter could be told to wait for no time at all, for ever.
const rounding = 1e-9;

/**
 * Grants at most `burst` + rate * t tokens in any t seconds, in the order they were asked for. Tokens follow from the
 * time that has passed, not from timers: a late timer delays a grant and loses none (a burst of 1 has no room to make
 * up for it, and stays below its rate by that much).
 */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #waiters = new WaitingLine();
  #ratePerSecond: number;
  #tokens: number;
  #countedMs: number;
  #cancelTimer: (() => void) | undefined;

  constructor(options: TokenBucketOptions) {
    if (!(options.burst >= 1)) throw new RangeError(`burst must be at least 1, not ${options.burst}`);
    this.#ratePerSecond = checkedRate(options.ratePerSecond);
    this.#clock = options.clock;
    this.#burst = options.burst;
    this.#tokens = options.burst;
    this.#countedMs = options.clock.monotonic();
  }

  /** Callers that wait for a token. */
  get waiting(): number {
    return this.#waiters.length;
  }

  get ratePerSecond(): number {
    return this.#ratePerSecond;
  }

  /** Resolves when a token was taken. Rejects with the reason of `signal` when that is aborted first. */
  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.tryTake()) return;
    const granted = this.#waiters.wait(signal);
    this.#arm();
    try {
      await granted;
    } finally {
      if (this.#waiters.length === 0) this.#disarm();
    }
  }

  /** Takes a token if there is one that nobody waits for. */
  tryTake(): boolean {
    this.#count();
    if (this.#waiters.length > 0 || this.#tokens < 1 - rounding) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Changes the rate from now on, tokens a second; what was saved up stays. */
  setRate(ratePerSecond: number): void {
    this.#count();
    this.#ratePerSecond = checkedRate(ratePerSecond);
    this.#disarm();
    this.#arm();
  }

  /** Grants nothing for so long; what was saved up is lost. */
  pause(ms: number): void {
    this.#count();
    this.#tokens = 0;
    this.#countedMs = Math.max(this.#countedMs, this.#clock.monotonic() + ms);
    this.#disarm();
    this.#arm();
  }

  #count(): void {
    const now = this.#clock.monotonic();
    // In a pause it lies ahead.
    if (now < this.#countedMs) return;
    this.#tokens = Math.min(
      this.#burst,
      this.#tokens + ((now - this.#countedMs) / 1000) * this.#ratePerSecond,
    );
    this.#countedMs = now;
  }

  #arm(): void {
    if (this.#cancelTimer !== undefined || this.#waiters.length === 0) return;
    // Whole milliseconds, upwards: timers cut fractions off and would come too early.
    const pausedMs = Math.max(0, this.#countedMs - this.#clock.monotonic());
    const delayMs = Math.max(1, Math.ceil(pausedMs + ((1 - this.#tokens) / this.#ratePerSecond) * 1000));
    this.#cancelTimer = this.#clock.after(delayMs, () => {
      this.#cancelTimer = undefined;
      this.#grantWaiters();
      this.#arm();
    });
  }

  #disarm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #grantWaiters(): void {
    this.#count();
    while (this.#tokens >= 1 - rounding && this.#waiters.admit()) this.#tokens -= 1;
  }
}

function checkedRate(ratePerSecond: number): number {
  if (ratePerSecond > 0 && Number.isFinite(ratePerSecond)) return ratePerSecond;
  throw new RangeError(`the rate must be above 0, not ${ratePerSecond}`);
}
