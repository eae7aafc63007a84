import { describe, expect, it } from '@jest/globals';
import { CelRules } from '../../../src/api/cel.ts';
import { identify } from '../../../src/api/identity.ts';
import { formatPath } from '../../../src/api/problem.ts';
import { isObject } from '../../../src/api/schema.ts';
import { createValidator } from '../../../src/api/validation.ts';
import { badEdits, badObjects } from '../../fixtures/bad-objects.ts';
import { goodObjects, maintenance } from '../../fixtures/good-objects.ts';

const check = createValidator();

/** `field: message (hint)` of everything that is wrong. */
function complaints(object: unknown): string[] {
  const identity = identify(object);
  if (identity.kind === 'foreign') throw new Error('not ours');
  const problems = identity.kind === 'ours' ? check(identity.object) : [identity.problem];
  return problems.map(
    ({ path, message, hint }) => `${formatPath(path)}: ${message}${hint === undefined ? '' : ` (${hint})`}`,
  );
}

describe('a bad object', () => {
  it.each(badObjects)('with $name', ({ object, field, sentence }) => {
    const found = complaints(object);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(sentence);
    expect(found[0]?.startsWith(`${field}: `)).toBe(true);
  });

  it('of the table has a title of its own', () => {
    expect(new Set(badObjects.map(({ name }) => name)).size).toBe(badObjects.length);
  });
});

describe('a good object', () => {
  it.each(goodObjects)('with $name', ({ object }) => {
    expect(complaints(object)).toEqual([]);
  });

  it('is one whose nodeName was something else before: offline there is no before', () => {
    const edit = badEdits.find(({ field }) => field === 'spec.nodeName');
    expect(edit).toBeDefined();
    expect(complaints(edit?.after)).toEqual([]);
  });

  it('is one with a status, which the server ignores', () => {
    expect(complaints({ ...maintenance({}), status: { phase: 'Draining', blockersTotal: 'many' } })).toEqual(
      [],
    );
  });
});

describe('what to write instead', () => {
  it.each<[object, string]>([
    [maintenance({ nodename: 'w' }), '(did you mean spec.nodeName?)'],
    [maintenance({ node_name: 'w' }), '(did you mean spec.nodeName?)'],
    [maintenance({ timeoutSeconds: 1 }), '(did you mean spec.drain.timeoutSeconds?)'],
    [maintenance({ podSelector: {} }), '(did you mean spec.drain.podSelector?)'],
    [maintenance({ drain: { timeoutSecs: 1 } }), '(did you mean spec.drain.timeoutSeconds?)'],
    [maintenance({ drain: { suspend: true } }), '(did you mean spec.suspend?)'],
    [
      maintenance({ drain: { podSelector: { app: 'web' } } }),
      '(labels go under spec.drain.podSelector.matchLabels)',
    ],
    [
      maintenance({ taints: [{ key: 'a', efect: '', effect: 'NoSchedule' }] }),
      '(did you mean spec.taints[0].effect?)',
    ],
    [maintenance({ xyzzy: 1 }), '(the fields of spec are nodeName, reason, '],
    [{ ...maintenance({}), nodeName: 'w' }, '(did you mean spec.nodeName?)'],
    [{ ...maintenance({}), status: { phse: '' } }, '(did you mean status.phase?)'],
    [{ ...maintenance({}), metadata: { name: 'a', lables: {} } }, '(did you mean metadata.labels?)'],
    [maintenance({ suspend: 'True' }), '(write true without quotes)'],
    [maintenance({ reason: 4.2 }), '(write it in quotes: "4.2")'],
    [maintenance({ drain: { timeoutSeconds: '2h' } }), '(write 7200, the number of seconds)'],
    [maintenance({ drain: { timeoutSeconds: '90' } }), '(write 90 without quotes)'],
    [maintenance({ drain: { timeoutSeconds: 'soon' } }), '(write a whole number)'],
    [maintenance({ drain: { timeoutSeconds: 1.5 } }), '(write a whole number)'],
    [{ ...maintenance({}), apiVersion: 'haulout.dev/v1' }, '(write apiVersion: haulout.dev/v1alpha1)'],
    [
      { ...maintenance({}), apiVersion: 'nodemaintenance.medik8s.io/v1beta1' },
      'the medik8s node maintenance operator',
    ],
    [{ ...maintenance({}), kind: 'nodemaintenance' }, '(write kind: NodeMaintenance)'],
    [{ kind: 'NodeMaintenance' }, '(write apiVersion: haulout.dev/v1alpha1)'],
    [{ spec: {} }, '(write kind: NodeMaintenance)'],
  ])('%j: %s', (object, advice) => {
    expect(complaints(object).join('\n')).toContain(advice);
  });
});

