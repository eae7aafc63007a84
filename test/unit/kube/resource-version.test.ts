import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { compareResourceVersions } from '../../../src/kube/resource-version.ts';

describe('compareResourceVersions', () => {
  test.each([
    ['9', '10', -1],
    ['10', '9', 1],
    ['10', '10', 0],
    ['0', '1', -1],
    ['99999999999999999999', '100000000000000000000', -1],
    ['18446744073709551615', '18446744073709551616', -1],
    ['abc', '1', -1],
    ['1', '', 1],
    ['abc', 'abd', 0],
    ['01', '1', -1],
  ])('%s and %s: %i', (a, b, sign) => {
    expect(Math.sign(compareResourceVersions(a, b))).toBe(sign);
  });

  test('orders integers of any length as BigInt does', () => {
    const version = fc.bigInt({ min: 0n, max: 10n ** 40n });
    fc.assert(
      fc.property(version, version, (a, b) => {
        const expected = a < b ? -1 : a > b ? 1 : 0;
        expect(Math.sign(compareResourceVersions(String(a), String(b)))).toBe(expected);
      }),
    );
  });
});
