import { describe, expect, test } from '@jest/globals';
import { type Kstatus, kstatus } from '../../fixtures/kstatus.ts';
import { at, budget, node, pod } from '../../fixtures/objects.ts';
import { Stage } from '../../fixtures/stage.ts';

const unmanaged = { owner: undefined };

/** Each stance, as it has settled. */
const settled: Record<string, () => Stage> = {
  Announced: () => new Stage().create({ nodeDrainPolicy: 'Ignore' }),
  Cordoned: () => new Stage().create({ nodeDrainPolicy: 'NoSchedule' }),
  Draining: () =>
    Object.assign(new Stage().create(), { pods: [pod('a'), pod('b', { deletionTimestamp: at(30) })] }),
  'Draining, pods not known yet': () => Object.assign(new Stage().create(), { pods: undefined }),
  DrainBlocked: () => Object.assign(new Stage().create(), { pods: [pod('a')], budgets: [budget('web')] }),
  'DrainBlocked by an unmanaged pod': () =>
    Object.assign(new Stage().create(), { pods: [pod('a', unmanaged)] }),
  Drained: () => new Stage().create(),
  'Drained, some left alone': () =>
    Object.assign(new Stage().create({ drain: { unmanagedPods: 'Skip' } }), { pods: [pod('a', unmanaged)] }),
  DrainFailed: () => {
    const stage = Object.assign(new Stage().create({ drain: { timeoutSeconds: 60 } }), {
      pods: [pod('a')],
      budgets: [budget('web')],
    });
    stage.settle();
    return Object.assign(stage, { seconds: 60 });
  },
  NodeNotFound: () => Object.assign(new Stage().create(), { node: undefined }),
  'NodeNotFound for 5 minutes': () => {
    const stage = Object.assign(new Stage().create(), { node: undefined });
    stage.settle();
    return Object.assign(stage, { seconds: 300 });
  },
  NodeGone: () => {
    const stage = new Stage().create();
    stage.settle();
    return Object.assign(stage, { node: undefined });
  },
  'Suspended before the start': () => new Stage().create({ suspend: true }),
  Suspended: () => {
    const stage = Object.assign(new Stage().create(), { pods: [pod('a')], budgets: [budget('web')] });
    stage.settle();
    return stage.edit({ suspend: true });
  },
  WaitingForTurn: () => Object.assign(new Stage().create(), { admitted: false }),
  InvalidSpec: () =>
    Object.assign(
      new Stage().create({
        drain: { podSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: [] }] } },
      }),
      { pods: [pod('a')] },
    ),
  NotPermitted: () =>
    Object.assign(new Stage().create({ drain: { onTimeout: 'Delete', timeoutSeconds: 1 } }), {
      pods: [pod('a')],
      permitted: { podDeletion: false, deploymentRestart: true },
    }),
};

