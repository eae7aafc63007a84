import type { Clock } from './clock.ts';

/** Notices that a loop which should come round regularly does not: a check for /healthz. */
export class Heartbeat {
  readonly name: string;
  readonly #clock: Clock;
  readonly #longestSeconds: number;
  #lastMs: number | undefined;

  /** `longestSeconds` is the longest time between two beats that is still healthy. */
  constructor(name: string, clock: Clock, longestSeconds: number) {
    this.name = name;
    this.#clock = clock;
    this.#longestSeconds = longestSeconds;
  }

  /** The loop came round. Watching begins with the first beat. */
  beat(): void {
    this.#lastMs = this.#clock.monotonic();
  }

  /** The loop ended on purpose: nothing to watch until the next beat. */
  rest(): void {
    this.#lastMs = undefined;
  }

  /** What is wrong, or undefined. */
  readonly check = (): string | undefined => {
    if (this.#lastMs === undefined) return undefined;
    const silentSeconds = (this.#clock.monotonic() - this.#lastMs) / 1_000;
    if (silentSeconds <= this.#longestSeconds) return undefined;
    return `no sign of life for ${Math.round(silentSeconds)} s (at most ${this.#longestSeconds} s)`;
  };
}
