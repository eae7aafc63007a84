import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import {
  currentBootId,
  identityOf,
  isRunning,
  parsePidFile,
  parseStat,
} from '../../../../hack/cluster/lib/identity.ts';

const STAT = '4242 (kube-api (x) y) S 1 4242 4242 0 -1 4194560 9 0 0 0 2 1 0 0 20 0 9 0 987654 1234 56';
const BOOT = 'ffe655bd-25b3-4273-8649-342c16530ff0';

describe('parseStat', () => {
  test('reads past spaces and parentheses in the command', () => {
    expect(parseStat(STAT)).toEqual({ pid: 4242, state: 'S', threads: 9, startTicks: 987654 });
  });

  test.each([[''], ['4242'], ['4242 (x) S 1 2 3'], ['x (x) S 1'], [STAT.replace('4242 (', '0 (')]])(
    'refuses %p',
    (text) => {
      expect(parseStat(text)).toBeUndefined();
    },
  );
});

describe('parsePidFile', () => {
  test('is the stat line and the boot it belongs to', () => {
    expect(parsePidFile(`${STAT}\n${BOOT}\n`)).toEqual({ pid: 4242, startTicks: 987654, bootId: BOOT });
  });

  test.each([[''], [STAT], [`${STAT}\n`], [`${STAT}\n${BOOT.slice(0, 20)}`], [`\n${BOOT}\n`]])(
    'half a file names nobody: %p',
    (text) => {
      expect(parsePidFile(text)).toBeUndefined();
    },
  );
});

describe('isRunning', () => {
  test('knows this process', () => {
    expect(isRunning(identityOf(process.pid)!)).toBe(true);
  });

  test('another start time or another boot is another process', () => {
    const self = identityOf(process.pid)!;
    expect(isRunning({ ...self, startTicks: self.startTicks + 1 })).toBe(false);
    expect(isRunning({ ...self, bootId: BOOT })).toBe(currentBootId() === BOOT);
  });

  test('a process that has ended is not running', async () => {
    const child = spawn('sleep', ['60']);
    await once(child, 'spawn');
    const identity = identityOf(child.pid!)!;
    expect(isRunning(identity)).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isRunning(identity)).toBe(false);
  });
});
