// Drains that stand still: each check is shown one that has a reason and one that has none.
import { describe, expect, test } from '@jest/globals';
import type { ClusterState, StateBudget, StateMaintenance, StatePod } from '../../invariants/state.ts';
import {
  bare,
  blocked,
  budget,
  daemon,
  labels,
  leaving,
  lost,
  maintenance,
  node,
  pod,
  scratch,
} from './state.ts';

const DRAINED = 'Ready=True/Drained Drained=True/Drained';
const KEPT = 'Ready=True/Drained Drained=False/PodsKept';
const DRAINING = 'Ready=False/Draining Drained=False/PodsRemaining';
const BLOCKED = 'Ready=False/DrainBlocked Drained=False/PodsRemaining';
const elsewhere = pod('p', {}, { nodeName: 'other' });
const others = { podSelector: { matchLabels: { app: 'y' } } };

test('Drained is not said while there is a pod', () => {
  const patience = { drain: { skipWaitForDeleteTimeoutSeconds: 5 } };
  const untrue = [expect.stringContaining('says Drained, and there is ns/p')];
  expect(lost(maintenance(DRAINED), { pods: [pod()] })).toEqual(untrue);
  expect(lost(maintenance(DRAINED), { pods: [leaving] })).toEqual(untrue);
  expect(lost(maintenance(DRAINED, patience), { pods: [pod()] })).toEqual(untrue);
  expect(lost(maintenance(DRAINED, patience), { pods: [leaving] })).toEqual([]);
  expect(lost(maintenance(DRAINED), { pods: [daemon, elsewhere] })).toEqual([]);
  expect(lost(blocked(DRAINED, ['ReturnsAfterEviction p']), { pods: [pod()] })).toEqual([]);
  expect(lost(maintenance(DRAINED, {}, { blockersTotal: 1 }), { pods: [pod()] })).toEqual([]);
});

type Drain = NonNullable<StateMaintenance['spec']['drain']>;
const finished = pod('p', { ownerReferences: [] }, {}, { phase: 'Succeeded' });

describe('what is left alone, and what is asked', () => {
  const table: readonly [string, Drain, StatePod, boolean][] = [
    ['a pod that podSelector leaves out', others, pod(), true],
    [
      'a pod without a label that every object seems to have',
      { podSelector: { matchExpressions: [{ key: 'constructor', operator: 'Exists' }] } },
      pod(),
      true,
    ],
    ['a pod that podSelector selects', { podSelector: { matchLabels: labels } }, pod(), false],
    ['an unmanaged pod that is skipped', { unmanagedPods: 'Skip' }, bare(), true],
    ['a managed pod', { unmanagedPods: 'Skip' }, pod(), false],
    ['a finished pod', { unmanagedPods: 'Skip' }, finished, false],
    ['a pod with emptyDir that is skipped', { emptyDirPods: 'Skip' }, scratch(), true],
    ['a pod without emptyDir', { emptyDirPods: 'Skip' }, pod(), false],
    ['one that is blocked', { unmanagedPods: 'Block' }, bare(), false],
    [
      'one that is skipped and blocked',
      { unmanagedPods: 'Skip', emptyDirPods: 'Block' },
      { ...scratch(), metadata: bare().metadata },
      false,
    ],
    [
      'one that is blocked by default and skipped',
      { emptyDirPods: 'Skip' },
      { ...scratch(), metadata: bare().metadata },
      false,
    ],
    ['a pod of a DaemonSet', {}, daemon, true],
  ];

  test.each(table)('%s may be kept: %j', (_, drain, there, isLeftAlone) => {
    const says = `says PodsKept, and there is ns/${there.metadata.name}`;
    const expected = isLeftAlone ? [] : [expect.stringContaining(says)];
    expect(lost(maintenance(KEPT, { drain }), { pods: [there] })).toEqual(expected);
  });

  test.each(table)('%s need not be explained: %j', (_, drain, there, isLeftAlone) => {
    const one = maintenance(`${DRAINING} VolumesDetached=False/WaitingForDetach`, { drain });
    const attachments = [{ spec: { nodeName: 'n' } }];
    const expected = isLeftAlone ? [] : [expect.stringContaining('says nothing about 1 of')];
    expect(lost(one, { attachments, pods: [there] })).toEqual(expected);
  });

  test('a selector that nobody can read keeps all', () => {
    const invalid = 'Ready=False/InvalidSpec Drained=False/PodsKept';
    expect(lost(maintenance(invalid, { drain: { podSelector: {} } }), { pods: [pod()] })).toEqual([]);
  });
});

