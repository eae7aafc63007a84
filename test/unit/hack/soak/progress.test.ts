import { expect, test } from '@jest/globals';
import { Progress } from '../../../../hack/soak/progress.ts';

test.each([
  ['nothing is finished', [], 0],
  ['as it goes', [0, 1], 2],
  ['one lane is ahead of the other', [0, 2, 3], 1],
  ['the first one was cut off', [1, 2, 3], 0],
  ['all are finished', [3, 1, 0, 2], undefined],
])('a run goes on at the first piece that is not finished: %s', (_, finished, expected) => {
  const progress = new Progress(4);
  expect(Array.from({ length: 4 }, () => progress.begin())).toEqual([0, 1, 2, 3]);
  expect(progress.hasNext).toBe(false);
  for (const piece of finished) progress.finish(piece);
  expect(progress.goOnAt).toBe(expected);
});

test('a run goes on at the first piece where none was begun, too', () => {
  const progress = new Progress(2);
  expect(progress.hasNext).toBe(true);
  expect(progress.goOnAt).toBe(0);
});
