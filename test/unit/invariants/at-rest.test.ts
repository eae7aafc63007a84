// Each check is shown a cluster that is at rest and one in which something is lost.
import { describe, expect, test } from '@jest/globals';
import { lostAtRest } from '../../invariants/at-rest.ts';
import type { StateMaintenance } from '../../invariants/state.ts';
import { waitingInVain } from '../../invariants/turns-at-rest.ts';
import { cluster, lost, maintenance, node } from './state.ts';

const DRAINED = 'Ready=True/Drained Drained=True/Drained';
const NOT_DRAINED = 'Drained=False/PolicyDoesNotDrain';
const ANNOUNCED = `Ready=True/Announced Cordoned=False/PolicyIgnore ${NOT_DRAINED}`;
const notBegun = (reason: string): string =>
  `Ready=False/${reason} Cordoned=False/${reason} Drained=False/${reason}`;
const free = node('n', { spec: {} });
const waiting = maintenance(notBegun('WaitingForTurn'));

describe('a maintenance is lost', () => {
  test.each([
    [
      'that does not go',
      maintenance(DRAINED, {}, {}, { deletionTimestamp: 'then', finalizers: ['x'] }),
      'held by x',
    ],
    ['that nobody looked at', { ...maintenance(DRAINED), status: {} }, 'forgotten'],
    ['whose edit nobody looked at', maintenance(DRAINED, {}, { observedGeneration: 1 }), 'forgotten'],
  ])('%s', (_, one, words) => {
    expect(lost(one)).toEqual([expect.stringContaining(words)]);
  });

  test.each(['Cordoning', 'Updating', 'Restoring', 'UncordonedByHand', 'Released'])(
    'that is left with %s',
    (reason) => {
      const words = [`m does not get past ${reason}`];
      expect(lost(maintenance(`Ready=False/${reason} Cordoned=False/${reason}`))).toEqual(words);
      const suspended = `Ready=False/Suspended Cordoned=False/${reason} Drained=False/PodsRemaining`;
      expect(lost(maintenance(suspended, { suspend: true }))).toEqual(words);
    },
  );

  test.each(['NodeNotFound', 'NodeGone'])('that says %s of a node which is there', (reason) => {
    const one = maintenance(`Ready=False/${reason} Cordoned=Unknown/${reason}`);
    expect(lost(one)).toEqual([expect.stringContaining(`says ${reason}, and there is the node`)]);
    expect(lost(one, { nodes: [node('other', { spec: {} })] })).toEqual([]);
  });
});

const ALL = 'Cordoned=True/Cordoned';
const fails = { drain: { timeoutSeconds: 5 } };
const selects = { drain: { podSelector: { matchLabels: { app: 'y' } } } };
const deletes = { drain: { onTimeout: 'Delete', timeoutSeconds: 5 } };
const kept = 'Drained=False/PodsKept';
const remaining = 'Drained=False/PodsRemaining';

