import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { validateCommand } from '../../../src/cli/validate.ts';
import { badObjects } from '../../fixtures/bad-objects.ts';
import { goodObjects } from '../../fixtures/good-objects.ts';

let directory = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'haulout-validate-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

async function validate(args: string[], input?: string) {
  let out = '';
  let err = '';
  const code = await validateCommand(args, {
    stdout: { write: (text: string) => (out += text) },
    stderr: { write: (text: string) => (err += text) },
    ...(input === undefined ? {} : { stdin: chunks(input) }),
  });
  return { code, out: out.replaceAll(`${directory}/`, ''), err: err.replaceAll(`${directory}/`, '') };
}

async function* chunks(text: string): AsyncGenerator<Uint8Array> {
  // In pieces that cut characters in two, as a pipe may.
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 7) yield await Promise.resolve(bytes.subarray(at, at + 7));
}

const head = 'apiVersion: haulout.dev/v1alpha1\nkind: NodeMaintenance\nmetadata: {name: a}\n';

describe('haulout validate', () => {
  it('lets no file move the cursor of a terminal, begin lines or hide something', async () => {
    const hostile = JSON.stringify('x\u001b[2J\u009b2J\u202e\u200b\n1 NodeMaintenance valid');
    const bad = file('hostile.yaml', `${head}spec:\n  nodeName: ${hostile}\n  ${hostile}: 1\n`);
    const other = file('other.yaml', `apiVersion: v1\nkind: ${hostile}\nmetadata: {name: ${hostile}}\n`);
    const { code, out, err } = await validate([bad, other]);
    expect(code).toBe(1);
    expect((out + err).replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(out).not.toMatch(/^1 NodeMaintenance valid$/m);
  });

  it('ends with 0 when all is valid', async () => {
    const good = file('good.yaml', `${head}spec: {nodeName: w}\n---\n${head}spec: {nodeName: x}\n`);
    expect(await validate([good])).toEqual({ code: 0, out: '2 NodeMaintenances valid\n', err: '' });
  });

  it('names file, line, field and what to write instead, for all documents of all files', async () => {
    const first = file(
      'first.yaml',
      `${head}spec:\n  nodename: w\n---\n${head}spec:\n  nodeName: w\n  suspend: 1\n`,
    );
    const second = file('second.yaml', `${head}spec:\n  nodeName: w\n  drain:\n    onTimeout: Delete\n`);
    const { code, out, err } = await validate([first, second]);
    expect(out).toBe(
      `first.yaml:4: spec.nodeName: Required value
first.yaml:5: spec.nodename: unknown field "spec.nodename" (did you mean spec.nodeName?)
first.yaml:12: spec.suspend: Invalid value: "integer": spec.suspend in body must be of type boolean: "integer"
second.yaml:6: spec.drain.timeoutSeconds: Required value: onTimeout Delete needs timeoutSeconds: write after how many seconds the pods that a budget refuses are to be deleted, or leave onTimeout out
4 problems in 3 of 3 objects
`,
    );
    expect({ code, err }).toEqual({ code: 1, err: '' });
  });

  it('skips other kinds with a note, and counts them apart', async () => {
    const mixed = file(
      'mixed.yaml',
      `${head}spec: {nodeName: w}\n---\nkind: Namespace\napiVersion: v1\nmetadata: {name: shop}\n`,
    );
    expect(await validate([mixed])).toEqual({
      code: 0,
      out: '1 NodeMaintenance valid, 1 other object skipped\n',
      err: 'mixed.yaml:6: skipped: Namespace shop is not a NodeMaintenance\n',
    });
  });

  it('says so when there was nothing to check', async () => {
    const empty = file('empty.yaml', '# nothing\n');
    expect(await validate([empty])).toEqual({
      code: 0,
      out: 'no NodeMaintenance found\n',
      err: 'empty.yaml: holds no objects\n',
    });
  });

  it('reads standard input for -', async () => {
    const { code, out } = await validate(
      ['-'],
      `${head}spec: {nodeName: w, reason: "${'ü'.repeat(1024)}"}\n`,
    );
    expect({ code, out }).toEqual({ code: 0, out: '1 NodeMaintenance valid\n' });
    expect((await validate(['-'], `${head}spec: {}\n`)).out).toContain(
      '<stdin>:4: spec.nodeName: Required value\n',
    );
  });

  it('reads JSON', async () => {
    const json = file(
      'objects.json',
      JSON.stringify({ kind: 'List', items: goodObjects.map(({ object }) => object) }, null, 2),
    );
    expect(await validate([json])).toMatchObject({
      code: 0,
      out: `${goodObjects.length} NodeMaintenances valid\n`,
    });
  });

  it('finds each bad object of the table', async () => {
    const json = file(
      'bad.json',
      JSON.stringify({ kind: 'List', items: badObjects.map(({ object }) => object) }),
    );
    const { code, out } = await validate([json]);
    expect(code).toBe(1);
    expect(out.split('\n').slice(0, -2)).toHaveLength(badObjects.length);
    expect(out).toContain(
      `${badObjects.length} problems in ${badObjects.length} of ${badObjects.length} objects\n`,
    );
    for (const { field, sentence } of badObjects) {
      expect(out.split('\n').some((line) => line.includes(`: ${field}: `) && line.includes(sentence))).toBe(
        true,
      );
    }
  });

  it('calls a text that cannot be read invalid, on one line', async () => {
    const broken = file('broken.yaml', `${head}spec:\n  nodeName: w\n  nodeName: x\n---\na: [\n`);
    const { code, out } = await validate([broken]);
    expect(code).toBe(1);
    expect(out.split('\n')).toEqual([
      'broken.yaml:6: the same field is written twice: keep one of them',
      expect.stringMatching(/^broken\.yaml:\d: cannot be read as YAML or JSON: /),
      '2 problems in 2 of 2 objects',
      '',
    ]);
  });

  it('ends with 2 when a file cannot be read, and still checks the others', async () => {
    const bad = file('other.yaml', `${head}spec: {}\n`);
    const { code, out, err } = await validate([join(directory, 'nowhere.yaml'), directory, bad]);
    expect(code).toBe(2);
    expect(err).toContain('haulout validate: cannot read nowhere.yaml: there is no such file\n');
    expect(err).toContain(': it is a directory: name the files in it\n');
    expect(out).toContain('other.yaml:4: spec.nodeName: Required value\n');
  });

  it.each([
    [[], 'no file given'],
    [['--strict', 'x.yaml'], 'unknown flag --strict'],
  ])('ends with 2 and one line for %j', async (args, message) => {
    const { code, out, err } = await validate(args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(message);
    expect(err.trimEnd().split('\n')).toHaveLength(1);
  });

  it('explains itself', async () => {
    const { code, out } = await validate(['--help']);
    expect(code).toBe(0);
    expect(out).toMatch(/^Usage: haulout validate FILE\.\.\./);
  });
});
