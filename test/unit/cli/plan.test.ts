import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { UsageError } from '../../../src/cli/exit.ts';
import { planCommand, planHelp } from '../../../src/cli/plan.ts';

let directory = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'haulout-plan-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

async function plan(args: readonly string[], input = '') {
  let out = '';
  let err = '';
  const code = await planCommand(args, {
    stdout: { write: (text: string) => (out += text) },
    stderr: { write: (text: string) => (err += text) },
    stdin: chunks(input),
  });
  return { code, out, err };
}

async function* chunks(text: string): AsyncGenerator<string> {
  yield await Promise.resolve(text);
}

const manifest = (name: string, nodeName: string) =>
  `apiVersion: haulout.dev/v1alpha1\nkind: NodeMaintenance\nmetadata: {name: ${name}}\nspec: {nodeName: ${nodeName}}\n---\n`;

describe('refuses, in one line that says what to write instead,', () => {
  test.each<[readonly string[], string, string]>([
    [[], '', 'no node given: write haulout plan NODE, or haulout plan -f FILE'],
    [['a', 'b'], '', 'unexpected argument "b": haulout plan takes one NODE, see haulout plan --help'],
    [['a', '--otput=json'], '', 'unknown flag "--otput": did you mean --output?'],
    [['a', '-output', 'json'], '', 'unknown flag "-output": did you mean --output?'],
    [['a', '-x'], '', 'unknown flag "-x": see haulout plan --help'],
    [['a', '-o'], '', '--output needs a value: write -o, --output FORMAT'],
    [['a', '-o', 'yaml'], '', '--output "yaml" cannot be used: write text or json'],
    [['a', '-oyaml'], '', '--output "yaml" cannot be used: write text or json'],
    [['a', '-o=yaml'], '', '--output "yaml" cannot be used: write text or json'],
    [['a', '--kubeconfig='], '', '--kubeconfig "" cannot be used: write a value, or leave the flag out'],
    [
      ['a', '--allow-pod-deletion=no'],
      '',
      '--allow-pod-deletion "no" cannot be used: write --allow-pod-deletion=true or --allow-pod-deletion=false',
    ],
    [['a', '-f', '/nonexistent'], '', 'cannot read /nonexistent: there is no such file'],
    [['-f', '-'], '', 'standard input holds no NodeMaintenance'],
    [['-f', '-'], 'apiVersion: v1\nkind: Pod\n', 'standard input holds no NodeMaintenance'],
    [
      ['b', '-f', '-'],
      manifest('x', 'a'),
      'standard input is about node a and not b: write haulout plan a -f -, or leave the node out',
    ],
    [
      ['-f', '-'],
      manifest('x', 'a') + manifest('z', 'b'),
      'standard input holds 2 NodeMaintenances that could be meant: name the node',
    ],
    [
      ['a', '-f', '-'],
      manifest('x', 'a') + manifest('z', 'a'),
      'standard input holds 2 NodeMaintenances that could be meant: keep one of them in the file',
    ],
  ])('%j', async (args, input, message) => {
    await expect(plan(args, input)).rejects.toThrow(new UsageError(message));
  });
});

test('says what is wrong with a manifest as haulout validate does, and ends with 2', async () => {
  const file = join(directory, 'bad.yaml');
  writeFileSync(
    file,
    `${manifest('x', 'a')}apiVersion: haulout.dev/v1alpha1\nkind: NodeMaintenance\nspec:\n  nodename: a\n`,
  );
  const { code, out, err } = await plan(['-f', file]);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err.replaceAll(file, 'bad.yaml')).toContain(
    'bad.yaml:9: spec.nodename: unknown field "spec.nodename" (did you mean spec.nodeName?)\n',
  );
});

test('a cluster that cannot be reached is told in one line', async () => {
  const file = join(directory, 'kubeconfig');
  const [cluster, user] = [{ server: 'https://127.0.0.1:1' }, { token: 'x' }];
  const config = {
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  writeFileSync(file, JSON.stringify(config));
  await expect(plan(['a', '--kubeconfig', file])).rejects.toThrow(
    /^cannot list nodes: .*ECONNREFUSED.*; check --kubeconfig and --context$/,
  );
  await expect(plan(['a', '--kubeconfig', file, '--context', 'y'])).rejects.toThrow('has no context "y"');
});

test('--help lists the flags and the exit codes', async () => {
  expect(await plan(['a', '--help'])).toEqual({ code: 0, out: planHelp, err: '' });
  for (const text of ['-f, --filename', '-o, --output', '--kubeconfig', '--context', 'Exit code: 0 ']) {
    expect(planHelp).toContain(text);
  }
});
