import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { identityOf } from '../../../../hack/cluster/lib/identity.ts';
import { withLock } from '../../../../hack/cluster/lib/lock.ts';
import { ProcessTable } from '../../../../hack/cluster/lib/processes.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'haulout-processes-'));
});
afterEach(async () => {
  await new ProcessTable(dir).killAll();
  rmSync(dir, { recursive: true, force: true });
});

test('a started process is known to whoever reads its directory, and gone after stop', async () => {
  new ProcessTable(dir).start({ name: 'sleeper', command: '/bin/sleep', args: ['60'] });
  const other = new ProcessTable(dir);
  expect(await other.isStarted('sleeper')).toBe(true);
  expect(other.names()).toEqual(['sleeper']);
  await other.stop('sleeper', 'SIGTERM');
  expect(other.isRunning('sleeper')).toBe(false);
  expect(other.names()).toEqual([]);
});

test('a process that ignores SIGTERM is killed', async () => {
  const table = new ProcessTable(dir);
  table.start({
    name: 'stubborn',
    command: '/bin/sh',
    args: ['-c', 'trap "" TERM; echo set; sleep 60 & wait; wait'],
  });
  await table.isStarted('stubborn');
  while (table.tail('stubborn') !== 'set') await new Promise((resolve) => setTimeout(resolve, 10));
  await table.stop('stubborn', 'SIGTERM', 200);
  expect(table.isRunning('stubborn')).toBe(false);
});

test('a pid that belongs to another process by now is left alone', async () => {
  const table = new ProcessTable(dir);
  table.start({ name: 'sleeper', command: '/bin/sleep', args: ['60'] });
  await table.isStarted('sleeper');
  const { pid, startTicks, bootId } = table.identity('sleeper')!;
  const stale = `${pid} (x) S 1 1 1 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 ${startTicks - 5} 0\n${bootId}\n`;
  writeFileSync(join(dir, 'pids', 'old.pid'), stale);
  await table.stop('old');
  expect(table.isRunning('sleeper')).toBe(true);
});

test('a program that is not there is not started, and its log says why', async () => {
  const table = new ProcessTable(dir);
  table.start({ name: 'missing', command: join(dir, 'nothing'), args: [] });
  while (!table.tail('missing').includes('nothing')) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(await table.isStarted('missing')).toBe(false);
});

test('a lock is held by one at a time, and one whose holder has died is taken over', async () => {
  const file = join(dir, 'lock');
  const self = identityOf(process.pid)!;
  writeFileSync(file, JSON.stringify({ ...self, startTicks: self.startTicks - 1 }));
  const order: string[] = [];
  const hold = async (name: string): Promise<void> =>
    withLock(
      file,
      () => undefined,
      async () => {
        order.push(`${name} in`);
        await new Promise((resolve) => setTimeout(resolve, 20));
        order.push(`${name} out`);
      },
    );
  await Promise.all([hold('a'), hold('b')]);
  expect(order).toEqual(['a in', 'a out', 'b in', 'b out']);
});
