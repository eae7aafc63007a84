import { execFile } from 'node:child_process';
import { chmod, mkdtemp, mkdir, rm, symlink, writeFile, cp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const launcher = join(import.meta.dirname, '../../../bin/haulout');

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function start(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd: tmpdir(), env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'haulout-test-'));
});

afterAll(async () => {
  await rm(dir, { recursive: true, force: true });
});

/** A place with the launcher, without packages, and with a `node` that claims to be `nodeVersion`. */
async function checkout(name: string, nodeVersion: string): Promise<{ program: string; path: string }> {
  const root = join(dir, name);
  await mkdir(join(root, 'bin'), { recursive: true });
  await mkdir(join(root, 'tools'));
  await cp(launcher, join(root, 'bin/haulout'));
  const node = join(root, 'tools/node');
  await writeFile(node, `#!/bin/sh\necho ${nodeVersion}\n`);
  await chmod(node, 0o755);
  return { program: join(root, 'bin/haulout'), path: `${join(root, 'tools')}:/usr/bin:/bin` };
}

describe('bin/haulout', () => {
  test('prints its version, from anywhere and through symbolic links', async () => {
    await symlink(launcher, join(dir, 'absolute'));
    await symlink('absolute', join(dir, 'relative'));
    const ended = await start(join(dir, 'relative'), ['--version']);
    expect(ended).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^haulout \d+\.\d+\.\d+\n$/),
      stderr: '',
    });
  });

  test.each([
    [['--help'], 'Usage: haulout COMMAND'],
    [['run', '--help'], 'Usage: haulout run [flags]'],
    [['help', 'run'], 'Usage: haulout run [flags]'],
    [['plan', '--help'], 'Usage: haulout plan NODE'],
    [['help', 'plan'], 'Usage: haulout plan NODE'],
    [['help', 'validate'], 'Usage: haulout validate FILE'],
    [['run', '--identity=x', '-h'], 'Usage: haulout run [flags]'],
  ])('%j prints help and ends with 0', async (args, expected) => {
    const ended = await start(launcher, args);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toContain(expected);
  });

  test('without a command prints help where errors go and ends with 2', async () => {
    const ended = await start(launcher, []);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain('Usage: haulout COMMAND');
  });

  test.each([
    [['rum'], 'haulout: unknown command "rum": did you mean haulout run?\n'],
    [['plam'], 'haulout: unknown command "plam": did you mean haulout plan?\n'],
    [['plan'], 'haulout: no node given: write haulout plan NODE, or haulout plan -f FILE\n'],
    [['frobnicate'], 'haulout: unknown command "frobnicate": see haulout --help\n'],
    [['run', '--log-levl=info'], 'haulout: unknown flag "--log-levl": did you mean --log-level?\n'],
  ])('%j ends with 2 and one line', async (args, line) => {
    expect(await start(launcher, args)).toEqual({ code: 2, stdout: '', stderr: line });
  });

  test('a kubeconfig that is not there ends the operator with 2 and one line', async () => {
    const ended = await start(launcher, [
      'run',
      '--kubeconfig=/nonexistent/config',
      '--http-address=127.0.0.1:0',
    ]);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(/^haulout: .*\/nonexistent\/config.*\n$/);
  });

  describe('without a usable Node.js', () => {
    test('says in one line what is there and what to do', async () => {
      const { program, path } = await checkout('old', 'v24.8.1');
      const ended = await start(program, ['--version'], { PATH: path });
      expect(ended).toMatchObject({ code: 2, stdout: '' });
      expect(ended.stderr).toMatch(
        /^haulout: needs Node.js 24\.9 or newer \(found: v24\.8\.1\): run 'npm install'.*\n$/,
      );
    });

    test('says in one line that the packages are missing', async () => {
      const { program, path } = await checkout('bare', 'v26.0.0');
      const ended = await start(program, ['--version'], { PATH: path });
      expect(ended).toMatchObject({ code: 2, stdout: '' });
      expect(ended.stderr).toMatch(/^haulout: its packages are missing: run 'npm install' in .*\n$/);
    });
  });
});
