import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { cleanMessage } from '../../../src/runtime/plain-text.ts';
import { type NodeRecord, formatRecord, parseRecord, parseRestoreData } from '../../../src/node/record.ts';

const strings = fc.dictionary(fc.string(), fc.string(), { maxKeys: 4 });
const clean = fc.string().map((text) => cleanMessage(text));
const records: fc.Arbitrary<NodeRecord> = fc.record({
  holders: fc.array(fc.record({ name: fc.constantFrom('m1', 'a.b-2'), uid: fc.string(), reason: clean }), {
    minLength: 1,
    maxLength: 3,
  }),
  before: fc.record({ unschedulable: fc.boolean() }),
  added: fc.record({
    labels: strings,
    annotations: strings,
    taints: fc.uniqueArray(
      fc.record({ key: fc.string(), value: fc.string({ minLength: 1 }), effect: fc.constant('NoSchedule') }),
      { maxLength: 3, selector: ({ key }) => key },
    ),
  }),
});

test('what is written can be read, and is the same text again', () => {
  fc.assert(
    fc.property(records, (record) => {
      const text = formatRecord(record);
      const read = parseRecord(text);
      expect(read && formatRecord(read)).toBe(text);
    }),
  );
});

const m1 = { name: 'm1', uid: 'u', reason: '' };
const taintOf = (key: string) => ({ key, effect: 'NoSchedule' });

function adding(labels: Record<string, string>, taints: NodeRecord['added']['taints']): NodeRecord {
  return { holders: [m1], before: { unschedulable: false }, added: { labels, annotations: {}, taints } };
}

test('the order in which additions were found does not show', () => {
  expect(formatRecord(adding({ a: '1', b: '2' }, [taintOf('x'), taintOf('y')]))).toBe(
    formatRecord(adding({ b: '2', a: '1' }, [taintOf('y'), taintOf('x')])),
  );
});

test('any number of maintenances with the longest reasons leaves room for annotations of others', () => {
  const reason = `"${'\\\u0001😀'.repeat(400)}`;
  const holders = [...Array(500).keys()].map((at) => ({
    name: `${'n'.repeat(250)}${at}`,
    uid: 'u'.repeat(36),
    reason,
  }));
  const taints = [...Array(128).keys()].map((at) => ({
    key: `${'k'.repeat(310)}${at}`,
    value: 'v'.repeat(63),
    effect: 'PreferNoSchedule',
  }));
  const text = formatRecord({ ...adding({}, taints), holders });
  expect(Buffer.byteLength(text)).toBeLessThan(160 * 1024);
  expect(parseRecord(text)?.holders).toHaveLength(64);
});

const forged = (labels: Record<string, string>, taints: NodeRecord['added']['taints']) =>
  parseRecord(JSON.stringify(adding(labels, taints)))?.added;

describe('what a kubelet may not change on its own Node is not changed for it', () => {
  test.each([
    'node-restriction.kubernetes.io/tenant',
    'node-role.kubernetes.io/worker',
    'kubernetes.io/hostname',
    'topology.k8s.io/zone',
  ])('label %s', (key) => {
    expect(forged({ [key]: 'a', 'haulout.dev/maintenance': 'true' }, [])?.labels).toEqual({
      'haulout.dev/maintenance': 'true',
    });
  });

  test.each([
    ['node.kubernetes.io/out-of-service', 'NoSchedule'],
    ['node.cloudprovider.kubernetes.io/shutdown', 'NoSchedule'],
    ['haulout.dev/other', 'NoSchedule'],
    ['haulout.dev/maintenance', 'NoExecute'],
    ['example.com/quarantine', 'NoExecute'],
  ])('taint %s:%s', (key, effect) => {
    const mark = { key: 'haulout.dev/maintenance', effect: 'PreferNoSchedule' };
    expect(forged({}, [{ key, effect }, mark])?.taints).toEqual([mark]);
  });
});

