import { beforeEach, expect, test } from '@jest/globals';
import { SpareMemory } from '../../../src/runtime/spare-memory.ts';
import { FakeClock } from '../../fixtures/fake-clock.ts';

let clock: FakeClock;
let collections: number;
let spare: SpareMemory;

beforeEach(() => {
  clock = new FakeClock();
  collections = 0;
  spare = new SpareMemory(clock, async () => {
    collections += 1;
    return Promise.resolve();
  });
});

test('memory is given back forty seconds after work, once', async () => {
  spare.giveBackSoon();
  await clock.advance(39_999);
  expect(collections).toBe(0);
  await clock.advance(1);
  expect(collections).toBe(1);
  await clock.advance(60_000);
  expect(collections).toBe(1);
});

test('work that begins again keeps it', async () => {
  spare.giveBackSoon();
  await clock.advance(20_000);
  spare.keep();
  await clock.advance(60_000);
  expect(collections).toBe(0);
});

test('of several ends the last one counts', async () => {
  spare.giveBackSoon();
  await clock.advance(20_000);
  spare.giveBackSoon();
  await clock.advance(20_000);
  expect(collections).toBe(0);
  await clock.advance(20_000);
  expect(collections).toBe(1);
});

test('what V8 frees goes back to the system', async () => {
  const before = process.memoryUsage.rss();
  const filled: string[][] = [];
  for (let index = 0; index < 300_000; index++) filled.push([`${index}`, 'x'.repeat(50) + index]);
  const full = process.memoryUsage.rss();
  filled.length = 0;
  new SpareMemory(clock).giveBackSoon();
  await clock.advance(40_000);
  await new Promise(setImmediate);
  expect(process.memoryUsage.rss()).toBeLessThan((before + full) / 2);
});
