import { describe, expect, test } from '@jest/globals';
import { Waiting } from '../../../../hack/bench/waiting.ts';

const options = { timeoutMs: 60_000, explain: () => '' };

describe('waiting for what watches show', () => {
  test('until it is told of what was waited for, and no longer', async () => {
    const waiting = new Waiting();
    let value = 0;
    let looks = 0;
    const wait = waiting.until(
      'two',
      () => {
        looks++;
        return value === 2;
      },
      options,
    );
    for (value = 1; value <= 2; value++) waiting.tell();
    await wait;
    waiting.tell();
    expect(looks).toBe(3);
  });

  test('not at all for what is so already', async () => {
    await new Waiting().until('this', () => true, { ...options, timeoutMs: 0 });
  });

  test('what takes too long fails with an explanation', async () => {
    const wait = new Waiting().until('that', () => false, { timeoutMs: 1, explain: () => 'there are 3' });
    await expect(wait).rejects.toThrow('not within 0.001 s: that\nthere are 3');
  });
});