const blockedNot = 'False/NotBlocked';
const expected: Record<string, [Record<string, string>, Kstatus]> = {
  Announced: [
    {
      phase: 'UnderMaintenance',
      Ready: 'True/Announced',
      Cordoned: 'False/PolicyIgnore',
      Drained: 'False/PolicyDoesNotDrain',
      VolumesDetached: 'False/PolicyDoesNotDrain',
      DrainBlocked: blockedNot,
    },
    'Current',
  ],
  Cordoned: [
    {
      phase: 'UnderMaintenance',
      Ready: 'True/Cordoned',
      Cordoned: 'True/Cordoned',
      Drained: 'False/PolicyDoesNotDrain',
      VolumesDetached: 'False/PolicyDoesNotDrain',
      DrainBlocked: blockedNot,
    },
    'Current',
  ],
  Draining: [
    {
      phase: 'Draining',
      Ready: 'False/Draining',
      Cordoned: 'True/Cordoned',
      Drained: 'False/PodsRemaining',
      VolumesDetached: 'True/Detached',
      DrainBlocked: blockedNot,
      Reconciling: 'True/Draining',
    },
    'InProgress',
  ],
  'Draining, pods not known yet': [
    {
      phase: 'Draining',
      Ready: 'False/Draining',
      Cordoned: 'True/Cordoned',
      Drained: 'Unknown/Checking',
      VolumesDetached: 'Unknown/Checking',
      DrainBlocked: 'Unknown/Checking',
      Reconciling: 'True/Draining',
    },
    'InProgress',
  ],
  DrainBlocked: [
    {
      phase: 'Draining',
      Ready: 'False/DrainBlocked',
      Cordoned: 'True/Cordoned',
      Drained: 'False/PodsRemaining',
      VolumesDetached: 'True/Detached',
      DrainBlocked: 'True/PodDisruptionBudget',
      Reconciling: 'True/DrainBlocked',
    },
    'InProgress',
  ],
  'DrainBlocked by an unmanaged pod': [
    {
      phase: 'Draining',
      Ready: 'False/DrainBlocked',
      Cordoned: 'True/Cordoned',
      Drained: 'False/PodsRemaining',
      VolumesDetached: 'True/Detached',
      DrainBlocked: 'True/UnmanagedPod',
      Reconciling: 'True/DrainBlocked',
    },
    'InProgress',
  ],
  Drained: [
    {
      phase: 'UnderMaintenance',
      Ready: 'True/Drained',
      Cordoned: 'True/Cordoned',
      Drained: 'True/Drained',
      VolumesDetached: 'True/Detached',
      DrainBlocked: blockedNot,
    },
    'Current',
  ],
  'Drained, some left alone': [
    {
      phase: 'UnderMaintenance',
      Ready: 'True/Drained',
      Cordoned: 'True/Cordoned',
      Drained: 'False/PodsKept',
      VolumesDetached: 'True/Detached',
      DrainBlocked: blockedNot,
    },
    'Current',
  ],
  DrainFailed: [
    {
      phase: 'Failed',
      Ready: 'False/DrainFailed',
      Cordoned: 'True/Cordoned',
      Drained: 'False/PodsRemaining',
      VolumesDetached: 'True/Detached',
      DrainBlocked: 'True/PodDisruptionBudget',
      Stalled: 'True/DrainFailed',
    },
    'Failed',
  ],
  NodeNotFound: [
    {
      phase: 'Pending',
      Ready: 'False/NodeNotFound',
      Cordoned: 'Unknown/NodeNotFound',
      Drained: 'Unknown/NodeNotFound',
      VolumesDetached: 'Unknown/NodeNotFound',
      DrainBlocked: 'Unknown/NodeNotFound',
      Reconciling: 'True/NodeNotFound',
    },
    'InProgress',
  ],
  'NodeNotFound for 5 minutes': [
    {
      phase: 'Pending',
      Ready: 'False/NodeNotFound',
      Cordoned: 'Unknown/NodeNotFound',
      Drained: 'Unknown/NodeNotFound',
      VolumesDetached: 'Unknown/NodeNotFound',
      DrainBlocked: 'Unknown/NodeNotFound',
      Stalled: 'True/NodeNotFound',
    },
    'Failed',
  ],
  NodeGone: [
    {
      phase: 'NodeGone',
      Ready: 'False/NodeGone',
      Cordoned: 'Unknown/NodeGone',
      Drained: 'Unknown/NodeGone',
      VolumesDetached: 'Unknown/NodeGone',
      DrainBlocked: 'Unknown/NodeGone',
      Stalled: 'True/NodeGone',
    },
    'Failed',
  ],
  'Suspended before the start': [
    {
      phase: 'Pending',
      Ready: 'False/Suspended',
      Cordoned: 'False/Suspended',
      Drained: 'False/Suspended',
      VolumesDetached: 'False/Suspended',
      DrainBlocked: blockedNot,
    },
    'InProgress',
  ],
  Suspended: [
    {
      phase: 'Draining',
      Ready: 'False/Suspended',
      Cordoned: 'True/Cordoned',
      Drained: 'False/PodsRemaining',
      VolumesDetached: 'True/Detached',
      DrainBlocked: blockedNot,
    },
    'InProgress',
  ],
  WaitingForTurn: [
    {
      phase: 'Pending',
      Ready: 'False/WaitingForTurn',
      Cordoned: 'False/WaitingForTurn',
      Drained: 'False/WaitingForTurn',
      VolumesDetached: 'False/WaitingForTurn',
      DrainBlocked: blockedNot,
      Reconciling: 'True/WaitingForTurn',
    },
    'InProgress',
  ],
  InvalidSpec: [
    {
      phase: 'Failed',
      Ready: 'False/InvalidSpec',
      Cordoned: 'True/Cordoned',
      Drained: 'False/PodsKept',
      VolumesDetached: 'True/Detached',
      DrainBlocked: blockedNot,
      Stalled: 'True/InvalidSpec',
    },
    'Failed',
  ],
  NotPermitted: [
    {
      phase: 'Failed',
      Ready: 'False/NotPermitted',
      Cordoned: 'True/Cordoned',
      Drained: 'False/PodsRemaining',
      VolumesDetached: 'True/Detached',
      DrainBlocked: blockedNot,
      Stalled: 'True/NotPermitted',
    },
    'Failed',
  ],
};

