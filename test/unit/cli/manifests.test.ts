import { describe, expect, it } from '@jest/globals';
import type { FieldPath } from '../../../src/api/problem.ts';
import { readManifests } from '../../../src/cli/manifests.ts';

function only(text: string) {
  const [manifest, ...others] = readManifests(text);
  if (manifest?.kind !== 'object' || others.length > 0) throw new Error('not one object');
  return manifest;
}

describe('readManifests', () => {
  it.each<[string, number]>([
    ['', 0],
    ['\n\n', 0],
    ['# only a comment\n', 0],
    ['---\n---\n', 0],
    ['---\na: 1\n---\n# nothing\n---\nb: 2\n', 2],
    ['{"a": 1}', 1],
    ['{\n\t"a": [\n\t\t1\n\t]\n}\n', 1],
    ['\uFEFFa: 1\r\nb: 2\r\n', 1],
  ])('%j: %d objects', (text, expected) => {
    expect(readManifests(text)).toHaveLength(expected);
  });

  it('reads scalars as kubectl does', () => {
    const text = 'a: yes\nb: "yes"\nc: 2026-11-21\nd: 10:30\ne: 010\nf: 1e3\ng: ~\nh: 4.2\n';
    expect(only(text).object).toEqual({
      a: true,
      b: 'yes',
      c: '2026-11-21',
      d: '10:30',
      e: 8,
      f: 1000,
      g: null,
      h: 4.2,
    });
  });

  it('follows anchors and merges', () => {
    const text = 'base: &base\n  x: 1\nother:\n  <<: *base\n  z: 2\nalias: *base\n';
    expect(only(text).object).toMatchObject({ other: { x: 1, z: 2 }, alias: { x: 1 } });
  });

  it.each<[FieldPath, number]>([
    [[], 3],
    [['kind'], 4],
    [['spec'], 5],
    [['spec', 'missing'], 5],
    [['spec', 'taints'], 6],
    [['spec', 'taints', 0], 7],
    [['spec', 'taints', 1], 9],
    [['spec', 'taints', 1, 'effect'], 10],
    [['spec', 'taints', 1, 'missing'], 9],
    [['spec', 'taints', 7], 6],
    [['spec', 'list', 1], 13],
    [['missing', 'deeper'], 3],
    [['spec', 'alias', 'key'], 7],
  ])('knows the line of %j', (path, line) => {
    const text = `# a comment
---
apiVersion: v1
kind: X
spec:
  taints:
  - &first {key: a}

  - key: b
    effect: c
  list:
    - 1
    - 2
  alias: *first
`;
    expect(only(text).lineOf(path)).toBe(line);
  });

  it('takes the items of a list one by one, with their own lines', () => {
    const manifests = readManifests('kind: List\nitems:\n- kind: A\n- kind: B\n  spec:\n    x: 1\n');
    expect(manifests.map((one) => one.kind === 'object' && one.object)).toEqual([
      { kind: 'A' },
      { kind: 'B', spec: { x: 1 } },
    ]);
    expect(manifests.map((one) => one.kind === 'object' && one.lineOf(['spec', 'x']))).toEqual([3, 6]);
  });

  it.each<[string, number, string]>([
    ['a: 1\na: 2\n', 2, 'the same field is written twice'],
    ['a: 1\nb: [1, 2\n', 3, 'cannot be read as YAML or JSON'],
    ['{"a": 1,}}', 1, 'cannot be read as YAML or JSON'],
    ['a: *nowhere\n', 1, 'nowhere'],
    [billionLaughs(), 1, 'alias'],
  ])('%j: line %d, %s', (text, line, message) => {
    const [manifest] = readManifests(text);
    expect(manifest).toMatchObject({ kind: 'syntax', line });
    expect(manifest?.kind === 'syntax' && manifest.message).toContain(message);
  });

  it('reads on after a document that cannot be read', () => {
    expect(readManifests('a: 1\na: 2\n---\nb: 1\n').map(({ kind }) => kind)).toEqual(['syntax', 'object']);
  });
});

/** Nine levels of nine aliases each: 400 million strings from a few lines. */
function billionLaughs(): string {
  const levels = Array.from({ length: 9 }, (_, i) => `l${i + 1}: &l${i + 1} [${`*l${i},`.repeat(9)}]`);
  return `l0: &l0 ha\n${levels.join('\n')}\n`;
}
