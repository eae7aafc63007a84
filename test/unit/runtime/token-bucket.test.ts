import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { TokenBucket } from '../../../src/runtime/token-bucket.ts';
import { FakeClock, settle } from '../../fixtures/fake-clock.ts';
import { propertyRuns } from '../../fixtures/property-runs.ts';

const never = new AbortController().signal;

function bucketOf(ratePerSecond: number, burst: number): { clock: FakeClock; bucket: TokenBucket } {
  const clock = new FakeClock();
  return { clock, bucket: new TokenBucket({ clock, ratePerSecond, burst }) };
}

describe('TokenBucket', () => {
  test('grants the burst at once and then the rate, first come, first served', async () => {
    const { clock, bucket } = bucketOf(10, 3);
    const granted: string[] = [];
    for (let i = 0; i < 6; i++) {
      void bucket.take(never).then(() => granted.push(`${i}@${clock.monotonic()}`));
    }
    await clock.advance(1_000);
    expect(granted).toEqual(['0@0', '1@0', '2@0', '3@100', '4@200', '5@300']);
    expect(clock.pendingTimers).toBe(0);
  });

  test('tryTake takes what is there, and nothing from those who wait', async () => {
    const { clock, bucket } = bucketOf(1, 1);
    expect(bucket.tryTake()).toBe(true);
    expect(bucket.tryTake()).toBe(false);
    const waiting = bucket.take(never);
    expect(bucket.tryTake()).toBe(false);
    await clock.advance(1_000);
    await waiting;
    expect(bucket.tryTake()).toBe(false);
  });

  test('grants nothing in a pause, and begins with nothing saved up', async () => {
    const { clock, bucket } = bucketOf(10, 3);
    const granted: number[] = [];
    bucket.pause(1_000);
    bucket.pause(400);
    expect(bucket.tryTake()).toBe(false);
    for (let i = 0; i < 3; i++) void bucket.take(never).then(() => granted.push(clock.monotonic()));
    await clock.advance(700);
    bucket.setRate(5);
    await clock.advance(5_000);
    expect(granted).toEqual([1_200, 1_400, 1_600]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('who gives up leaves the line, takes no token and leaves no timer', async () => {
    const { clock, bucket } = bucketOf(1, 1);
    bucket.tryTake();
    const abort = new AbortController();
    const gaveUp = bucket.take(abort.signal);
    const stayed = bucket.take(never);
    abort.abort(new Error('leader lost'));
    await expect(gaveUp).rejects.toThrow('leader lost');
    await clock.advance(1_000);
    await stayed;
    expect(clock.monotonic()).toBe(1_000);

    const last = new AbortController();
    const alone = bucket.take(last.signal);
    last.abort(new Error('stop'));
    await expect(alone).rejects.toThrow('stop');
    expect(clock.pendingTimers).toBe(0);
    await expect(bucket.take(last.signal)).rejects.toThrow('stop');
    expect(bucket.waiting).toBe(0);
  });

  test('a lower rate holds at once and the old one can be restored', async () => {
    const { clock, bucket } = bucketOf(100, 1);
    bucket.tryTake();
    const times: number[] = [];
    for (let i = 0; i < 4; i++) void bucket.take(never).then(() => times.push(clock.monotonic()));
    bucket.setRate(1);
    await clock.advance(2_000);
    bucket.setRate(100);
    await clock.advance(2_000);
    expect(times).toEqual([1_000, 2_000, 2_010, 2_020]);
  });

  test('does not drift: an odd rate gives its exact number over ten minutes', async () => {
    const { clock, bucket } = bucketOf(7, 2);
    let grants = 0;
    const abort = new AbortController();
    const loop = async (): Promise<void> => {
      for (;;) {
        await bucket.take(abort.signal);
        grants++;
      }
    };
    const ended = loop();
    await clock.advance(600_001);
    abort.abort(new Error('end'));
    await expect(ended).rejects.toThrow('end');
    expect(grants).toBe(2 + 7 * 600);
  });

  test('many can wait under one signal', async () => {
    const { clock, bucket } = bucketOf(1_000, 1);
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listen);
    const all = Promise.all(Array.from({ length: 2_000 }, () => bucket.take(never)));
    await clock.advance(2_000);
    await all;
    await settle();
    process.off('warning', listen);
    expect(warnings).toEqual([]);
  });

  test('never grants more than burst + rate * t in any window, and never leaves a waiter behind', async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ take: fc.integer({ min: 1, max: 20 }) }) },
      { weight: 4, arbitrary: fc.record({ advanceMs: fc.integer({ min: 0, max: 400 }) }) },
      { weight: 1, arbitrary: fc.record({ tryTake: fc.constant(true) }) },
      { weight: 1, arbitrary: fc.record({ abort: fc.constant(true) }) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.double({ min: 0.5, max: 300, noNaN: true }),
        fc.integer({ min: 1, max: 30 }),
        fc.array(step, { maxLength: 40 }),
        async (rate, burst, steps) => {
          const { clock, bucket } = bucketOf(rate, burst);
          const grants: number[] = [];
          const grant = (): void => void grants.push(clock.monotonic());
          let abort = new AbortController();
          let asked = 0;
          let refused = 0;
          for (const one of steps) {
            if ('take' in one) {
              for (let i = 0; i < one.take; i++) {
                asked++;
                bucket.take(abort.signal).then(grant, () => refused++);
              }
            } else if ('tryTake' in one) {
              if (bucket.tryTake()) {
                asked++;
                grant();
              }
            } else if ('abort' in one) {
              abort.abort();
              abort = new AbortController();
            } else {
              await clock.advance(one.advanceMs);
            }
          }
          await clock.advance((asked / rate + 1) * 1_000 + asked);
          expect(grants.length + refused).toBe(asked);
          expect(clock.pendingTimers).toBe(0);
          for (let from = 0; from < grants.length; from++) {
            for (let to = from; to < grants.length; to++) {
              const seconds = ((grants[to] ?? 0) - (grants[from] ?? 0)) / 1_000;
              if (to - from + 1 > burst + rate * seconds + 1e-6) {
                throw new Error(`${to - from + 1} grants in ${seconds} s`);
              }
            }
          }
        },
      ),
      { numRuns: propertyRuns(60) },
    );
  });

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('refuses the rate %d', (rate) => {
    expect(() => bucketOf(rate, 1)).toThrow(RangeError);
    const { bucket } = bucketOf(1, 1);
    expect(() => bucket.setRate(rate)).toThrow(RangeError);
  });

  test('refuses a burst below 1', () => {
    expect(() => bucketOf(1, 0)).toThrow(RangeError);
  });
});
