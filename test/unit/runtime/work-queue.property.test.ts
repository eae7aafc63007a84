import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { WorkQueue } from '../../../src/runtime/work-queue.ts';
import { FakeClock } from '../../fixtures/fake-clock.ts';
import { propertyRuns } from '../../fixtures/property-runs.ts';

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const step = fc.oneof(
  fc.record({ add: key }),
  fc.record({ addAfter: key, delayMs: fc.integer({ min: 0, max: 300 }) }),
  fc.record({ advanceMs: fc.integer({ min: 0, max: 120 }) }),
);

interface Run {
  readonly key: string;
  readonly startMs: number;
  endMs: number;
}

test('every wish is followed by a run in its time, none overlaps another of its key, and all ends', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60 }),
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.record({ ms: fc.integer({ min: 0, max: 90 }), fails: fc.boolean() }), {
        minLength: 1,
        maxLength: 20,
      }),
      async (steps, concurrency, work) => {
        const clock = new FakeClock();
        const runs: Run[] = [];
        const wishes: { key: string; askedMs: number; dueMs: number }[] = [];
        let running = 0;
        const queue = new WorkQueue({
          clock,
          random: () => 0.5,
          concurrency,
          onError: () => {},
          handle: async (name) => {
            const todo = work[runs.length];
            const run = { key: name, startMs: clock.monotonic(), endMs: Number.POSITIVE_INFINITY };
            expect(runs.some((one) => one.key === name && one.endMs === Number.POSITIVE_INFINITY)).toBe(
              false,
            );
            runs.push(run);
            running++;
            expect(running).toBeLessThanOrEqual(concurrency);
            if (todo !== undefined && todo.ms > 0) {
              await new Promise<void>((resolve) => {
                clock.after(todo.ms, resolve);
              });
            }
            running--;
            run.endMs = clock.monotonic();
            if (todo?.fails === true) throw new Error('no');
          },
        });
        for (const one of steps) {
          const now = clock.monotonic();
          if ('add' in one) {
            queue.add(one.add);
            wishes.push({ key: one.add, askedMs: now, dueMs: now });
          } else if ('addAfter' in one) {
            queue.addAfter(one.addAfter, one.delayMs);
            wishes.push({ key: one.addAfter, askedMs: now, dueMs: now + one.delayMs });
          } else {
            await clock.advance(one.advanceMs);
          }
        }
        await clock.advance(600_000);

        expect([queue.depth, queue.delayed, queue.running, clock.pendingTimers]).toEqual([0, 0, 0, 0]);
        // Nothing runs unasked: once for every wish, and once more for every failure.
        expect(runs.length).toBeLessThanOrEqual(wishes.length + work.filter(({ fails }) => fails).length);
        // The time that all other work could have taken, had it gone one after another.
        const slackMs = work.reduce((sum, { ms }) => sum + ms, 0);
        for (const wish of wishes) {
          const answer = runs.find((run) => run.key === wish.key && run.startMs >= wish.askedMs);
          if (answer === undefined || answer.startMs > wish.dueMs + slackMs) {
            throw new Error(`${JSON.stringify(wish)} got ${JSON.stringify(answer)}`);
          }
        }
      },
    ),
    { numRuns: propertyRuns(200) },
  );
});

test('20,000 delayed keys need one timer', async () => {
  let timers = 0;
  let most = 0;
  let nowMs = 0;
  const pending = new Map<number, { dueMs: number; callback: () => void }>();
  let id = 0;
  // Not FakeClock: that one looks through its timers one by one, which is what is to be shown here to be needless.
  const clock = {
    now: () => nowMs,
    monotonic: () => nowMs,
    after: (delayMs: number, callback: () => void) => {
      const mine = id++;
      timers++;
      pending.set(mine, { dueMs: nowMs + delayMs, callback });
      most = Math.max(most, pending.size);
      return () => void pending.delete(mine);
    },
  };
  const handled: string[] = [];
  const queue = new WorkQueue({
    clock,
    random: () => 0,
    concurrency: 50,
    onError: () => {},
    handle: async (name) => {
      await Promise.resolve();
      handled.push(name);
    },
  });
  const count = 20_000;
  for (let i = 0; i < count; i++) queue.addAfter(`key-${i}`, 1_000 + ((i * 7_919) % count));
  while (pending.size > 0) {
    const [first] = [...pending];
    if (first === undefined) break;
    pending.delete(first[0]);
    // A slow machine: timers come up to 100 ms late.
    nowMs = first[1].dueMs + 100;
    first[1].callback();
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  expect(handled).toHaveLength(count);
  expect(new Set(handled).size).toBe(count);
  expect(most).toBe(1);
  expect(timers).toBeLessThan(count / 10);
});
