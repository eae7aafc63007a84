import type { Clock } from './clock.ts';

export interface LateAbort {
  readonly signal: AbortSignal;
  /** To be called when the work has ended, so that nothing is left waiting. */
  readonly done: () => void;
}

/** A signal that is aborted `delayMs` after `signal`, for work that is better ended than cut off. */
export function lateAbort(signal: AbortSignal, clock: Clock, delayMs: number): LateAbort {
  const late = new AbortController();
  let cancel: (() => void) | undefined;
  const wait = (): void => {
    cancel = clock.after(delayMs, () => late.abort(signal.reason));
  };
  if (signal.aborted) wait();
  else signal.addEventListener('abort', wait, { once: true });
  return {
    signal: late.signal,
    done: () => {
      signal.removeEventListener('abort', wait);
      cancel?.();
    },
  };
}
