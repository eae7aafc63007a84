import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../../..');

// Takes the place of the operator; what it does is in --identity.
const standIn = `
import { StartError } from './cli/exit.ts';
export async function runOperator(options, signal, logger) {
  const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
  const keepAlive = setInterval(() => {}, 1000);
  logger.info('running');
  switch (options.identity) {
    case 'orderly': await aborted; return;
    case 'cut': await aborted; throw signal.reason;
    case 'stuck': await new Promise(() => {}); return;
    case 'no-cluster': throw new StartError('the cluster\\ncannot be reached');
    case 'cut-start': await aborted; throw new StartError('the cluster cannot be reached');
    case 'bug': throw new TypeError('x is undefined');
    case 'rejection': void Promise.reject(new Error('nobody caught it')); await aborted; return;
    case 'exception': setTimeout(() => { throw new Error('nobody caught it'); }, 1); await aborted; return;
  }
}
`;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

let dir: string;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'haulout-main-'));
  await cp(join(root, 'src'), join(dir, 'src'), { recursive: true });
  await cp(join(root, 'package.json'), join(dir, 'package.json'));
  await symlink(join(root, 'node_modules'), join(dir, 'node_modules'));
  await writeFile(join(dir, 'src/operator.ts'), standIn);
});

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await rm(dir, { recursive: true, force: true });
});

/** Runs the process and sends it one of `signals` for every line that contains its key. */
function run(identity: string, signals: Readonly<Record<string, NodeJS.Signals>> = {}): Promise<Ended> {
  const args = [
    '--disable-warning=ExperimentalWarning',
    join(dir, 'src/main.ts'),
    'run',
    `--identity=${identity}`,
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  let stdout = '';
  let stderr = '';
  const left = new Map(Object.entries(signals));
  child.stdout.on('data', (data: Buffer) => (stdout += data.toString()));
  child.stderr.on('data', (data: Buffer) => {
    stderr += data.toString();
    for (const [text, signal] of left) {
      if (!stderr.includes(text)) continue;
      left.delete(text);
      child.kill(signal);
      break;
    }
  });
  return new Promise((resolve) => {
    child.once('close', (code) => {
      children.delete(child);
      resolve({ code, stdout, stderr });
    });
  });
}

describe('haulout run', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('%s stops it in order, with 0', async (signal) => {
    const { code, stderr } = await run('orderly', { running: signal });
    expect(code).toBe(0);
    expect(stderr).toContain(`"message":"stopping","signal":"${signal}"`);
    expect(stderr).toContain('"message":"stopped"');
  });

  test.each(['cut', 'cut-start'])('what the stop cuts off (%s) is no failure', async (identity) => {
    const { code, stderr } = await run(identity, { running: 'SIGTERM' });
    expect(code).toBe(0);
    expect(stderr).not.toContain('"level":"error"');
  });

  test('a second signal ends it at once', async () => {
    const { code, stderr } = await run('stuck', { running: 'SIGTERM', stopping: 'SIGINT' });
    expect(code).toBe(130);
    expect(stderr).toContain('second signal');
  });

  test('surroundings that cannot be used end it with 2 and one line', async () => {
    const { code, stderr } = await run('no-cluster');
    expect(code).toBe(2);
    expect(stderr.trimEnd().split('\n').at(-1)).toBe('haulout: the cluster cannot be reached');
    expect(stderr).not.toContain('    at ');
  });

  test.each([
    ['bug', '"name":"TypeError"'],
    ['rejection', '"event":"unhandledRejection"'],
    ['exception', '"event":"uncaughtException"'],
  ])('a %s is logged with its stack and ends it with 1', async (identity, expected) => {
    const { code, stdout, stderr } = await run(identity);
    expect(code).toBe(1);
    expect(stdout).toBe('');
    const last: unknown = JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '');
    expect(last).toMatchObject({ level: 'error', error: { stack: expect.stringContaining('at ') } });
    expect(stderr).toContain(expected);
  });
});
