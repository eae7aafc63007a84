import type { Clock } from '../runtime/clock.ts';

/** How long the last renewal of a Lease lasts for its holder: `lastsMs` from when it was sent, by the monotonic clock. */
export class Renewal {
  readonly #clock: Clock;
  readonly #lastsMs: number;
  #sentMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, lastsMs: number) {
    this.#clock = clock;
    this.#lastsMs = lastsMs;
  }

  get isFresh(): boolean {
    return this.#leftMs > 0;
  }

  /** The API server took it; it was sent at `sentMs`, monotonic milliseconds. */
  taken(sentMs: number): void {
    this.#sentMs = sentMs;
  }

  /** Nobody may believe in it any more. */
  void(): void {
    this.#sentMs = Number.NEGATIVE_INFINITY;
  }

  /** Calls `onOver` once, when it is over and no other was taken meanwhile. Returns what ends the watch. */
  watch(onOver: () => void): () => void {
    const arm = (): (() => void) =>
      this.#clock.after(this.#leftMs, () => {
        if (this.isFresh) cancel = arm();
        else onOver();
      });
    let cancel = arm();
    return () => {
      cancel();
    };
  }

  get #leftMs(): number {
    return this.#sentMs + this.#lastsMs - this.#clock.monotonic();
  }
}
