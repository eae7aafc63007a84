import { expect, test } from '@jest/globals';
import { getEventListeners } from 'node:events';
import { WaitingLine } from '../../../src/runtime/waiting-line.ts';

const never = (): AbortSignal => new AbortController().signal;

/** Waits, and writes down how that ended. */
async function wait(line: WaitingLine, name: string, ends: string[], signal: AbortSignal): Promise<void> {
  await line.wait(signal).then(
    () => ends.push(name),
    (error: unknown) => ends.push(`${name}: ${String(error)}`),
  );
}

test('who came first is admitted first, whatever the signals', async () => {
  const line = new WaitingLine();
  const ends: string[] = [];
  const [one, other] = [never(), never()];
  const all = [wait(line, 'a', ends, one), wait(line, 'b', ends, other), wait(line, 'c', ends, one)];
  expect(line.length).toBe(3);
  expect([line.admit(), line.admit(), line.admit(), line.admit()]).toEqual([true, true, true, false]);
  await Promise.all(all);
  expect(ends).toEqual(['a', 'b', 'c']);
  expect(line.length).toBe(0);
});

test('an abort ends the waiting of all under its signal, and of nobody else', async () => {
  const line = new WaitingLine();
  const ends: string[] = [];
  const [gone, stays] = [new AbortController(), never()];
  const all = ['a', 'b', 'c', 'd'].map(async (name, index) =>
    wait(line, name, ends, index % 2 === 0 ? gone.signal : stays),
  );
  gone.abort('over');
  expect(line.length).toBe(2);
  expect([line.admit(), line.admit(), line.admit()]).toEqual([true, true, false]);
  await Promise.all(all);
  expect(ends.toSorted()).toEqual(['a: over', 'b', 'c: over', 'd']);
});

test('who comes after the abort does not wait', async () => {
  const line = new WaitingLine();
  await expect(line.wait(AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
  expect(line.length).toBe(0);
});

test('a signal has one listener, as long as somebody waits under it', async () => {
  const line = new WaitingLine();
  const { signal } = new AbortController();
  const all = Array.from({ length: 1_000 }, async () => line.wait(signal));
  expect(getEventListeners(signal, 'abort').length).toBe(1);
  while (line.length > 1) line.admit();
  expect(getEventListeners(signal, 'abort').length).toBe(1);
  line.admit();
  await Promise.all(all);
  expect(getEventListeners(signal, 'abort').length).toBe(0);
});
