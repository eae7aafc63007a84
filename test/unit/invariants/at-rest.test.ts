import { describe, expect, test } from '@jest/globals';
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
  const state = { nodes: [], pods: [], budgets: [], maintenances: [one], ...others };
  return lostAtRest(state, () => []);
}

const app = { app: 'x' };
const pod = { metadata: { name: 'p', namespace: 'ns', labels: app }, spec: { nodeName: 'n' } };
const daemonPod = {
  ...pod,
  metadata: { ...pod.metadata, ownerReferences: [{ kind: 'DaemonSet', controller: true }] },
};
const budget = (disruptionsAllowed: number) => ({
  metadata: { name: 'b', namespace: 'ns', generation: 1 },
  spec: { selector: { matchLabels: app } },
  status: { observedGeneration: 1, disruptionsAllowed },
});
const blocked = (cause: string): StateMaintenance => {
  const blockers = [{ cause, pod: { namespace: 'ns', name: 'p' } }];
  return maintenance({ status: { ...status('DrainBlocked'), blockers, blockersTotal: 1 } });
};

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
    const detached = { type: 'VolumesDetached', status: 'True' };
    const one = maintenance({
      status: { ...status('Draining'), conditions: [...conditions('Draining'), detached] },
    });
    expect(lost(one, { pods: [daemonPod] })).toEqual([expect.stringContaining('nothing is left to leave')]);
    expect(
      lost(one, { pods: [{ ...pod, metadata: { ...pod.metadata, deletionTimestamp: 'now' } }] }),
    ).toEqual([]);
  });

  test('that does not say what holds a pod up', () => {
    const one = maintenance({ status: status('Draining') });
    expect(lost(one, { pods: [pod] })).toEqual([expect.stringContaining('says nothing about 1 of ns/p')]);
    expect(lost(blocked('UnmanagedPod'), { pods: [pod] })).toEqual([]);
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
