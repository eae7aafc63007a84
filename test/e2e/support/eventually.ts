/** Waiting for a condition instead of for a time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '../../../hack/cluster/lib/untyped.ts';
import { NotHere } from './not-here.ts';

export interface EventuallyOptions {
  readonly timeoutMs?: number;
  /** Added to the message of a failure: what one wants to know then. */
  readonly explain?: () => Promise<string> | string;
}

const POLL_MS = 100;
/** Long enough for a machine that is busy with other tests: only a failure takes this long. */
const DEFAULT_TIMEOUT_MS = 60_000;

/**
 * Asks again and again until `attempt` answers with anything but undefined and false, and returns that. What it throws
 * (an `expect` that fails, an object that is not there) counts as "not yet" and is shown when the time is over.
 */
export async function eventually<T>(
  description: string,
  attempt: () => Promise<T | undefined | false> | T | undefined | false,
  options: EventuallyOptions = {},
): Promise<T> {
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    let problem: string | undefined;
    try {
      const answer = await attempt();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      if (error instanceof NotHere) throw error;
      problem = errorMessage(error);
    }
    if (Date.now() > deadline) {
      const parts = [`not within ${timeoutMs / 1000} s: ${description}`, problem, await explained(options)];
      throw new Error(parts.filter((part) => part !== undefined && part !== '').join('\n'));
    }
    await sleep(POLL_MS);
  }
}

/** Asserts that something stays true for a while: only where the absence of an event is the claim. */
export async function holdsFor(durationMs: number, description: string, check: () => unknown): Promise<void> {
  const end = Date.now() + durationMs;
  do {
    try {
      if ((await check()) === false) throw new Error('it no longer does');
    } catch (error) {
      if (error instanceof NotHere) throw error;
      throw new Error(`${description} should hold for ${durationMs / 1000} s: ${errorMessage(error)}`, {
        cause: error,
      });
    }
    await sleep(POLL_MS);
  } while (Date.now() < end);
}

async function explained(options: EventuallyOptions): Promise<string | undefined> {
  try {
    return await options.explain?.();
  } catch (error) {
    return `(no explanation: ${errorMessage(error)})`;
  }
}
