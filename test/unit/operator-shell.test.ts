import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import base from '@dot-i/k8s-operator';

// docs/adr/0001-operator-shell.md: the shell is used, the working parts (some of which end the process) are not.
const root = join(import.meta.dirname, '../../src');
const shell = ['constructor', 'start', 'init', 'stop'];

async function sources(): Promise<{ path: string; text: string }[]> {
  const paths = (await readdir(root, { recursive: true })).filter((path) => path.endsWith('.ts'));
  return Promise.all(paths.map(async (path) => ({ path, text: await readFile(join(root, path), 'utf8') })));
}

test('only the operator itself knows the package', async () => {
  const importing = (await sources()).filter(({ text }) => text.includes("'@dot-i/k8s-operator'"));
  expect(importing.map(({ path }) => path)).toEqual(['operator.ts']);
});

test('the operator calls no working part of its base class', async () => {
  const parts = Object.getOwnPropertyNames(base.default.prototype).filter((name) => !shell.includes(name));
  expect(parts).toContain('watchResource');
  const text = await readFile(join(root, 'operator.ts'), 'utf8');
  for (const part of parts) expect(text).not.toContain(part);
  // The stop of the base class ends watches in a way that ends the process.
  expect(text).toMatch(/override stop\(\)/);
  expect(text).not.toContain('super.stop');
});
