import { describe, expect, test } from '@jest/globals';
import { EvictionPace } from '../../../src/drain/pace.ts';
import { nullLogger } from '../../../src/runtime/logger.ts';
import { FakeClock } from '../../fixtures/fake-clock.ts';

const never = new AbortController().signal;

function setUp(ratePerSecond = 100, burst = 200) {
  const clock = new FakeClock();
  const rates: number[] = [];
  const logged: string[] = [];
  const logger = {
    ...nullLogger,
    warn: (text: string) => logged.push(text),
    info: (text: string) => logged.push(text),
  };
  const onRate = (rate: number) => rates.push(rate);
  return { clock, rates, logged, pace: new EvictionPace({ clock, logger, ratePerSecond, burst, onRate }) };
}

describe('an overload', () => {
  test('halves the rate, once for all answers within its Retry-After', async () => {
    const { clock, pace, rates, logged } = setUp();
    pace.overloaded(2);
    pace.overloaded(2);
    await clock.advance(1_999);
    pace.overloaded(30);
    expect(rates).toEqual([100, 50]);
    await clock.advance(1);
    pace.overloaded(1);
    expect(rates).toEqual([100, 50, 25]);
    expect(logged).toEqual(
      Array.from({ length: 2 }, () => 'the API server is overloaded, evicting more slowly'),
    );
  });

  test('pauses for its Retry-After, and does not save up a burst meanwhile', async () => {
    const { clock, pace } = setUp(10, 200);
    const sent: number[] = [];
    pace.overloaded(3);
    for (let i = 0; i < 4; i++) void pace.take(never).then(() => sent.push(clock.monotonic()));
    await clock.advance(6_000);
    expect(sent).toEqual([3_200, 3_400, 3_600, 3_800]);
  });

  test.each([
    [100, 1],
    [0.5, 0.5],
  ])('of a rate of %d never leads below %d', async (rate, lowest) => {
    const { clock, pace } = setUp(rate);
    for (let i = 0; i < 20; i++) {
      pace.overloaded(1);
      await clock.advance(1_000);
    }
    expect(pace.ratePerSecond).toBe(lowest);
  });

  test('is over step by step', async () => {
    const { clock, pace, rates, logged } = setUp();
    pace.overloaded(1);
    await clock.advance(6_000);
    expect(rates).toEqual([100, 50, 60]);
    await clock.advance(60_000);
    expect(rates).toEqual([100, 50, 60, 70, 80, 90, 100]);
    expect(logged.at(-1)).toBe('evicting at the full rate again');
    expect(clock.pendingTimers).toBe(0);
  });

  test('in the middle of the recovery begins it again', async () => {
    const { clock, pace, rates } = setUp();
    pace.overloaded(1);
    await clock.advance(6_000);
    pace.overloaded(4);
    await clock.advance(8_999);
    expect(rates).toEqual([100, 50, 60, 30]);
    await clock.advance(1);
    expect(rates.at(-1)).toBe(40);
  });

  test('leaves no timer to a process that ends', () => {
    const { clock, pace } = setUp();
    pace.overloaded(1);
    pace.stop();
    expect(clock.pendingTimers).toBe(0);
  });
});