describe('a reason of Ready agrees with the spec and the node', () => {
  test.each<readonly [string, StateMaintenance['spec'] | object, boolean]>([
    [ANNOUNCED, { nodeDrainPolicy: 'Ignore' }, true],
    [ANNOUNCED, { nodeDrainPolicy: 'Ignore', suspend: true }, true],
    [ANNOUNCED, {}, false],
    [`Ready=True/Cordoned ${NOT_DRAINED}`, { nodeDrainPolicy: 'NoSchedule' }, true],
    [`Ready=True/Cordoned ${NOT_DRAINED}`, {}, false],
    [`Ready=True/Cordoned ${NOT_DRAINED}`, { nodeDrainPolicy: 'Evacuate' }, false],
    [`Ready=False/Cordoned ${NOT_DRAINED}`, { nodeDrainPolicy: 'NoSchedule' }, false],
    [DRAINED, {}, true],
    [DRAINED, { suspend: true }, true],
    [DRAINED, { nodeDrainPolicy: 'NoSchedule' }, false],
    [`Ready=True/Drained ${kept}`, {}, true],
    [`Ready=True/Drained ${remaining}`, {}, false],
    [`Ready=True/Drained Drained=True/Drained Cordoned=False/Suspended`, {}, false],
    [`Ready=False/DrainFailed ${remaining}`, fails, true],
    [`Ready=False/DrainFailed ${remaining}`, { drain: { unsatisfiableBudgets: 'Fail' } }, true],
    [`Ready=False/DrainFailed ${remaining}`, {}, false],
    [`Ready=False/DrainFailed ${remaining}`, deletes, false],
    [`Ready=False/DrainFailed ${remaining}`, { ...fails, suspend: true }, false],
    [`Ready=False/DrainFailed ${remaining}`, { ...fails, nodeDrainPolicy: 'NoSchedule' }, false],
    [`Ready=False/InvalidSpec ${kept}`, selects, true],
    [`Ready=False/InvalidSpec ${kept}`, {}, false],
    [`Ready=False/NotPermitted ${remaining}`, deletes, true],
    [`Ready=False/NotPermitted ${remaining}`, { drain: { blockedDeployments: 'Restart' } }, true],
    [`Ready=False/NotPermitted ${remaining}`, fails, false],
    [`Ready=False/Suspended ${remaining} ${ALL}`, { suspend: true }, true],
    [`Ready=False/Suspended ${remaining} ${ALL}`, { suspend: false }, false],
    [notBegun('Suspended'), { suspend: true }, true],
    [notBegun('Suspended'), {}, false],
    [notBegun('Suspended'), { suspend: true, nodeDrainPolicy: 'Ignore' }, false],
    [notBegun('WaitingForTurn'), {}, true],
    [notBegun('WaitingForTurn'), { suspend: true }, false],
    [notBegun('WaitingForTurn'), { nodeDrainPolicy: 'Ignore' }, false],
    ['Ready=False/Bored', {}, false],
  ])('%s of %j', (words, spec, isRight) => {
    const has = /Cordoned=False/.test(words) ? free : node();
    expect(lost(maintenance(words, spec), { nodes: [has] })).toHaveLength(isRight ? 0 : 1);
  });

  test('a drain that goes on is neither suspended nor of another policy', () => {
    const one = `Ready=False/Draining ${remaining}`;
    for (const spec of [{ suspend: true }, { nodeDrainPolicy: 'NoSchedule' }])
      expect(lost(maintenance(one, spec))).toContainEqual(expect.stringContaining('says False/Draining'));
    const leaves = node('n', { metadata: { name: 'n', deletionTimestamp: 'then' } });
    const guarded = { nodeDrainPolicy: 'Ignore', nodeDeletePolicy: 'Evict' };
    expect(lost(maintenance(DRAINED, guarded), { nodes: [leaves] })).toEqual([]);
  });

  test('a node that is cordoned is unschedulable, and is there', () => {
    expect(lost(maintenance(DRAINED), { nodes: [free] })).toEqual([
      expect.stringContaining('is schedulable'),
    ]);
    expect(lost(maintenance(DRAINED), { nodes: [] })).toEqual([expect.stringContaining('there is no node')]);
  });
});

const left = (one: StateMaintenance, on: object, ...put: readonly string[]): string[] =>
  lostAtRest(cluster({ maintenances: [one], nodes: [node('n', on)] }), () => put);

const says = (type: string, status: string): object => ({ status: { conditions: [{ type, status }] } });

