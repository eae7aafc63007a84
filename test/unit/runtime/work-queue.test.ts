import { describe, expect, test } from '@jest/globals';
import { WorkQueue } from '../../../src/runtime/work-queue.ts';
import type { WorkQueueOptions } from '../../../src/runtime/work-queue.ts';
import { FakeClock, settle } from '../../fixtures/fake-clock.ts';

function setUp(options: Partial<WorkQueueOptions> = {}) {
  const clock = new FakeClock();
  const handled: string[] = [];
  const errors: { key: string; error: unknown; retryMs: number }[] = [];
  const queue = new WorkQueue({
    clock,
    random: () => 0,
    concurrency: 1,
    handle: async (key) => {
      handled.push(`${key}@${clock.monotonic()}`);
      await Promise.resolve();
    },
    onError: (key, error, retryMs) => {
      errors.push({ key, error, retryMs });
    },
    ...options,
  });
  return { clock, queue, handled, errors };
}

function sleeper(clock: FakeClock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve);
  });
}

describe('WorkQueue', () => {
  test('handles in the order of adding, each key once however often it was added', async () => {
    const { queue, clock, handled } = setUp();
    for (const key of ['b', 'a', 'b', 'c', 'a']) queue.add(key);
    expect(queue.depth).toBe(3);
    await clock.advance(0);
    expect(handled).toEqual(['b@0', 'a@0', 'c@0']);
  });

  test('does not run handlers in the midst of the caller', () => {
    const { queue, handled } = setUp();
    queue.add('a');
    expect(handled).toEqual([]);
  });

  test('a key added while it is handled is handled once more, after those that waited', async () => {
    const order: string[] = [];
    const { queue, clock } = setUp({
      handle: async (key) => {
        order.push(key);
        if (order.length === 1) {
          queue.add('a');
          queue.add('a');
          queue.add('b');
        }
        await Promise.resolve();
      },
    });
    queue.add('a');
    await clock.advance(0);
    expect(order).toEqual(['a', 'b', 'a']);
  });

  test('never handles one key twice at the same time, but others beside it', async () => {
    const clock = new FakeClock();
    const running: string[] = [];
    const seen: string[] = [];
    const { queue } = setUp({
      clock,
      concurrency: 3,
      handle: async (key) => {
        running.push(key);
        seen.push(running.toSorted().join(''));
        await sleeper(clock, 100);
        running.splice(running.indexOf(key), 1);
      },
    });
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
    await clock.advance(10);
    expect(queue.running).toBe(3);
    queue.add('a');
    await clock.advance(1_000);
    expect(seen).toEqual(['a', 'ab', 'abc', 'bcd', 'acd']);
  });

  test('of several delays of a key only the earliest counts', async () => {
    const { queue, clock, handled } = setUp();
    queue.addAfter('a', 500);
    queue.addAfter('a', 200);
    queue.addAfter('a', 900);
    await clock.advance(5_000);
    expect(handled).toEqual(['a@200']);
    queue.addAfter('a', 100);
    await clock.advance(5_000);
    expect(handled).toEqual(['a@200', 'a@5100']);
  });

  test('add runs at once and leaves the delay of the key alone', async () => {
    const { queue, clock, handled } = setUp();
    queue.addAfter('a', 500);
    await clock.advance(100);
    queue.add('a');
    await clock.advance(1_000);
    expect(handled).toEqual(['a@100', 'a@500']);
  });

  test.each([0, -5, Number.NaN])('addAfter(%d) runs at once', async (delayMs) => {
    const { queue, clock, handled } = setUp();
    queue.addAfter('a', delayMs);
    await clock.advance(0);
    expect(handled).toEqual(['a@0']);
  });

  test('a handler that throws is reported and tried again, later each time, until it succeeds', async () => {
    const clock = new FakeClock();
    const tries: number[] = [];
    const { queue, errors } = setUp({
      clock,
      baseDelayMs: 10,
      maxDelayMs: 50,
      handle: async () => {
        tries.push(clock.monotonic());
        await Promise.resolve();
        if (tries.length < 6) throw new Error(`try ${tries.length}`);
      },
    });
    queue.add('a');
    await clock.advance(10_000);
    expect(tries).toEqual([0, 10, 30, 70, 120, 170]);
    expect(errors.map(({ retryMs }) => retryMs)).toEqual([10, 20, 40, 50, 50]);
    expect(errors[0]).toMatchObject({ key: 'a', error: new Error('try 1') });
    expect(clock.pendingTimers).toBe(0);
  });

  test('a handler that throws before its first await is no different', async () => {
    const { queue, clock, errors } = setUp({
      handle: () => {
        throw new Error('at once');
      },
    });
    queue.add('a');
    await clock.advance(0);
    expect(errors).toHaveLength(1);
    expect(queue.delayed).toBe(1);
  });

  test('success and forget make the back-off short again', async () => {
    let failing = true;
    const { queue, clock, errors } = setUp({
      baseDelayMs: 10,
      handle: async () => {
        await Promise.resolve();
        if (failing) throw new Error('no');
      },
    });
    queue.add('a');
    await clock.advance(15);
    expect(errors.at(-1)?.retryMs).toBe(20);
    queue.forget('a');
    await clock.advance(20);
    expect(errors.at(-1)?.retryMs).toBe(10);
    failing = false;
    await clock.advance(1_000);
    failing = true;
    queue.add('a');
    await clock.advance(0);
    expect(errors.at(-1)?.retryMs).toBe(10);
  });

  test('a key that keeps failing does not hold up another', async () => {
    const done: string[] = [];
    const { queue, clock } = setUp({
      handle: async (key) => {
        await Promise.resolve();
        if (key === 'bad') throw new Error('no');
        done.push(key);
      },
    });
    queue.add('bad');
    for (let i = 0; i < 50; i++) queue.add(`good-${i}`);
    await clock.advance(0);
    expect(done).toHaveLength(50);
  });

  test('stop aborts and waits for the running handlers, and nothing starts after it', async () => {
    const clock = new FakeClock();
    let ended = false;
    const { queue, handled, errors } = setUp({
      clock,
      handle: async (key, signal) => {
        handled.push(key);
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => clock.after(300, resolve));
        });
        ended = true;
        signal.throwIfAborted();
      },
    });
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 10);
    await clock.advance(0);
    queue.add('a');
    let stopped = false;
    const stopping = queue.stop().then(() => {
      stopped = true;
    });
    queue.add('d');
    queue.addAfter('e', 1);
    await clock.advance(100);
    expect(stopped).toBe(false);
    await clock.advance(300);
    await stopping;
    expect(ended).toBe(true);
    await clock.advance(10_000);
    expect(handled).toEqual(['a']);
    expect(errors).toEqual([]);
    expect([queue.depth, queue.delayed, queue.running, clock.pendingTimers]).toEqual([0, 0, 0, 0]);
    await queue.stop();
  });

  test('a handler that fails for another reason while stopping is reported and not tried again', async () => {
    const clock = new FakeClock();
    const { queue, errors } = setUp({
      clock,
      handle: async () => {
        await sleeper(clock, 100);
        throw new Error('disk on fire');
      },
    });
    queue.add('a');
    await clock.advance(0);
    const stopping = queue.stop();
    await clock.advance(100);
    await stopping;
    expect(errors).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  test('a handler that was about to start does not start after stop', async () => {
    const { queue, handled } = setUp();
    queue.add('a');
    await Promise.resolve();
    await queue.stop();
    await settle();
    expect(handled).toEqual([]);
  });

  test('tells depth, latency, duration and outcome', async () => {
    const clock = new FakeClock();
    const depths: number[] = [];
    const latencies: number[] = [];
    const finished: string[] = [];
    let failures = 1;
    const { queue } = setUp({
      clock,
      metrics: {
        depth: (keys) => depths.push(keys),
        started: (seconds) => latencies.push(seconds),
        finished: (seconds, outcome) => finished.push(`${outcome} ${seconds}`),
      },
      handle: async () => {
        await sleeper(clock, 2_000);
        if (failures-- > 0) throw new Error('no');
      },
    });
    queue.add('a');
    queue.add('b');
    await clock.advance(4_000);
    expect(depths).toEqual([1, 2, 1, 0, 1, 0]);
    expect(latencies.slice(0, 2)).toEqual([0, 2]);
    expect(finished).toEqual(['error 2', 'ok 2']);
    await clock.advance(4_000);
    // Latency of a retry counts from the end of its delay: 2.005 s, when b was being handled until 4 s.
    expect(latencies[2]).toBeCloseTo(1.995, 6);
  });

  test('refuses a concurrency below 1', () => {
    expect(() => setUp({ concurrency: 0 })).toThrow(RangeError);
  });
});
