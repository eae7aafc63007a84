import { describe, expect, test } from '@jest/globals';
import {
  type DrainClock,
  type DrainClockInput,
  type DrainTimes,
  advanceDrainClock,
  timestamp,
} from '../../../src/maintenance/drain-clock.ts';
import { at, noon } from '../../fixtures/objects.ts';

type Settings = Partial<Omit<DrainClockInput, 'previous' | 'now'>>;

/** Moves a drain through seconds after noon, handing its times on as status does. */
class Drain {
  times: DrainTimes | undefined;
  settings: Required<Settings> = {
    allowed: true,
    empty: false,
    givesUp: undefined,
    specHash: 'first',
    timeouts: { timeoutSeconds: 100, onTimeout: 'Fail' },
  };

  at(seconds: number, changes: Settings = {}): DrainClock {
    this.settings = { ...this.settings, ...changes };
    const clock = advanceDrainClock({ ...this.settings, previous: this.times, now: noon + seconds * 1000 });
    this.times = clock.times;
    return clock;
  }
}

describe('the deadline', () => {
  test('counts from the moment at which evicting became allowed', () => {
    const drain = new Drain();
    expect(drain.at(0)).toEqual({
      times: { startTime: at(0) },
      deadline: noon + 100_000,
      overdue: false,
      active: true,
    });
    expect(drain.at(99).overdue).toBe(false);
    expect(drain.at(99).times).toEqual({ startTime: at(0) });
  });

  test('unset, it never comes', () => {
    const drain = new Drain();
    const clock = drain.at(0, { timeouts: { onTimeout: 'Fail' } });
    expect([clock.deadline, drain.at(10_000_000).active]).toEqual([undefined, true]);
  });

  test('moves with an edit of timeoutSeconds, in both directions', () => {
    const drain = new Drain();
    drain.at(0);
    expect(
      drain.at(50, { timeouts: { timeoutSeconds: 200, onTimeout: 'Fail' }, specHash: 'second' }).deadline,
    ).toBe(noon + 200_000);
    expect(
      drain.at(60, { timeouts: { timeoutSeconds: 60, onTimeout: 'Fail' }, specHash: 'third' }).active,
    ).toBe(false);
  });

  test('suspended time does not count', () => {
    const drain = new Drain();
    drain.at(0);
    expect(drain.at(40, { allowed: false })).toEqual({
      times: { activeSeconds: 40 },
      deadline: undefined,
      overdue: false,
      active: false,
    });
    expect(drain.at(5000).times).toEqual({ activeSeconds: 40 });
    expect(drain.at(5000, { allowed: true })).toMatchObject({
      times: { startTime: at(5000), activeSeconds: 40 },
      deadline: noon + 5_060_000,
    });
    expect(drain.at(5010, { allowed: false }).times).toEqual({ activeSeconds: 50 });
  });

  test('suspended before it began, nothing runs', () => {
    const drain = new Drain();
    expect(drain.at(0, { allowed: false })).toEqual({
      times: {},
      deadline: undefined,
      overdue: false,
      active: false,
    });
    expect(drain.at(500, { allowed: true }).times).toEqual({ startTime: at(500) });
  });
});

describe('onTimeout Fail', () => {
  test('gives up, names the time, and stays like that', () => {
    const drain = new Drain();
    drain.at(0);
    const failed = drain.at(100);
    expect(failed).toMatchObject({
      active: false,
      overdue: true,
      deadline: undefined,
      times: {
        activeSeconds: 100,
        failure: { time: at(100), reason: 'DeadlineExceeded', specHash: 'first' },
      },
    });
    expect(failed.times.startTime).toBeUndefined();
    expect(drain.at(5000)).toEqual(failed);
    expect(drain.at(5001, { empty: true })).toEqual(failed);
  });

  test('an edit begins again, with all the time before it', () => {
    const drain = new Drain();
    drain.at(0);
    drain.at(100);
    expect(drain.at(300, { specHash: 'second' })).toMatchObject({
      active: true,
      times: { startTime: at(300) },
      deadline: noon + 400_000,
    });
    expect(drain.times?.failure).toBeUndefined();
  });

  test('suspending is such an edit, and so is going on', () => {
    const drain = new Drain();
    drain.at(0);
    drain.at(100);
    expect(drain.at(200, { specHash: 'second', allowed: false }).times).toEqual({});
    expect(drain.at(300, { specHash: 'first', allowed: true }).times).toEqual({ startTime: at(300) });
  });
});