describe('a node on which no maintenance has begun', () => {
  const ignored = maintenance(ANNOUNCED, { nodeDrainPolicy: 'Ignore' });
  const suspended = maintenance(notBegun('Suspended'), { suspend: true });
  const later = maintenance(`Ready=False/Suspended ${remaining} ${ALL}`, { suspend: true });
  const begun = maintenance(DRAINED);
  const each = [ignored, waiting, suspended];

  test('has nothing of the operator', () => {
    const record = { metadata: { name: 'n', annotations: { 'haulout.dev/maintenance': '{}' } } };
    for (const one of each) {
      expect(left(one, { spec: {} })).toEqual([]);
      expect(left(one, {}, 'unschedulable')).toEqual([expect.stringContaining(': unschedulable')]);
      expect(left(one, {}, 'label a')).toEqual([
        expect.stringContaining('no maintenance has begun: label a'),
      ]);
      expect(left(one, record)).toEqual([expect.stringContaining('annotation haulout.dev/maintenance')]);
    }
    for (const one of [later, begun]) expect(left(one, record, 'unschedulable', 'label a')).toEqual([]);
  });

  test('says that one is planned, and no more', () => {
    for (const one of each) {
      expect(left(one, says('MaintenancePlanned', 'True'))).toEqual([]);
      expect(left(one, says('Drained', 'False'))).toEqual([]);
      for (const type of ['MaintenanceInProgress', 'DrainInProgress', 'Drained'])
        expect(left(one, says(type, 'True'))).toEqual([expect.stringContaining(`condition ${type}`)]);
    }
    expect(left(begun, says('Drained', 'True'))).toEqual([]);
  });

  test('has the finalizer only where it guards the deletion', () => {
    const guarded = { metadata: { name: 'n', finalizers: ['haulout.dev/evacuate'] } };
    const guard = maintenance(ANNOUNCED, { nodeDrainPolicy: 'Ignore', nodeDeletePolicy: 'Evict' });
    expect(left(guard, guarded, 'finalizer haulout.dev/evacuate')).toEqual([]);
    for (const one of each) expect(left(one, guarded)).toEqual([expect.stringContaining('finalizer')]);
  });

  test('stays cordoned where it is being deleted', () => {
    const leaves = { metadata: { name: 'n', deletionTimestamp: 'then' } };
    expect(left(ignored, leaves, 'unschedulable')).toEqual([]);
  });
});

const nodes = (held: number): ReturnType<typeof node>[] =>
  ['a', 'b', 'c', 'd', 'n'].map((name, index) => {
    const annotations = index < held ? { 'haulout.dev/maintenance': '{}' } : {};
    return node(name, { metadata: { name, annotations }, spec: {} });
  });

const other = (words: string): StateMaintenance => maintenance(words, { nodeName: 'd' }, {}, { name: 'o' });

const state = (more: object, name = 'n') =>
  cluster({ nodes: [node('a', more), node(name, { spec: {} })], maintenances: [waiting] });

const vain = (held: number, limit: string | undefined, ...others: readonly StateMaintenance[]): number =>
  waitingInVain(cluster({ nodes: nodes(held), maintenances: [waiting, ...others] }), limit, () => true)
    .length;

test.each([
  ['1', 0, 1],
  ['1', 1, 0],
  ['3', 2, 1],
  ['3', 3, 0],
  ['50%', 1, 1],
  ['50%', 2, 0],
  ['10%', 0, 1],
  ['10%', 1, 0],
  ['100%', 4, 1],
  [undefined, 0, 1],
  [undefined, 1, 0],
])('of five nodes %s may be out of service, and %d are', (limit, held, violations) => {
  expect(vain(held, limit)).toBe(violations);
});

describe('nobody waits for a turn that there is', () => {
  test('others count only when they have begun', () => {
    expect(vain(0, '1', other('Ready=False/Cordoning Cordoned=False/Cordoning'))).toBe(0);
    expect(vain(0, '1', other(notBegun('Suspended')))).toBe(1);
    expect(vain(0, '1', other(notBegun('WaitingForTurn')))).toBe(2);
  });

  test('what others cordoned and what is not Ready is not out of service; a node that is not there waits for ever', () => {
    expect(waitingInVain(state({}), '1', () => true)).toHaveLength(1);
    expect(waitingInVain(state({ status: {} }), '1', () => true)).toHaveLength(1);
    expect(waitingInVain(state({}), '1', () => false)).toEqual([]);
    expect(waitingInVain(state({}, 'other'), '1', () => true)).toEqual([]);
  });
});
