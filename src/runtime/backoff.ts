export interface Backoff {
  /** The first delay, milliseconds. */
  readonly baseMs: number;
  /** No delay is longer, milliseconds. */
  readonly maxMs: number;
  /** How many times longer each delay is than the one before; 2 unless given. */
  readonly factor?: number;
  /** The part of a delay that chance may take away, 0 to 1; 0.2 unless given. */
  readonly jitter?: number;
}

/**
 * Milliseconds to wait before the next try after `failures` failures in a row (1 and more). `random` gives numbers
 * from 0 up to 1. Chance only ever shortens, so that `maxMs` holds and many clients do not come back together.
 */
export function backoffMs(failures: number, backoff: Backoff, random: () => number): number {
  const { baseMs, maxMs, factor = 2, jitter = 0.2 } = backoff;
  // Grows to Infinity after about a thousand failures, which the maximum takes back.
  const full = Math.min(maxMs, baseMs * factor ** Math.max(0, failures - 1));
  return full * (1 - jitter * random());
}
