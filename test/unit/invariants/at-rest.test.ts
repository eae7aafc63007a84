import { describe, expect, test } from '@jest/globals';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import { type ClusterState, lostAtRest, type StateMaintenance } from '../../invariants/at-rest.ts';

const conditions = (reason: string) => [{ type: 'Ready', status: 'False', reason }];
const status = (reason: string): NonNullable<StateMaintenance['status']> => ({
  observedGeneration: 2,
  conditions: conditions(reason),
});

function maintenance(changes: Partial<StateMaintenance>, metadata: object = {}): StateMaintenance {
  return { metadata: { name: 'm', generation: 2, ...metadata }, spec: { nodeName: 'n' }, ...changes };
}

function lost(one: StateMaintenance, others: Partial<ClusterState> = {}): string[] {
  const state = { nodes: [], pods: [], budgets: [], attachments: [], maintenances: [one], ...others };
  return lostAtRest(state, () => []);
}

const app = { app: 'x' };
const pod = { metadata: { name: 'p', namespace: 'ns', labels: app }, spec: { nodeName: 'n' } };
const scratchPod = { ...pod, spec: { ...pod.spec, volumes: [{ emptyDir: {} }] } };
const daemonPod = {
  ...pod,
  metadata: { ...pod.metadata, ownerReferences: [{ kind: 'DaemonSet', controller: true }] },
};
const leaving = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: 'now' } };
const node = (name: string) => ({
  metadata: { name },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
});
const budget = (disruptionsAllowed: number) => ({
  metadata: { name: 'b', namespace: 'ns', generation: 1 },
  spec: { selector: { matchLabels: app } },
  status: { observedGeneration: 1, disruptionsAllowed },
});
const blocked = (cause: string): StateMaintenance => {
  const blockers = [{ cause, pod: { namespace: 'ns', name: 'p' } }];
  return maintenance({ status: { ...status('DrainBlocked'), blockers, blockersTotal: 1 } });
};

const drained = (drain: object, blockers: readonly object[] = [], blockersTotal = blockers.length) =>
  maintenance({
    spec: { nodeName: 'n', drain },
    status: {
      observedGeneration: 2,
      conditions: [
        { type: 'Ready', status: 'True', reason: 'Drained' },
        { type: 'Drained', status: 'True' },
      ],
      ...as<object>({ blockers, blockersTotal }),
    },
  });

const attached = (nodeName: string) => ({ attachments: [{ spec: { nodeName } }] });

