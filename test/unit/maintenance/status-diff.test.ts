import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { NodeMaintenanceStatus } from '../../../src/api/types.generated.ts';
import { isUrgent, mergePatch, sameStatus } from '../../../src/maintenance/status-diff.ts';
import { applyMergePatch } from '../../fixtures/merge-patch.ts';
import { at } from '../../fixtures/objects.ts';

const { tree } = fc.letrec<{ tree: Record<string, unknown>; value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.integer({ min: 0, max: 2 }),
    fc.constantFrom('', 'a', 'b', true, false),
    fc.array(fc.oneof(fc.integer({ min: 0, max: 2 }), tie('tree')), { maxLength: 2 }),
    tie('tree'),
  ),
  tree: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'constructor'), tie('value'), {
    maxKeys: 4,
    noNullPrototype: true,
  }),
}));

test('a merge patch makes what was there into what should be, and is empty for the same', () => {
  fc.assert(
    fc.property(tree, tree, (before, after) => {
      expect(applyMergePatch(before, mergePatch(before, after))).toEqual(after);
      expect(mergePatch(before, before)).toEqual({});
    }),
  );
});

test.each<[string, object, object, object]>([
  ['a field that goes', { a: 1, b: { c: 1, d: 2 } }, { b: { d: 2 } }, { a: null, b: { c: null } }],
  ['a list changes as a whole', { a: [1, 2] }, { a: [2] }, { a: [2] }],
  ['an object in place of text', { a: 'x' }, { a: { b: 1 } }, { a: { b: 1 } }],
  ['an empty object comes', {}, { a: {} }, { a: {} }],
])('%s', (_, before, after, expected) => expect(mergePatch(before, after)).toEqual(expected));

const status: NodeMaintenanceStatus = {
  observedGeneration: 1,
  phase: 'Draining',
  startTime: at(0),
  node: { uid: 'u', before: { unschedulable: false }, added: { labels: {}, annotations: {}, taints: [] } },
  drain: {
    startTime: at(0),
    pods: { total: 2, gone: 0, remaining: 2, terminating: 0, ignored: 0 },
    progress: '0/2',
  },
  blockersTotal: 0,
  conditions: [
    { type: 'Ready', status: 'False', reason: 'Draining', message: '0 of 2', lastTransitionTime: at(0) },
  ],
};

describe('what may be held back', () => {
  const [ready] = status.conditions ?? [];
  const flip = ready && { ...ready, status: 'True' as const };
  test.each<[string, Partial<NodeMaintenanceStatus>, boolean]>([
    ['counts', { drain: { ...status.drain, progress: '1/2' } }, false],
    ['texts', { conditions: ready ? [{ ...ready, message: '1 of 2' }] : [] }, false],
    [
      'blockers',
      {
        blockersTotal: 1,
        blockers: [{ pod: { namespace: 'a', name: 'b' }, cause: 'X', message: '', since: at(0) }],
      },
      false,
    ],
    ['a flip', { conditions: flip ? [flip] : [] }, true],
    [
      'a condition that comes',
      { conditions: [...(status.conditions ?? []), ...(flip ? [{ ...flip, type: 'Stalled' }] : [])] },
      true,
    ],
    ['the generation', { observedGeneration: 2 }, true],
    ['the phase', { phase: 'Failed' }, true],
    ['the mirror of the record', { node: { uid: 'u', before: { unschedulable: true } } }, true],
    ['the start of the drain', { drain: { ...status.drain, startTime: at(1) } }, true],
    ['its end', { drain: { ...status.drain, completionTime: at(1) } }, true],
    ['time that counts', { drain: { ...status.drain, activeSeconds: 3 } }, true],
  ])('%s: urgent %j', (_, changes, expected) => {
    const after = { ...status, ...changes };
    expect(sameStatus(status, after)).toBe(false);
    expect(isUrgent(status, after)).toBe(expected);
  });

  test('the first status of all is urgent', () => expect(isUrgent(undefined, status)).toBe(true));
  test('the same is the same, whatever the order of its fields', () => {
    const turned = Object.fromEntries(Object.entries(status).toReversed());
    expect(sameStatus(status, turned)).toBe(true);
    expect(sameStatus(undefined, {})).toBe(false);
  });
});
