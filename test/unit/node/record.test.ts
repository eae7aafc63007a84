import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type NodeRecord, formatRecord, parseRecord, parseRestoreData } from '../../../src/node/record.ts';

const strings = fc.dictionary(fc.string(), fc.string(), { maxKeys: 4 });
const records: fc.Arbitrary<NodeRecord> = fc.record({
  holders: fc.array(fc.record({ name: fc.string(), uid: fc.string(), reason: fc.string() }), {
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

const taintOf = (key: string) => ({ key, effect: 'NoSchedule' });

function adding(labels: Record<string, string>, taints: NodeRecord['added']['taints']): NodeRecord {
  return { holders: [], before: { unschedulable: false }, added: { labels, annotations: {}, taints } };
}

test('the order in which additions were found does not show', () => {
  expect(formatRecord(adding({ a: '1', b: '2' }, [taintOf('x'), taintOf('y')]))).toBe(
    formatRecord(adding({ b: '2', a: '1' }, [taintOf('y'), taintOf('x')])),
  );
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