describe('a maintenance is lost', () => {
  test.each([
    ['that does not go', maintenance({}, { deletionTimestamp: 'then', finalizers: ['x'] }), 'held by x'],
    ['that nobody looked at', maintenance({}), 'forgotten'],
    [
      'whose edit nobody looked at',
      maintenance({ status: { ...status('Drained'), observedGeneration: 1 } }),
      'forgotten',
    ],
    ['on the way to somewhere', maintenance({ status: status('Updating') }), 'does not get past Updating'],
  ])('%s', (_, one, words) => {
    expect(lost(one)).toEqual([expect.stringContaining(words)]);
  });

  test('that drains with nothing left', () => {
    const waiting = { type: 'VolumesDetached', status: 'False' };
    const one = maintenance({
      status: { ...status('Draining'), conditions: [...conditions('Draining'), waiting] },
    });
    const nothing = [expect.stringContaining('nothing is left to leave')];
    expect(lost(one, { pods: [daemonPod] })).toEqual(nothing);
    expect(lost(one, attached('other'))).toEqual(nothing);
    expect(lost(one, attached('n'))).toEqual([]);
    expect(lost(one, { pods: [leaving] })).toEqual([]);
  });

  test('that waits for a pod which is gone', () => {
    expect(
      lost(blocked('UnmanagedPod'), { pods: [{ ...pod, metadata: { ...pod.metadata, name: 'q' } }] }),
    ).toEqual([
      expect.stringContaining('waits for ns/p, which is gone'),
      expect.stringContaining('says nothing about 1 of ns/q'),
    ]);
  });

  test.each(['NodeNotFound', 'NodeGone'])('that says %s of a node which is there', (reason) => {
    const one = maintenance({ status: status(reason) });
    expect(lost(one, { nodes: [node('n')] })).toEqual([expect.stringContaining(`says ${reason}`)]);
    expect(lost(one, { nodes: [node('other')] })).toEqual([]);
  });

  test('that waits for its turn while nobody has it', () => {
    const one = maintenance({ status: status('WaitingForTurn') });
    const alone = [expect.stringContaining('waits for its turn')];
    expect(lost(one, { nodes: [node('n'), node('other')] })).toEqual(alone);
    expect(lost(one, { nodes: [node('n'), { ...node('other'), spec: { unschedulable: true } }] })).toEqual(
      [],
    );
    expect(lost(one, { nodes: [node('n'), { ...node('other'), status: {} }] })).toEqual([]);
    const other = maintenance({ status: status('Suspended'), spec: { nodeName: 'other' } }, { name: 'o' });
    expect(lost(one, { nodes: [node('n'), node('other')], maintenances: [one, other] })).toEqual([]);
  });

  test('that says Drained while there is a pod', () => {
    const returning = { cause: 'ReturnsAfterEviction', pod: { namespace: 'ns', name: 'p' } };
    const patience = { skipWaitForDeleteTimeoutSeconds: 5 };
    const untrue = [expect.stringContaining('says Drained, and there is ns/p')];
    expect(lost(drained({}), { pods: [pod] })).toEqual(untrue);
    expect(lost(drained({}), { pods: [leaving] })).toEqual(untrue);
    expect(lost(drained(patience), { pods: [pod] })).toEqual(untrue);
    expect(lost(drained(patience), { pods: [leaving] })).toEqual([]);
    expect(lost(drained({}), { pods: [daemonPod, { ...pod, spec: { nodeName: 'other' } }] })).toEqual([]);
    expect(lost(drained({}, [returning]), { pods: [pod] })).toEqual([]);
    expect(lost(drained({}, [], 1), { pods: [pod] })).toEqual([]);
  });

  test('that does not say what holds a pod up', () => {
    const one = maintenance({ status: status('Draining') });
    expect(lost(one, { pods: [pod] })).toEqual([expect.stringContaining('says nothing about 1 of ns/p')]);
    expect(lost(blocked('UnmanagedPod'), { pods: [pod] })).toEqual([]);
  });

  test.each([
    ['a pod that podSelector leaves out', { podSelector: { matchLabels: { app: 'y' } } }, pod, true],
    [
      'a pod without a label that every object seems to have',
      { podSelector: { matchExpressions: [{ key: 'constructor', operator: 'Exists' }] } },
      pod,
      true,
    ],
    ['a pod that podSelector selects', { podSelector: { matchLabels: app } }, pod, false],
    ['an unmanaged pod that is skipped', { unmanagedPods: 'Skip' }, pod, true],
    [
      'a pod with emptyDir that is skipped',
      { unmanagedPods: 'Evict', emptyDirPods: 'Skip' },
      scratchPod,
      true,
    ],
    ['one that is skipped and blocked', { unmanagedPods: 'Skip', emptyDirPods: 'Block' }, scratchPod, false],
    ['one that is blocked by default and skipped', { emptyDirPods: 'Skip' }, scratchPod, false],
    ['a pod without emptyDir', { emptyDirPods: 'Skip' }, pod, false],
  ])('%s', (_, drain, there, isLeftAlone) => {
    const volumes = { type: 'VolumesDetached', status: 'False' };
    const one = maintenance({
      spec: { nodeName: 'n', drain },
      status: { ...status('Draining'), conditions: [...conditions('Draining'), volumes] },
    });
    expect(lost(one, { ...attached('n'), pods: [there] })).toHaveLength(isLeftAlone ? 0 : 1);
  });

  test('that waits for a budget which allows it', () => {
    const one = blocked('PodDisruptionBudget');
    expect(lost(one, { pods: [pod], budgets: [budget(1)] })).toEqual([
      expect.stringContaining('waits for a budget'),
    ]);
    expect(lost(one, { pods: [pod], budgets: [budget(0)] })).toEqual([]);
    expect(lost(one, { pods: [pod], budgets: [budget(1), budget(1)] })).toEqual([]);
  });
});
