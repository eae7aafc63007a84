/** Time as the operator sees it: passed in, so that rules can be tested without waiting. */
export interface Clock {
  /** Milliseconds since the epoch, for times that other programs read or wrote; kube/server-clock.ts says whose. */
  now(): number;
  /** Milliseconds that never go back or jump: for durations inside this process (leases, back-off). */
  monotonic(): number;
  /** Runs `callback` once after `delayMs`; the returned function cancels it. */
  after(delayMs: number, callback: () => void): () => void;
}

// Node's timers fire at once when the delay does not fit 32 bits.
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, Math.min(Math.max(0, delayMs), longestTimerMs));
    return () => {
      clearTimeout(timer);
    };
  },
};
