import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { confine } from '../../../hack/demo/confine.ts';

interface Manifest {
  kind: string;
  metadata: { labels?: Record<string, string> };
  spec?: { template?: { spec: object } };
}

const made = { 'test.haulout.dev/made-for': 'demo' };
const tolerations = [{ key: 'test.haulout.dev/fake-node', operator: 'Exists', effect: 'NoSchedule' }];

const read = (text: string): Manifest[] =>
  parseAllDocuments(text).map((document) => document.toJS() as Manifest);

test('every pod of the shop stays on nodes of the demo, and its namespace can be found again', () => {
  const text = readFileSync('examples/shop.yaml', 'utf8');
  const before = read(text);
  const after = read(confine(text));
  expect(after.map(({ kind }) => kind)).toEqual(before.map(({ kind }) => kind));
  const pods = after.flatMap(({ kind, spec }) => (kind === 'Pod' ? spec : spec?.template?.spec) ?? []);
  expect(pods).toHaveLength(7);
  for (const pod of pods) expect(pod).toMatchObject({ nodeSelector: made, tolerations });
  const namespaces = after.filter(({ kind }) => kind === 'Namespace');
  expect(namespaces.map(({ metadata }) => metadata.labels)).toEqual([made]);
});

test('what a pod asks for already stays', () => {
  const pod = { nodeSelector: { disk: 'ssd' }, tolerations: [{ operator: 'Exists' }] };
  const [after] = read(confine(JSON.stringify({ kind: 'Pod', metadata: { name: 'a' }, spec: pod })));
  expect(after?.spec).toEqual({
    nodeSelector: { disk: 'ssd', ...made },
    tolerations: [...pod.tolerations, ...tolerations],
  });
});
