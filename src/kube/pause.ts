import type { Clock } from '../runtime/clock.ts';

/**
 * Resolves after `ms`, at once when `signal` is or gets aborted (look at it afterwards), or when a function that it puts
 * into `wakeUps` meanwhile is called.
 */
export function pause(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  wakeUps?: Set<() => void>,
): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      wakeUps?.delete(done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    wakeUps?.add(done);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) {
      done();
    }
  });
}