const volumes = (...claims: readonly string[]): object => ({
  volumes: claims.map((claimName) => ({ name: 'v', persistentVolumeClaim: { claimName } })),
});

describe('a drain that waits', () => {
  test('has something to wait for', () => {
    const nothing = [expect.stringContaining('nothing is left to leave')];
    expect(lost(maintenance(DRAINING), { pods: [daemon] })).toEqual(nothing);
    expect(lost(maintenance(DRAINING), { pods: [leaving] })).toEqual([]);
  });

  test('waits for pods that are there, and says why the others stay', () => {
    expect(lost(blocked(BLOCKED, ['PodDisruptionBudget p']), { pods: [pod('q')] })).toEqual([
      expect.stringContaining('waits for ns/p, which is gone'),
      expect.stringContaining('says nothing about 1 of ns/q'),
    ]);
    expect(lost(blocked(BLOCKED, ['AdmissionDenied p']), { pods: [pod()] })).toEqual([]);
  });

  const ephemeral = { volumes: [{ name: 'v', ephemeral: {} }] };

  test.each<readonly [string, Partial<ClusterState>, boolean]>([
    ['none', {}, false],
    ['of another node', { attachments: [{ spec: { nodeName: 'other' } }] }, false],
    ['that nobody knows', { attachments: [{ spec: { nodeName: 'n' } }] }, true],
    ['of a pod that left', { pods: [] }, true],
    ['of a pod that is left alone', { pods: [pod('p', {}, volumes('c'))] }, false],
    ['of a pod that is left alone and has another', { pods: [pod('p', {}, volumes('d'))] }, true],
    ['of a pod of a DaemonSet', { pods: [{ ...daemon, spec: { nodeName: 'n', ...volumes('c') } }] }, false],
    ['of a pod on another node', { pods: [pod('p', {}, { ...volumes('c'), nodeName: 'other' })] }, true],
    ['that ends with a pod that is left alone', { pods: [pod('e', {}, ephemeral)] }, false],
  ])('for volumes that are attached: %s', (_, state, isWaitedFor) => {
    const one = maintenance(
      'Ready=False/Draining Drained=False/PodsKept VolumesDetached=False/WaitingForDetach',
      {
        drain: others,
      },
    );
    const isEphemeral = state.pods?.[0]?.metadata.name === 'e';
    const claims = [
      { metadata: { name: isEphemeral ? 'e-v' : 'c', namespace: 'ns' }, spec: { volumeName: 'pv' } },
    ];
    const attachments =
      state.pods === undefined ? [] : [{ spec: { nodeName: 'n', source: { persistentVolumeName: 'pv' } } }];
    const expected = isWaitedFor ? [] : [expect.stringContaining('nothing is left to leave')];
    expect(lost(one, { claims, attachments, ...state })).toEqual(expected);
  });
});

const isSo = (cause: string, there: StatePod, state: Partial<ClusterState>, spec: object = {}): boolean => {
  const problems = lost(blocked(BLOCKED, [`${cause} p`], spec), { pods: [there], ...state });
  if (problems.length > 0)
    expect(problems).toEqual([expect.stringContaining(`held up by ${cause}, and that`)]);
  return problems.length === 0;
};

const holder = (drain: Drain, spec: object = {}): StateMaintenance =>
  maintenance('Ready=False/Suspended Drained=False/PodsRemaining', { suspend: true, drain, ...spec });

