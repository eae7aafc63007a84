import { describe, expect, test } from '@jest/globals';
import { inOrder, nameOf, targetNamed, targetsOf } from '../../../soak/kills/order.ts';

const some = (drain: number) => [...targetsOf('drain', drain), ...targetsOf('start', 5)];
const names = (seed: number, drain: number): readonly string[] => inOrder(seed, some(drain)).map(nameOf);

describe('the order of kills', () => {
  test.each([1, 2, 3, 2_000])('of seed %i is not moved by a write more', (seed) => {
    const more = names(seed, 9);
    expect(more).toHaveLength(3 * (5 + 9));
    expect(more.filter((name) => !name.startsWith('drain:9:'))).toEqual(names(seed, 8));
  });

  test('is the same for the same seed, however they are listed, and another for another seed', () => {
    expect(names(1, 9)).toEqual(inOrder(1, some(9).toReversed()).map(nameOf));
    expect(names(1, 9)).not.toEqual(names(2, 9));
  });

  test('leaves out none and takes none twice', () => {
    expect(names(7, 9).toSorted()).toEqual(some(9).map(nameOf).toSorted());
  });
});

test('a kill is found by its name', () => {
  for (const target of some(12)) expect(targetNamed(nameOf(target))).toEqual(target);
});

test.each([
  '',
  'drain',
  'drain:3',
  'drain:0:after',
  'drain:x:after',
  'drain:3:held',
  ':3:after',
  'drain:3:after:',
])('%j is no kill', (name) => {
  expect(() => targetNamed(name)).toThrow(`${name} is no kill: SCENARIO:WRITE:before|after|answered`);
});
