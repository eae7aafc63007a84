import type { Clock } from '../runtime/clock.ts';

/** In milliseconds: the server's time minus our monotonic time is at least `from` and below `to`, as of `atMs`. */
interface Offset {
  readonly from: number;
  readonly to: number;
  readonly atMs: number;
}

/** How much faster or slower than ours the server's clock may run: what NTP does to a clock at most, unless it sets it. */
const drift = 500e-6;
/** So long answers may contradict what the server's time was, before they are believed. */
const doubtMs = 10_000;

/**
 * The API server's time, as the Date headers of its answers tell it, carried on by the monotonic clock: setting the
 * clock of this machine changes nothing, and every replica has the same time. It is the latest moment that the server's
 * clock has surely reached, at most about a second behind it: nothing that is due by it is early by the server's clock.
 * The system's time until the first answer is there.
 */
export class ServerClock implements Clock {
  readonly #system: Clock;
  readonly #onSet: (byMs: number) => void;
  #offset: Offset | undefined;
  #agreedMs = 0;

  /** `onSet`: the server's clock was set by so much, or a server with another clock answers instead. */
  constructor(system: Clock, onSet: (byMs: number) => void = () => {}) {
    this.#system = system;
    this.#onSet = onSet;
  }

  now(): number {
    const monotonic = this.monotonic();
    if (this.#offset === undefined) return this.#system.now();
    return Math.floor(monotonic + aged(this.#offset, monotonic).from);
  }

  monotonic(): number {
    return this.#system.monotonic();
  }

  after(delayMs: number, callback: () => void): () => void {
    return this.#system.after(delayMs, callback);
  }

  /** `date` is the header of an answer; the two others are monotonic, before the request left and after the answer came. */
  readonly heard = (date: string, sentMs: number, receivedMs: number): void => {
    const second = Date.parse(date);
    if (Number.isNaN(second)) return;
    const told = { from: second - receivedMs, to: second + 1000 - sentMs, atMs: receivedMs };
    if (this.#offset === undefined) {
      this.#believe(told);
      return;
    }
    const known = aged(this.#offset, receivedMs);
    const both = { ...told, from: Math.max(known.from, told.from), to: Math.min(known.to, told.to) };
    if (both.from < both.to) {
      this.#believe(both);
    } else if (receivedMs - this.#agreedMs >= doubtMs) {
      this.#believe(told);
      this.#onSet(Math.round(told.from - known.from));
    }
  };

  #believe(offset: Offset): void {
    this.#offset = offset;
    this.#agreedMs = offset.atMs;
  }
}

/** The clocks may have drifted apart since. */
function aged({ from, to, atMs }: Offset, monotonic: number): Offset {
  const apart = Math.max(0, monotonic - atMs) * drift;
  return { from: from - apart, to: to + apart, atMs: monotonic };
}
