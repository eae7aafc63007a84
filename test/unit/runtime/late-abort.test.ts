import { describe, expect, test } from '@jest/globals';
import { lateAbort } from '../../../src/runtime/late-abort.ts';
import { FakeClock } from '../../fixtures/fake-clock.ts';

const why = new Error('stop');

describe('lateAbort', () => {
  test.each(['before', 'after'])(
    'aborts late, with the same reason, when the signal is aborted %s it begins',
    async (when) => {
      const clock = new FakeClock();
      const stop = new AbortController();
      if (when === 'before') stop.abort(why);
      const { signal } = lateAbort(stop.signal, clock, 2_000);
      stop.abort(why);
      await clock.advance(1_999);
      expect(signal.aborted).toBe(false);
      await clock.advance(1);
      expect(signal.aborted).toBe(true);
      expect(signal.reason).toBe(why);
    },
  );

  test.each([true, false])('never aborts what is done (aborted before: %s)', async (abortedBefore) => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const { signal, done } = lateAbort(stop.signal, clock, 2_000);
    if (abortedBefore) stop.abort(why);
    done();
    stop.abort(why);
    await clock.advance(10_000);
    expect(signal.aborted).toBe(false);
  });
});
