import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { LineTail } from '../../e2e/support/line-tail.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tail-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

test('gives the lines that were completed since, whole, each once', () => {
  const file = join(dir, 'log');
  const early = new LineTail(file);
  expect([...early.lines()]).toEqual([]);
  appendFileSync(file, 'one\ntw');
  const late = new LineTail(file);
  expect([...early.lines()]).toEqual(['one']);
  appendFileSync(file, 'o\nä\n');
  expect([...early.lines()]).toEqual(['two', 'ä']);
  expect([...early.lines()]).toEqual([]);
  expect([...late.lines()]).toEqual(['o', 'ä']);
});

test('gives more than is read at a time', () => {
  const file = join(dir, 'log');
  const tail = new LineTail(file);
  const line = 'x'.repeat(999_999);
  for (let i = 0; i < 40; i++) appendFileSync(file, `${line}\n`);
  expect([...tail.lines()].filter((one) => one === line)).toHaveLength(40);
});