describe('onTimeout Delete', () => {
  const timeouts = { timeoutSeconds: 100, onTimeout: 'Delete' } as const;

  test('goes on, overdue', () => {
    const drain = new Drain();
    drain.at(0, { timeouts });
    expect(drain.at(100)).toEqual({
      times: { startTime: at(0) },
      deadline: undefined,
      overdue: true,
      active: true,
    });
  });

  test('stays overdue while suspended and after it', () => {
    const drain = new Drain();
    drain.at(0, { timeouts });
    expect(drain.at(150, { allowed: false })).toMatchObject({ overdue: true, active: false });
    expect(drain.at(160, { allowed: true })).toMatchObject({ overdue: true, active: true });
  });
});

describe('completion', () => {
  test('is noted once and stops the clock', () => {
    const drain = new Drain();
    drain.at(0);
    expect(drain.at(30, { empty: true })).toMatchObject({
      times: { startTime: at(0), completionTime: at(30) },
      deadline: undefined,
      overdue: false,
      active: true,
    });
    expect(drain.at(5000).times).toEqual({ startTime: at(0), completionTime: at(30) });
  });

  test('an empty node is complete at once', () => {
    expect(new Drain().at(0, { empty: true }).times).toEqual({ startTime: at(0), completionTime: at(0) });
  });

  test('who arrives after it gets a fresh deadline, long past the first', () => {
    const drain = new Drain();
    drain.at(0);
    drain.at(30, { empty: true });
    expect(drain.at(9000, { empty: false })).toEqual({
      times: { startTime: at(9000) },
      deadline: noon + 9_100_000,
      overdue: false,
      active: true,
    });
    expect(drain.at(9010, { empty: true }).times).toEqual({ startTime: at(9000), completionTime: at(9010) });
  });

  test('the last pod that goes in the second of the deadline is in time', () => {
    const drain = new Drain();
    drain.at(0);
    expect(drain.at(100, { empty: true }).times.failure).toBeUndefined();
  });

  test('suspending after it costs nothing: the time until it was counted', () => {
    const drain = new Drain();
    drain.at(0);
    drain.at(30, { empty: true });
    expect(drain.at(500, { allowed: false }).times).toEqual({ activeSeconds: 30, completionTime: at(30) });
    expect(drain.at(600).times).toEqual({ activeSeconds: 30, completionTime: at(30) });
    const resumed = drain.at(700, { allowed: true, empty: false });
    expect(resumed.times).toEqual({ startTime: at(700) });
  });

  test('resumed and still empty, it stays what it was, and the time since costs nothing', () => {
    const drain = new Drain();
    drain.at(0);
    drain.at(30, { empty: true });
    drain.at(500, { allowed: false });
    expect(drain.at(700, { allowed: true }).times.completionTime).toBe(at(30));
    expect(drain.at(900, { allowed: false }).times).toEqual({ activeSeconds: 30, completionTime: at(30) });
  });
});

test('a restart in the middle goes on with the times in status', () => {
  const drain = new Drain();
  drain.at(0);
  drain.at(40, { allowed: false });
  drain.at(50, { allowed: true });
  const restarted = new Drain();
  restarted.times = JSON.parse(JSON.stringify(drain.times)) as DrainTimes;
  expect(restarted.at(70)).toEqual(drain.at(70));
  expect(restarted.at(110).times.failure).toBeDefined();
});

test('times are whole seconds, cut off, as the API server prints them', () => {
  expect(timestamp(noon + 1999)).toBe(at(1));
});