const withHolders = (...holders: unknown[]) => JSON.stringify({ ...adding({}, []), holders });

describe('hostile records', () => {
  const holder = { name: 'm1', uid: 'u', reason: '' };

  test('keys that every object seems to have', () => {
    const text = `{"holders":[{"name":"m1","uid":"u","reason":""}],"before":{"unschedulable":true,"__proto__":{"unschedulable":false}},
      "added":{"labels":{"__proto__":"x","constructor":"y"},"annotations":{"toString":"z"},"taints":[]},
      "__proto__":{"holders":[{}]}}`;
    const record = parseRecord(text);
    expect(record?.before).toEqual({ unschedulable: true });
    expect(Object.entries(record?.added.labels ?? {})).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
    expect(({} as Record<string, unknown>)['holders']).toBeUndefined();
  });

  test('of a key that is there twice the last one counts, as in every reader of JSON', () => {
    const text = formatRecord(adding({}, [])).replace('{"holders"', '{"holders":7,"holders"');
    expect(parseRecord(text)).toBeDefined();
  });

  test.each<[string, string]>([
    ['a name that leads elsewhere', withHolders({ ...holder, name: '../../../../api/v1/nodes/x' })],
    ['no name', withHolders({ ...holder, name: '' })],
    ['a name with an escape sequence', withHolders({ ...holder, name: 'a\u001b[2J' })],
    ['a number for a uid', withHolders({ ...holder, uid: 7 })],
    ['more holders than anybody has', withHolders(...Array.from({ length: 5_000 }, () => holder))],
    ['a quarter of a megabyte of nothing', ' '.repeat(256 * 1024)],
    ['lists in lists', '['.repeat(100_000)],
    ['lists in lists that end', `${'['.repeat(5_000)}${']'.repeat(5_000)}`],
  ])('%s', (_, text) => expect(parseRecord(text)).toBeUndefined());
});

describe('half a record is as good as none', () => {
  const whole = {
    holders: [{ name: 'm1', uid: 'u', reason: '' }],
    before: { unschedulable: false },
    added: { labels: {}, annotations: {}, taints: [] },
  };
  test('a whole one is read', () => expect(parseRecord(JSON.stringify(whole))).toEqual(whole));
  test.each<[string, string]>([
    ['no JSON', 'x'],
    ['nothing', ''],
    ['cut off', JSON.stringify(whole).slice(0, -1)],
    ['null', 'null'],
    ['a list', '[]'],
    ['a number', '1'],
    ['empty', '{}'],
    ['of nobody', JSON.stringify({ ...whole, holders: [] })],
    ['without holders', JSON.stringify({ ...whole, holders: undefined })],
    ['with a holder that is no object', JSON.stringify({ ...whole, holders: ['m1'] })],
    ['with a holder without uid', JSON.stringify({ ...whole, holders: [{ name: 'm1', reason: '' }] })],
    ['without before', JSON.stringify({ ...whole, before: undefined })],
    ['with text for a truth', JSON.stringify({ ...whole, before: { unschedulable: 'false' } })],
    ['without added', JSON.stringify({ ...whole, added: undefined })],
    ['with a number for a label', JSON.stringify({ ...whole, added: { labels: { a: 1 } } })],
    ['with a list of labels', JSON.stringify({ ...whole, added: { labels: ['a'] } })],
    ['with a taint without effect', JSON.stringify({ ...whole, added: { taints: [{ key: 'a' }] } })],
    ['with one taint instead of a list', JSON.stringify({ ...whole, added: { taints: { key: 'a' } } })],
  ])('%s', (_, text) => expect(parseRecord(text)).toBeUndefined());

  test('no text at all makes it throw', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void parseRecord(text)));
  });
});

test('a status without before (a policy that does not cordon) is no record', () => {
  expect(parseRestoreData({ uid: 'u' })).toBeUndefined();
  expect(parseRestoreData(undefined)).toBeUndefined();
});