describe('what holds up a pod is so', () => {
  const closed = budget({ disruptionsAllowed: 0, desiredHealthy: 1, expectedPods: 2 });
  const open = budget({ disruptionsAllowed: 1, desiredHealthy: 1, expectedPods: 2 });
  const hopeless = budget({ disruptionsAllowed: 0, desiredHealthy: 2, expectedPods: 2 });
  const owned = { ownerReferences: [{ kind: 'Database', controller: true }] };
  const stale = budget({ disruptionsAllowed: 1, observedGeneration: 0 });

  test.each<readonly [string, readonly StateBudget[], boolean]>([
    ['PodDisruptionBudget', [closed], true],
    ['PodDisruptionBudget', [stale], true],
    ['PodDisruptionBudget', [open], false],
    ['PodDisruptionBudget', [], false],
    ['UnsatisfiablePodDisruptionBudget', [hopeless], true],
    ['UnsatisfiablePodDisruptionBudget', [closed], false],
    ['UnsatisfiablePodDisruptionBudget', [], false],
    ['UnsatisfiablePodDisruptionBudget', [hopeless, hopeless], false],
    [
      'UnsatisfiablePodDisruptionBudget',
      [{ ...hopeless, metadata: { ...hopeless.metadata, ...owned } }],
      false,
    ],
    ['MultiplePodDisruptionBudgets', [closed, closed], true],
    ['MultiplePodDisruptionBudgets', [closed], false],
    ['MultiplePodDisruptionBudgets', [], false],
  ])('%s with %j', (cause, budgets, expected) => {
    expect(isSo(cause, pod(), { budgets })).toBe(expected);
  });

  const evicts = { drain: { unmanagedPods: 'Evict' } };

  test.each<readonly [string, string, StatePod, object, readonly StateMaintenance[], boolean]>([
    ['it blocks it', 'UnmanagedPod', bare(), {}, [], true],
    ['it has a controller', 'UnmanagedPod', pod(), {}, [], false],
    ['it is over', 'UnmanagedPod', finished, {}, [], false],
    ['it lets it go', 'UnmanagedPod', bare(), evicts, [], false],
    ['another one blocks it', 'UnmanagedPod', bare(), evicts, [holder({})], true],
    ['another one skips it', 'UnmanagedPod', bare(), evicts, [holder({ unmanagedPods: 'Skip' })], true],
    ['another one lets it go', 'UnmanagedPod', bare(), evicts, [holder(evicts.drain)], false],
    [
      'another one does not evacuate',
      'UnmanagedPod',
      bare(),
      evicts,
      [
        maintenance('Ready=True/Cordoned Drained=False/PolicyDoesNotDrain', {
          nodeDrainPolicy: 'NoSchedule',
        }),
      ],
      false,
    ],
    ['it blocks the data', 'EmptyDir', scratch(), { drain: { emptyDirPods: 'Block' } }, [], true],
    ['it has no data', 'EmptyDir', pod(), { drain: { emptyDirPods: 'Block' } }, [], false],
    ['it lets the data go', 'EmptyDir', scratch(), {}, [], false],
    ['another one skips the data', 'EmptyDir', scratch(), {}, [holder({ emptyDirPods: 'Skip' })], true],
  ])('%s: %s', (_, cause, there, spec, more, expected) => {
    const one = blocked(BLOCKED, [`${cause} p`], spec);
    expect(lost(one, { pods: [there], maintenances: [one, ...more] })).toHaveLength(expected ? 0 : 1);
  });

  test('its namespace is going away', () => {
    const namespaces = [{ metadata: { name: 'ns', deletionTimestamp: 'then' } }];
    expect(isSo('NamespaceTerminating', pod(), { namespaces })).toBe(true);
    expect(isSo('NamespaceTerminating', pod(), {})).toBe(false);
  });

  test('it is being deleted', () => {
    expect(isSo('StuckTerminating', leaving, {})).toBe(true);
    expect(isSo('StuckTerminating', pod(), {})).toBe(false);
  });

  test('what only an answer can tell is taken as it is', () => {
    expect(isSo('AdmissionDenied', pod(), { nodes: [node()] })).toBe(true);
  });
});
