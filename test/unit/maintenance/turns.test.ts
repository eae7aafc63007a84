import { describe, expect, test } from '@jest/globals';
import {
  type NodeLimit,
  nextTurns as nextTurnsOf,
  nodesAllowed,
  wantsTurn,
} from '../../../src/maintenance/turns.ts';
import { type MaintenanceOptions, at, maintenance } from '../../fixtures/objects.ts';

test.each<[NodeLimit, number, number]>([
  [{ kind: 'count', count: 3 }, 100, 3],
  [{ kind: 'count', count: 0 }, 100, 1],
  [{ kind: 'percent', percent: 10 }, 11, 1],
  [{ kind: 'percent', percent: 10 }, 20, 2],
  [{ kind: 'percent', percent: 10 }, 29, 2],
  [{ kind: 'percent', percent: 10 }, 3, 1],
  [{ kind: 'percent', percent: 0 }, 100, 1],
  [{ kind: 'percent', percent: 100 }, 7, 7],
])('%j of %d nodes: %d', (limit, nodes, expected) => expect(nodesAllowed(limit, nodes)).toBe(expected));

function of(nodeName: string, options: MaintenanceOptions = {}, name = nodeName) {
  return maintenance({}, { nodeName, ...options }, name);
}

const nextTurns = (input: Omit<Parameters<typeof nextTurnsOf>[0], 'refused'>) =>
  nextTurnsOf({ refused: new Set(), ...input });

describe('whose turn it is', () => {
  test('in order of creation, and of names within a second', () => {
    const waiting = [of('late', { createdAt: at(5) }), of('b'), of('a')];
    expect(nextTurns({ limit: 2, held: new Set(), waiting })).toEqual(['a', 'b']);
    expect(nextTurns({ limit: 9, held: new Set(), waiting })).toEqual(['a', 'b', 'late']);
  });

  test('a node counts once and comes with its oldest maintenance', () => {
    const waiting = [
      of('x', { createdAt: at(9) }, 'x-2'),
      of('y', { createdAt: at(5) }),
      of('x', { createdAt: at(1) }, 'x-1'),
    ];
    expect(nextTurns({ limit: 1, held: new Set(), waiting })).toEqual(['x']);
    expect(nextTurns({ limit: 2, held: new Set(), waiting })).toEqual(['x', 'y']);
  });

  test('nodes that are out of service take their places, also more of them than there are', () => {
    const waiting = [of('a'), of('b')];
    expect(nextTurns({ limit: 2, held: new Set(['x']), waiting })).toEqual(['a']);
    expect(nextTurns({ limit: 2, held: new Set(['x', 'y', 'z']), waiting })).toEqual([]);
    expect(nextTurns({ limit: 2, held: new Set(['a']), waiting })).toEqual(['b']);
  });

  test('nodes that could not be cordoned come last', () => {
    const waiting = [of('a'), of('b'), of('c')];
    const refused = new Set(['a', 'b']);
    expect(nextTurnsOf({ limit: 1, held: new Set(), waiting, refused })).toEqual(['c']);
    expect(nextTurnsOf({ limit: 2, held: new Set(), waiting, refused })).toEqual(['c', 'a']);
  });
});

test.each<[string, Parameters<typeof maintenance>[0], MaintenanceOptions, boolean]>([
  ['Evacuate', {}, {}, true],
  ['NoSchedule', { nodeDrainPolicy: 'NoSchedule' }, {}, true],
  ['Ignore', { nodeDrainPolicy: 'Ignore' }, {}, false],
  ['suspended', { suspend: true }, {}, false],
  ['being deleted', {}, { deletionTimestamp: at(0) }, false],
])('%s wants a turn: %j', (_, spec, options, expected) => {
  expect(wantsTurn(maintenance(spec, options))).toBe(expected);
});
