import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { formatQuantity, parseQuantity } from '../../../src/capacity/quantity.ts';

const nano = 1_000_000_000n;

describe('parseQuantity', () => {
  test.each([
    ['0', 0n],
    ['1', nano],
    ['500m', nano / 2n],
    ['0.5', nano / 2n],
    ['.5', nano / 2n],
    ['5.', 5n * nano],
    ['1.5Gi', 1_610_612_736n * nano],
    ['1Ki', 1_024n * nano],
    ['1k', 1_000n * nano],
    ['2e3', 2_000n * nano],
    ['2E3', 2_000n * nano],
    ['25e-1', (5n * nano) / 2n],
    ['3E', 3n * 10n ** 18n * nano],
    ['8Ei', 8n * 1_024n ** 6n * nano],
    ['100u', 100_000n],
    ['1n', 1n],
    ['-2', -2n * nano],
    ['+2', 2n * nano],
    // The API server rounds up to the next billionth.
    ['0.1n', 1n],
    ['1.0000000001', nano + 1n],
  ])('reads %s', (text, amount) => {
    expect(parseQuantity(text)).toBe(amount);
  });

  test.each(['', '.', 'Gi', '1gi', '1 Gi', '1KB', '0x10', 'e3', '1e', '--1'])('refuses %j', (text) => {
    expect(() => parseQuantity(text)).toThrow('is not a quantity');
  });

  test('reads back what a number and a suffix say, for all of them', () => {
    const suffix = fc.constantFrom<[string, number]>(
      ['', 1],
      ['m', 1e-3],
      ['k', 1e3],
      ['M', 1e6],
      ['Ki', 1024],
      ['Mi', 1024 ** 2],
      ['Gi', 1024 ** 3],
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 9_999 }),
        fc.integer({ min: 0, max: 999 }),
        suffix,
        (a, b, [s, x]) => {
          const text = `${a}.${String(b).padStart(3, '0')}`;
          expect(Number(parseQuantity(text + s)) / 1e9).toBeCloseTo(Number(text) * x, 3);
        },
      ),
    );
  });
});

describe('formatQuantity', () => {
  test.each([
    ['cpu', '2', '2'],
    ['cpu', '1.5', '1500m'],
    ['memory', '1024Mi', '1Gi'],
    ['memory', '1.5Gi', '1.5Gi'],
    ['memory', '20Gi', '20Gi'],
    ['memory', '100Mi', '100Mi'],
    ['memory', '2Ti', '2Ti'],
    ['memory', '4Ki', '4Ki'],
    ['memory', '12', '12'],
    ['example.com/gpu', '4', '4'],
    ['cpu', '-1', '-1'],
  ])('writes %s %s as %s', (resource, text, written) => {
    expect(formatQuantity(resource, parseQuantity(text))).toBe(written);
  });
});