describe('phase and conditions', () => {
  test.each(Object.entries(settled))('%s', (name, make) => {
    const stage = make();
    const work = stage.settle();
    expect([stage.words(), kstatus(stage.maintenance())]).toEqual(expected[name]);
    // Everything is said about the generation that was planned, in a way that reads well alone.
    const { observedGeneration, conditions = [] } = stage.status();
    expect(observedGeneration).toBe(stage.maintenance().metadata.generation);
    for (const condition of conditions) {
      expect(condition.observedGeneration).toBe(observedGeneration);
      expect(condition.message).toMatch(/^\S.*[^.\s]$/s);
      expect(condition.reason).toMatch(/^[A-Z][A-Za-z]+$/);
    }
    expect(work.statuses).toEqual([]);
  });

  test.each(Object.entries(settled))(
    '%s: on its way there it was never Ready before its time, and the first word is not Ready',
    (name, make) => {
      const stage = make();
      const before = stage.maintenance().status;
      const seen: Kstatus[] = [];
      for (let round = 0; round < 12; round++) {
        const work = stage.step();
        if (stage.maintenance().status !== before) seen.push(kstatus(stage.maintenance()));
        if (work.nodePatch) expect(stage.said('Ready')?.startsWith('True') ?? false).toBe(false);
      }
      const end = expected[name]?.[1];
      expect(seen.at(-1)).toBe(end);
      expect(
        seen
          .slice(0, -1)
          .filter((each) => each === 'Failed' || each === 'Current')
          .every((each) => each === end),
      ).toBe(true);
    },
  );
});

describe('lastTransitionTime', () => {
  test('moves when the status flips and at no other time', () => {
    const stage = Object.assign(new Stage().create(), { pods: [pod('a')], budgets: [budget('web')] });
    stage.settle();
    stage.seconds = 30;
    stage.budgets = [budget('web', { healthy: 1, resourceVersion: '101' })];
    stage.settle();
    const since = (type: string) =>
      stage.status().conditions?.find((each) => each.type === type)?.lastTransitionTime;
    expect(since('Ready')).toBe(at(0));
    stage.pods = [];
    stage.settle();
    expect([since('Ready'), since('Drained'), since('DrainBlocked'), since('Cordoned')]).toEqual([
      at(30),
      at(30),
      at(30),
      at(0),
    ]);
  });
});

/** Of the two pods of a namespace. */
function budgetLine(namespace: string): string {
  const pods = `${namespace}/${namespace}-a, ${namespace}/${namespace}-b`;
  return `PodDisruptionBudget: ${pods}: budget ${namespace}/web needs 2 healthy pods and has 2. `;
}

