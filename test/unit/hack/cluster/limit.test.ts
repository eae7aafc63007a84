import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Limit } from '../../../../hack/cluster/lib/limit.ts';

test('runs no more than its limit at a time, and all in the end, in order', async () => {
  const limit = new Limit(2);
  const started: number[] = [];
  const finish: (() => void)[] = [];
  for (let index = 0; index < 5; index++) {
    limit.add(async () => {
      started.push(index);
      await new Promise<void>((resolve) => finish.push(resolve));
    });
  }
  expect(started).toEqual([0, 1]);
  finish[1]!();
  await nextTurn();
  expect(started).toEqual([0, 1, 2]);
  finish[0]!();
  finish[2]!();
  await nextTurn();
  expect(started).toEqual([0, 1, 2, 3, 4]);
});
