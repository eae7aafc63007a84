// The YAML in the documentation, as somebody would copy it.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { repositoryRoot } from '../../../hack/cluster/lib/paths.ts';
import { validateCommand } from '../../../src/cli/validate.ts';

const pages = ['README.md', ...readdirSync(join(repositoryRoot, 'docs')).map((name) => join('docs', name))]
  .filter((page) => page.endsWith('.md'))
  .map((page) => ({ page, text: readFileSync(join(repositoryRoot, page), 'utf8') }));

/** What stands between ```yaml and ```. */
function yamlBlocks(markdown: string): string[] {
  return [...markdown.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, block]) => block ?? '');
}

async function validate(manifest: string) {
  let out = '';
  let err = '';
  const code = await validateCommand(['-'], {
    stdout: { write: (text: string) => (out += text) },
    stderr: { write: (text: string) => (err += text) },
    stdin: once(Buffer.from(manifest)),
  });
  return { code, out, err };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

describe('examples in the documentation', () => {
  const ours = pages.flatMap(({ page, text }) =>
    yamlBlocks(text)
      .filter((block) => block.includes('haulout.dev/'))
      .map((block, index) => ({ page, number: index + 1, block })),
  );

  it.each(ours)('$page, number $number is valid', async ({ block }) => {
    expect(await validate(block)).toMatchObject({ code: 0, err: '' });
  });
});

describe('docs/coming-from.md', () => {
  const comingFrom = pages.find(({ page }) => page === join('docs', 'coming-from.md'))?.text ?? '';
  const sections = comingFrom
    .split(/^## /m)
    .slice(1)
    .map((text) => ({ tool: text.slice(0, text.indexOf('\n')), text }));

  it('has a section for each tool', () => {
    expect(sections.map(({ tool }) => tool)).toEqual([
      'kubectl drain',
      'medik8s node-maintenance-operator',
      'Gardener machine-controller-manager',
      'Cluster API',
      'Karpenter',
      'What has no counterpart there',
    ]);
  });

  it.each(sections.slice(0, -1))('ends the section on $tool with one NodeMaintenance', async ({ text }) => {
    const last = yamlBlocks(text).at(-1) ?? '';
    expect(await validate(last)).toEqual({ code: 0, out: '1 NodeMaintenance valid\n', err: '' });
  });

  it('names a field, on the side of haulout, only where there is one', () => {
    const schema = readFileSync(join(repositoryRoot, 'docs', 'api-reference.md'), 'utf8');
    const rows = sections.slice(0, -1).flatMap(({ text }) => text.match(/^\|.*\|$/gm) ?? []);
    const fields = rows
      .map((row) => row.split(' | ')[1] ?? '')
      .flatMap((cell) => [
        ...cell.matchAll(/`(?:spec\.|status\.)?((?:[a-z][A-Za-z]*\.)*[a-z][A-Za-z]*)(?::[^`]*)?`/g),
      ])
      .map(([, path]) => path?.split('.').at(-1) ?? '');
    expect(fields.length).toBeGreaterThan(50);
    expect(fields.filter((field) => !schema.includes(`| \`${field}\` |`))).toEqual([]);
  });
});
