import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { DelayQueue } from '../../../src/runtime/delay-queue.ts';

type Step = { readonly set: string; readonly dueMs: number } | { readonly takeAtMs: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    set: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k'),
    dueMs: fc.integer({ min: 0, max: 40 }),
  }),
  fc.record({ takeAtMs: fc.integer({ min: 0, max: 40 }) }),
);

test('hands out the same keys in the same order as a sorted list would', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const queue = new DelayQueue();
      let model: { key: string; dueMs: number; order: number }[] = [];
      let order = 0;
      for (const one of steps) {
        if ('set' in one) {
          queue.set(one.set, one.dueMs);
          const known = model.find((entry) => entry.key === one.set);
          if (known === undefined || one.dueMs < known.dueMs) {
            model = model.filter((entry) => entry !== known);
            model.push({ key: one.set, dueMs: one.dueMs, order: order++ });
          }
        } else {
          model.sort((a, b) => a.dueMs - b.dueMs || a.order - b.order);
          const first = model[0];
          const expected = first !== undefined && first.dueMs <= one.takeAtMs ? first.key : undefined;
          if (expected !== undefined) model.shift();
          expect(queue.takeDue(one.takeAtMs)).toBe(expected);
        }
        expect(queue.size).toBe(model.length);
        const earliest = model.length === 0 ? undefined : Math.min(...model.map((entry) => entry.dueMs));
        expect(queue.nextDueMs).toBe(earliest);
      }
    }),
  );
});

test('clear leaves nothing behind', () => {
  const queue = new DelayQueue();
  queue.set('a', 5);
  queue.clear();
  expect(queue.nextDueMs).toBeUndefined();
  queue.set('a', 9);
  expect(queue.nextDueMs).toBe(9);
});