describe('the text', () => {
  test('names three pods at most, sorted, and all causes', () => {
    const stage = new Stage().create();
    stage.pods = ['e', 'd', 'c', 'b', 'a'].map((name) => pod(name)).concat(pod('z', unmanaged));
    stage.budgets = [budget('web')];
    stage.settle();
    const message = stage.status().conditions?.find(({ type }) => type === 'DrainBlocked')?.message;
    expect(message).toBe(
      '6 pods cannot leave now. PodDisruptionBudget: shop/a, shop/b, shop/c and 2 more: budget shop/web needs 2 healthy pods and has 2. ' +
        'UnmanagedPod: shop/z: nothing would create it again (no controller), and drain.unmanagedPods is Block: delete the pod, or set Evict or Skip to let an unmanaged pod go or stay',
    );
  });

  test('says of each budget what it needs, and each cause before many of one', () => {
    const stage = new Stage().create();
    const namespaces = ['s1', 's2', 's3', 's4', 's5', 's6'];
    stage.pods = [
      ...namespaces.flatMap((namespace) => [
        pod(`${namespace}-a`, { namespace }),
        pod(`${namespace}-b`, { namespace }),
      ]),
      pod('z', unmanaged),
    ];
    stage.budgets = namespaces.map((namespace) => budget('web', { namespace }));
    stage.settle();
    const message = stage.status().conditions?.find(({ type }) => type === 'DrainBlocked')?.message;
    expect(message).toMatch(
      `13 pods cannot leave now. ${namespaces.slice(0, 4).map(budgetLine).join('')}UnmanagedPod: `,
    );
    expect(message).toMatch(/\. And 4 pods more$/);
  });

  test('is the same whatever the order in which pods are known', () => {
    const pods = ['a', 'b', 'c'].map((name) => pod(name));
    const [one, two] = [pods, pods.toReversed()].map((order) => {
      const stage = Object.assign(new Stage().create(), { pods: order, budgets: [budget('web')] });
      stage.settle();
      return stage.status();
    });
    expect(one).toEqual(two);
  });

  test('Ready names the pods that are no longer waited for', () => {
    const stage = new Stage().create({ drain: { skipWaitForDeleteTimeoutSeconds: 60 } });
    stage.node = node({ ready: 'Unknown' });
    stage.pods = [pod('a', { deletionTimestamp: at(-61) })];
    stage.settle();
    expect(stage.said('Ready')).toBe('True/Drained');
    expect(stage.status().conditions?.[0]?.message).toContain(
      'no longer waited for, because the node is not Ready: shop/a',
    );
    expect(stage.said('Drained')).toBe('True/Drained');
  });

  test('Cordoned names a taint that is left alone', () => {
    const taint = { key: 'example.com/x', effect: 'NoSchedule' as const };
    const stage = new Stage().create({ taints: [{ ...taint, value: 'ours' }] });
    stage.node = node({ taints: [{ ...taint, value: 'theirs' }] });
    stage.settle();
    expect(stage.status().conditions?.find(({ type }) => type === 'Cordoned')?.message).toContain(
      'example.com/x:NoSchedule',
    );
  });
});

describe('skipWaitForDeleteTimeoutSeconds', () => {
  test.each<[string, number, 'True' | 'Unknown' | 'False', number, boolean]>([
    ['the node is not Ready and the pod is overdue', -61, 'Unknown', 60, true],
    ['the kubelet says no', -61, 'False', 60, true],
    ['exactly so many seconds, not more', -60, 'Unknown', 60, false],
    ['the node is Ready', -6000, 'True', 60, false],
    ['off', -6000, 'Unknown', 0, false],
    ['its grace period is not over', 30, 'Unknown', 60, false],
  ])('%s', (_, deletionAt, ready, seconds, skipped) => {
    const stage = new Stage().create({ drain: { skipWaitForDeleteTimeoutSeconds: seconds } });
    stage.node = node({ ready });
    stage.pods = [pod('a', { deletionTimestamp: at(deletionAt) })];
    stage.settle();
    expect(stage.said('Drained')).toBe(skipped ? 'True/Drained' : 'False/PodsRemaining');
  });

  test('somebody looks when the time has come', () => {
    const stage = new Stage().create({ drain: { skipWaitForDeleteTimeoutSeconds: 60 } });
    stage.node = node({ ready: 'Unknown' });
    stage.pods = [pod('a', { deletionTimestamp: at(5) })];
    expect(stage.settle().wakeAfterMs).toBeLessThanOrEqual(65_001);
    stage.seconds = 66;
    stage.settle();
    expect(stage.said('Drained')).toBe('True/Drained');
  });
});
