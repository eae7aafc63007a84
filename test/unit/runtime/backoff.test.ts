import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { backoffMs } from '../../../src/runtime/backoff.ts';

test.each([
  [1, 5],
  [2, 10],
  [3, 20],
  [14, 40_960],
  [15, 60_000],
  [5_000, 60_000],
])('after %d failures waits %d ms when chance takes nothing away', (failures, expected) => {
  expect(backoffMs(failures, { baseMs: 5, maxMs: 60_000 }, () => 0)).toBe(expected);
});

test('chance takes away at most the given part, and nothing exceeds the maximum', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 10_000 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (failures, chance, jitter) => {
        const backoff = { baseMs: 800, maxMs: 30_000, factor: 1.5, jitter };
        const full = backoffMs(failures, backoff, () => 0);
        const actual = backoffMs(failures, backoff, () => chance);
        expect(full).toBeGreaterThanOrEqual(800);
        expect(full).toBeLessThanOrEqual(30_000);
        expect(actual).toBeLessThanOrEqual(full);
        expect(actual).toBeGreaterThanOrEqual(full * (1 - jitter) - 1e-6);
      },
    ),
  );
});