describe('metadata', () => {
  it.each<[unknown, string]>([
    [undefined, 'metadata.name: Required value'],
    [null, 'metadata.name: Required value'],
    [{}, 'metadata.name: Required value'],
    [[], 'metadata: Invalid value: metadata must be an object'],
    [{ name: 3 }, 'metadata.name: Invalid value: a name must be a string (write it in quotes: "3")'],
    [{ name: 'a', labels: { 'a b': 'c' } }, 'metadata.labels.a b: Invalid value: "a b"'],
    [{ name: 'a', labels: { a: 'b c' } }, 'metadata.labels.a: Invalid value: "b c"'],
    [{ name: 'a', labels: { a: true } }, '(write it in quotes: "true")'],
    [{ name: 'a', labels: [] }, 'metadata.labels: Invalid value: labels must be a map of strings'],
    [{ name: 'a', annotations: { 'a b': 'c' } }, 'metadata.annotations.a b: Invalid value'],
  ])('%j: %s', (metadata, complaint) => {
    expect(complaints({ ...maintenance({}), metadata }).join('\n')).toContain(complaint);
  });

  it.each([
    { generateName: 'a-' },
    { name: 'a', labels: { a: null, b: '' } },
    { name: 'a', annotations: { 'A/b': 'c d' } },
  ])('%j is right', (metadata) => {
    expect(complaints({ ...maintenance({}), metadata })).toEqual([]);
  });
});

describe('several problems', () => {
  it('are all named, and rules about broken values are not asked', () => {
    const found = complaints(
      maintenance({
        nodeName: 'A',
        taints: [{ key: 'haulout.dev/x', effect: 'NoExecute' }],
        drain: {
          onTimeout: 'Delete',
          timeoutSeconds: 'soon',
          podSelector: { matchLabels: { a: 1, 'b c': 'd' } },
        },
      }),
    );
    expect(found.map((line) => line.slice(0, line.indexOf(': '))).toSorted()).toEqual([
      'spec.drain.podSelector.matchLabels.a',
      'spec.drain.timeoutSeconds',
      'spec.nodeName',
      'spec.taints[0].effect',
      'spec.taints[0].key',
    ]);
  });

  it('of the wrong type are one each, although the enum fails as well', () => {
    expect(complaints(maintenance({ nodeDrainPolicy: 3 }))).toHaveLength(1);
  });
});

describe('a selector that the CRD lets pass and nothing can parse', () => {
  it('is reported with what it would lead to', () => {
    const prefix = Array.from({ length: 5 }, () => 'x'.repeat(60)).join('.');
    const [first, ...others] = complaints(
      maintenance({ drain: { podSelector: { matchLabels: { [`${prefix}/a`]: 'b' } } } }),
    );
    expect(others).toEqual([]);
    expect(first).toMatch(
      /^spec\.drain\.podSelector: .*before the "\/" must be a DNS name.*nothing would be evicted/,
    );
  });
});

describe('identify', () => {
  it.each<[unknown, string]>([
    [{ apiVersion: 'v1', kind: 'ConfigMap' }, 'foreign'],
    [{ apiVersion: 'apps/v1', kind: 'Deployment' }, 'foreign'],
    [maintenance({}), 'ours'],
    ['text', 'mistaken'],
    [[], 'mistaken'],
    [null, 'mistaken'],
    [{ kind: 'ConfigMap' }, 'mistaken'],
    [{ apiVersion: 'haulout.dev/v1alpha1', kind: 'ConfigMap' }, 'mistaken'],
  ])('%j is %s', (object, kind) => {
    expect(identify(object).kind).toBe(kind);
  });
});

describe('CelRules', () => {
  it.each<[string, RegExp]>([
    ['self ==', /./],
    ['other == 1', /CEL rule "other == 1"/],
  ])('refuses a schema with the rule %s', (rule, message) => {
    expect(() => new CelRules({ 'x-kubernetes-validations': [{ rule, message: '' }] })).toThrow(message);
  });

  it('leaves rules about edits to the server', () => {
    const rules = new CelRules({ 'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'no' }] });
    expect(rules.check('a', [], [])).toEqual([]);
  });
});

describe('the validator', () => {
  it('changes nothing in what it is given', () => {
    const object = maintenance({ drain: {}, reason: null });
    const before = structuredClone(object);
    if (!isObject(object)) throw new Error('not an object');
    check(object);
    expect(object).toEqual(before);
  });
});
