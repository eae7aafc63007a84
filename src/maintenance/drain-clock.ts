import type { DrainStatus } from '../api/types.generated.ts';
import type { EffectiveSpec } from '../api/defaults.ts';
import { timestamp } from '../runtime/timestamp.ts';

export { timestamp };

/** The times of a drain, as they are kept in status: a restart goes on with them. */
export interface DrainTimes {
  readonly startTime?: string;
  readonly activeSeconds?: number;
  readonly completionTime?: string;
  readonly failure?: NonNullable<DrainStatus['failure']>;
}

export interface DrainClockInput {
  readonly previous: DrainTimes | undefined;
  /** Evicting is allowed: evacuating, not suspended, a spec that can be carried out. */
  readonly allowed: boolean;
  /** Nothing that has to leave is left. */
  readonly empty: boolean;
  /** Why it gives up without waiting for a deadline, as a sentence. */
  readonly givesUp: string | undefined;
  readonly specHash: string;
  readonly timeouts: Pick<EffectiveSpec['drain'], 'timeoutSeconds' | 'onTimeout'>;
  /** Wall-clock milliseconds. */
  readonly now: number;
}

export interface DrainClock {
  readonly times: DrainTimes;
  /** Wall-clock milliseconds at which timeoutSeconds is over; `undefined`: never, or the clock stands still. */
  readonly deadline: number | undefined;
  /** timeoutSeconds of active draining are over. */
  readonly overdue: boolean;
  /** Pods may be evicted now. */
  readonly active: boolean;
}

/** Moves the times of a drain on to `now`. */
export function advanceDrainClock(input: DrainClockInput): DrainClock {
  const previous = begunAgain(input.previous, input.specHash);
  if (previous.failure) return ended(pause(previous, input.now), input);
  if (!input.allowed) {
    const times = pause(previous, input.now);
    return { times, deadline: undefined, overdue: isOverdue(times.activeSeconds ?? 0, input), active: false };
  }
  const times = input.empty ? complete(previous, input.now) : run(previous, input.now);
  if (times.completionTime !== undefined) return { times, deadline: undefined, overdue: false, active: true };
  if (input.givesUp !== undefined)
    return fail(times, input, 'UnsatisfiablePodDisruptionBudget', input.givesUp);
  const deadline = deadlineOf(times, input);
  const overdue = deadline !== undefined && input.now >= deadline;
  if (overdue && input.timeouts.onTimeout === 'Fail') {
    const allowed = `${input.timeouts.timeoutSeconds ?? 0} s of active draining`;
    const why = `pods were left when timeoutSeconds (${allowed}) was over`;
    return fail(times, input, 'DeadlineExceeded', why);
  }
  return { times, deadline: overdue ? undefined : deadline, overdue, active: true };
}

/** An edit of what failed begins a new drain, with all its time before it. */
function begunAgain(previous: DrainTimes | undefined, specHash: string): DrainTimes {
  return previous?.failure && previous.failure.specHash !== specHash ? {} : (previous ?? {});
}

function run(times: DrainTimes, now: number): DrainTimes {
  // A pod that arrives after completion is a drain of its own, not the end of a deadline long past.
  if (times.completionTime !== undefined) return { startTime: timestamp(now) };
  return { ...times, startTime: times.startTime ?? timestamp(now) };
}

function complete(times: DrainTimes, now: number): DrainTimes {
  const { startTime = timestamp(now), completionTime = timestamp(now) } = times;
  return { ...times, startTime, completionTime };
}

function pause(times: DrainTimes, now: number): DrainTimes {
  const { startTime, activeSeconds = 0, ...rest } = times;
  if (startTime === undefined) return times;
  const end = rest.completionTime === undefined ? now : Date.parse(rest.completionTime);
  return {
    ...rest,
    activeSeconds: activeSeconds + Math.max(0, Math.round((end - Date.parse(startTime)) / 1000)),
  };
}

function deadlineOf(times: DrainTimes, { timeouts, now }: DrainClockInput): number | undefined {
  if (timeouts.timeoutSeconds === undefined) return undefined;
  const start = times.startTime === undefined ? now : Date.parse(times.startTime);
  return start + (timeouts.timeoutSeconds - (times.activeSeconds ?? 0)) * 1000;
}

function isOverdue(activeSeconds: number, { timeouts }: DrainClockInput): boolean {
  return timeouts.timeoutSeconds !== undefined && activeSeconds >= timeouts.timeoutSeconds;
}

function fail(times: DrainTimes, input: DrainClockInput, reason: string, message: string): DrainClock {
  const failure = { time: timestamp(input.now), reason, message, specHash: input.specHash };
  return ended({ ...pause(times, input.now), failure }, input);
}

/** One that gave up before its deadline does not count as overdue: that would be consent to deletions. */
function ended(times: DrainTimes, input: DrainClockInput): DrainClock {
  const overdue = times.failure?.reason === 'DeadlineExceeded' || isOverdue(times.activeSeconds ?? 0, input);
  return { times, deadline: undefined, overdue, active: false };
}
