import { describe, expect, test } from '@jest/globals';
import {
  doNotDisruptAnnotation,
  evacuateFinalizer,
  excludeFromLoadBalancersLabel,
  maintenanceAnnotation,
  maintenanceLabel,
  restoreNodeFinalizer,
} from '../../../src/api/names.ts';
import type { Plan } from '../../../src/maintenance/snapshot.ts';
import { at, budget, node, pod } from '../../fixtures/objects.ts';
import { Stage } from '../../fixtures/stage.ts';

const posted = ({ posts }: Plan) => posts.map((post) => post.pod.metadata.name);

function evacuating(spec: Parameters<Stage['create']>[0] = {}): Stage {
  return Object.assign(new Stage().create(spec), { pods: [pod('a'), pod('b')] });
}

/** The node without what changes by itself. */
function looks(stage: Stage): unknown {
  const { metadata, spec, status } = stage.node ?? node();
  const { resourceVersion: _, labels = {}, annotations = {}, finalizers = [], ...rest } = metadata;
  return {
    ...rest,
    labels,
    annotations,
    finalizers,
    taints: spec?.taints ?? [],
    unschedulable: spec?.unschedulable ?? false,
    status,
  };
}

describe('the order of things', () => {
  test('first the finalizer and nothing else; then the status, then the node; only then pods leave', () => {
    const stage = evacuating();
    const first = stage.step();
    expect(first.addFinalizers.map(({ finalizers }) => finalizers)).toEqual([[restoreNodeFinalizer]]);
    expect([first.statuses, first.nodePatch, first.nodeConditions, posted(first)]).toEqual([
      [],
      undefined,
      undefined,
      [],
    ]);

    const second = stage.step();
    expect(second.statuses[0]?.status.node).toEqual({
      uid: 'uid-n1',
      before: { unschedulable: false },
      added: expect.objectContaining({ labels: expect.objectContaining({ [maintenanceLabel]: 'true' }) }),
    });
    expect(second.statuses[0]?.urgent).toBe(true);
    expect(second.statuses[0]?.status.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('False');
    expect(second.nodePatch?.spec?.unschedulable).toBe(true);
    expect(posted(second)).toEqual([]);

    const third = stage.step();
    expect(third.nodePatch).toBeUndefined();
    expect(posted(third)).toEqual(['a', 'b']);
  });

  test('other finalizers of the maintenance are kept', () => {
    const stage = evacuating();
    stage.maintenances = stage.maintenances.map((each) => ({
      ...each,
      metadata: { ...each.metadata, finalizers: ['example.com/gate'] },
    }));
    stage.settle();
    expect(stage.maintenance().metadata.finalizers).toEqual(['example.com/gate', restoreNodeFinalizer]);
    stage.delete();
    expect(stage.step().dropFinalizers).toEqual([]);
    expect(stage.step().dropFinalizers.map(({ finalizers }) => finalizers)).toEqual([['example.com/gate']]);
  });

  test('a finalizer that is taken off by hand is put on again, and the node is held meanwhile', () => {
    const stage = evacuating();
    stage.pods = [];
    stage.settle();
    stage.maintenances = stage.maintenances.map((each) => ({
      ...each,
      metadata: { ...each.metadata, finalizers: [] },
    }));
    const held = looks(stage);
    const work = stage.step();
    expect(work.addFinalizers.map(({ finalizers }) => finalizers)).toEqual([[restoreNodeFinalizer]]);
    expect([work.nodePatch, work.nodeConditions, work.statuses]).toEqual([undefined, undefined, []]);
    expect(looks(stage)).toEqual(held);
  });

  test('an edit is acknowledged before it has effects, and ends what it takes back', () => {
    const stage = evacuating();
    stage.settle();
    stage.edit({ nodeDrainPolicy: 'NoSchedule' });
    const work = stage.plan();
    expect([posted(work), [...work.mayLeave]]).toEqual([[], []]);
    expect(work.statuses[0]?.status.observedGeneration).toBe(2);
    stage.settle();
    stage.edit({ nodeDrainPolicy: 'Evacuate' });
    expect(posted(stage.plan())).toEqual([]);
    expect(posted(stage.settle())).toEqual(['a', 'b']);
  });

  test('nothing is evicted as long as another maintenance of the node has not been acknowledged', () => {
    const stage = evacuating();
    stage.settle();
    stage.create({ drain: { podSelector: { matchLabels: { app: 'none' } } } }, 'm2');
    expect(posted(stage.plan())).toEqual([]);
    expect(posted(stage.settle())).toEqual(['a', 'b']);
  });

  test.each<[string, object]>([
    ['uncordoned', { spec: { unschedulable: null } }],
    ['without a label of ours', { metadata: { labels: { [maintenanceLabel]: null } } }],
    ['without an annotation of ours', { metadata: { annotations: { [doNotDisruptAnnotation]: null } } }],
    ['without its record', { metadata: { annotations: { [maintenanceAnnotation]: null } } }],
    ['with a damaged record', { metadata: { annotations: { [maintenanceAnnotation]: '{' } } }],
    ['without taints', { spec: { taints: [] } }],
  ])(
    'nothing is evicted from a node that is found %s, which is not Ready until it is put right',
    (_, patch) => {
      const stage = evacuating();
      stage.settle();
      const held = looks(stage);
      stage.touchNode(patch);
      const work = stage.step();
      expect([posted(work), [...work.mayLeave]]).toEqual([[], []]);
      expect(work.nodePatch).toBeDefined();
      expect(stage.said('Cordoned')?.startsWith('False')).toBe(true);
      stage.pods = [];
      expect(stage.said('Ready')?.startsWith('False')).toBe(true);
      stage.settle();
      expect(looks(stage)).toMatchObject({ ...(held as object), status: expect.anything() });
      expect(stage.said('Ready')).toBe('True/Drained');
    },
  );

  test('repair does not look like a beginning', () => {
    const stage = evacuating();
    stage.settle();
    stage.touchNode({ metadata: { labels: { [maintenanceLabel]: null } } });
    stage.step();
    expect(stage.status().phase).toBe('Draining');
  });
});

describe('somebody looks again', () => {
  test('when the probe of a closed budget is due', () => {
    const stage = evacuating();
    stage.budgets = [budget('web')];
    stage.drain.postponeProbe('shop/web', 1_000_000, 7000);
    expect(stage.settle().wakeAfterMs).toBe(7000);
  });

  test('when a refused pod may be tried again', () => {
    const stage = evacuating();
    const refusal = { kind: 'admission', message: 'no' } as const;
    stage.drain.attempts.set('uid-a', { refusal, at: 0, notBefore: 1_003_000, uncertain: false });
    expect(stage.settle().wakeAfterMs).toBe(3000);
  });

  test('at the deadline, or when a blocked pod may be deleted, whatever is first', () => {
    const stage = evacuating({ drain: { timeoutSeconds: 90, deleteBlockedAfterSeconds: 40 } });
    stage.budgets = [budget('web')];
    stage.drain.postponeProbe('shop/web', 1_000_000, 500_000);
    expect(stage.settle().wakeAfterMs).toBe(40_000);
    stage.seconds = 41;
    stage.drain.inFlight.add('uid-a').add('uid-b');
    expect(stage.settle().wakeAfterMs).toBe(49_000);
  });
});

describe('NoSchedule and Ignore', () => {
  test('NoSchedule does not even look at pods', () => {
    const stage = Object.assign(new Stage().create({ nodeDrainPolicy: 'NoSchedule' }), { pods: [pod('a')] });
    const work = stage.settle();
    expect([work.watchPods, posted(work)]).toEqual([false, []]);
    expect(stage.node?.spec?.unschedulable).toBe(true);
  });

  test('Ignore leaves the node alone but for its conditions', () => {
    const stage = new Stage().create({ nodeDrainPolicy: 'Ignore' });
    const before = looks(stage);
    const work = stage.settle();
    expect(work.watchPods).toBe(false);
    expect(looks(stage)).toEqual({ ...(before as object), status: expect.anything() });
    expect(stage.node?.status?.conditions?.find(({ type }) => type === 'MaintenancePlanned')?.status).toBe(
      'True',
    );
    stage.delete().settle();
    expect(looks(stage)).toEqual(before);
  });

  test('an edit to Ignore puts the node back; it is Ready only when that is done', () => {
    const stage = evacuating();
    const before = stage.node;
    stage.settle();
    stage.edit({ nodeDrainPolicy: 'Ignore' });
    const work = stage.step();
    expect(work.nodePatch?.spec?.unschedulable).toBeNull();
    expect(stage.said('Ready')?.startsWith('False')).toBe(true);
    expect(stage.status().node?.before).toEqual({ unschedulable: false });
    stage.settle();
    expect(stage.said('Ready')).toBe('True/Announced');
    expect(stage.said('Cordoned')).toBe('False/PolicyIgnore');
    expect(stage.node?.spec).toEqual({ taints: [] });
    expect(stage.node?.metadata.labels ?? {}).toEqual(before?.metadata.labels ?? {});
    expect(stage.status().node).toEqual({ uid: 'uid-n1' });
  });

  test('what an edit takes off the node stays in the status until it is off', () => {
    const stage = evacuating();
    stage.settle();
    stage.edit({ nodeDrainPolicy: 'NoSchedule' });
    const { node: held } = stage;
    stage.step();
    expect(stage.status().node?.added?.labels).toHaveProperty([excludeFromLoadBalancersLabel]);
    // The write on the node was lost, and then the record was.
    stage.node = held;
    stage.touchNode({ metadata: { annotations: { [maintenanceAnnotation]: null } } });
    stage.settle();
    expect(stage.status().node?.added?.labels).not.toHaveProperty([excludeFromLoadBalancersLabel]);
    expect(stage.node?.metadata.labels).not.toHaveProperty([excludeFromLoadBalancersLabel]);
  });

  test('a maintenance that only announces does not wait for what another one does to the node', () => {
    const stage = evacuating();
    stage.create({ nodeDrainPolicy: 'Ignore' }, 'm2').settle();
    stage.touchNode({ metadata: { labels: { [maintenanceLabel]: null } } });
    stage.step();
    expect([stage.said('Ready', 'm1')?.slice(0, 5), stage.said('Ready', 'm2')]).toEqual([
      'False',
      'True/Announced',
    ]);
  });
});

describe('uncordoned by hand', () => {
  test('is put back with a warning on both, and the status knows that the node was schedulable', () => {
    const stage = evacuating();
    stage.touchNode({ spec: { unschedulable: true } });
    stage.settle();
    expect(stage.status().node?.before).toEqual({ unschedulable: true });
    stage.touchNode({ spec: { unschedulable: null } });
    const work = stage.step();
    expect(work.recordon).toBe(true);
    expect(
      work.nodeEvents.map(({ reason, type, maintenance }) => [reason, type, maintenance?.metadata.name]),
    ).toEqual([
      ['CordonPutBack', 'Warning', 'm1'],
      ['CordonPutBack', 'Warning', undefined],
    ]);
    stage.settle();
    expect(stage.status().node?.before).toEqual({ unschedulable: false });
    stage.delete().settle();
    expect(stage.node?.spec?.unschedulable ?? false).toBe(false);
  });

  test('again and again, it waits, says so, and comes back in time', () => {
    const stage = evacuating();
    stage.settle();
    stage.notes = { ...stage.notes, recordonAt: 1_000_000 + 4000 };
    stage.touchNode({ spec: { unschedulable: null } });
    const waiting = stage.settle();
    expect([waiting.nodePatch, posted(waiting), waiting.wakeAfterMs]).toEqual([undefined, [], 4000]);
    expect(stage.said('Cordoned')).toBe('False/UncordonedByHand');
    stage.seconds = 4;
    expect(stage.step().nodePatch?.spec?.unschedulable).toBe(true);
  });
});

describe('a limit on nodes', () => {
  test('a maintenance whose turn has not come touches nothing', () => {
    const stage = evacuating();
    stage.admitted = false;
    const before = looks(stage);
    const work = stage.settle();
    expect([posted(work), work.watchPods]).toEqual([[], false]);
    expect(looks(stage)).toEqual({ ...(before as object), status: expect.anything() });
    stage.admitted = true;
    expect(posted(stage.settle())).toEqual(['a', 'b']);
  });

  test('a node that is held already does not lose its turn with its record', () => {
    const stage = evacuating();
    stage.settle();
    stage.touchNode({ metadata: { annotations: { [maintenanceAnnotation]: null } } });
    stage.admitted = false;
    stage.settle();
    expect(stage.node?.spec?.unschedulable).toBe(true);
    expect(stage.node?.metadata.annotations?.[maintenanceAnnotation]).toBeDefined();
    expect(stage.said('Ready')).toBe('False/Draining');
  });

  test('a turn that was lost before the node was written is lost', () => {
    const stage = evacuating();
    const free = stage.node;
    stage.step();
    stage.step();
    stage.node = free;
    stage.admitted = false;
    stage.settle();
    expect(stage.said('Ready')).toBe('False/WaitingForTurn');
    expect(stage.node?.spec?.unschedulable).toBeUndefined();
  });
});

describe('suspend', () => {
  test('before the start the node is left alone', () => {
    const stage = evacuating({ suspend: true });
    stage.settle();
    expect(stage.node?.spec?.unschedulable).toBeUndefined();
    expect(stage.status().startTime).toBeUndefined();
  });

  test('later, what is done stays done and drift is repaired, but nothing new is evicted', () => {
    const stage = evacuating();
    stage.settle();
    stage.edit({ suspend: true });
    stage.settle();
    stage.touchNode({ metadata: { labels: { [maintenanceLabel]: null } } });
    const work = stage.settle();
    expect([posted(work), [...work.mayLeave], work.watchPods]).toEqual([[], [], true]);
    expect(stage.node?.metadata.labels?.[maintenanceLabel]).toBe('true');
    expect(stage.status().drain?.startTime).toBeUndefined();
    stage.pods = [];
    stage.settle();
    expect(stage.said('Ready')).toBe('True/Drained');
  });
});

test('a selector that cannot be parsed evicts nothing, from nobody', () => {
  const stage = evacuating({ drain: { podSelector: { matchLabels: { '-': 'x' } } } });
  const work = stage.settle();
  expect([posted(work), work.deletions, [...work.mayLeave]]).toEqual([[], [], []]);
  expect(stage.said('Stalled')).toBe('True/InvalidSpec');
  stage.edit({ drain: { podSelector: null } });
  expect(posted(stage.settle())).toEqual(['a', 'b']);
});

describe('what the operator was not permitted to do', () => {
  const nothing = { podDeletion: false, deploymentRestart: false };

  test.each<[Parameters<Stage['create']>[0], string[]]>([
    [{ drain: { onTimeout: 'Delete' } }, ['onTimeout: Delete', 'allowPodDeletion: true']],
    [{ drain: { deleteBlockedAfterSeconds: 60 } }, ['deleteBlockedAfterSeconds', 'allowPodDeletion: true']],
    [
      { drain: { unsatisfiableBudgets: 'Delete' } },
      ['unsatisfiableBudgets: Delete', 'allowPodDeletion: true'],
    ],
    [
      { drain: { blockedDeployments: 'Restart' } },
      ['blockedDeployments: Restart', 'allowDeploymentRestart: true'],
    ],
  ])('%j evicts nothing and names the value of the chart', (spec, words) => {
    const stage = Object.assign(evacuating(spec), { permitted: nothing });
    expect(posted(stage.settle())).toEqual([]);
    const stalled = stage.status().conditions?.find(({ type }) => type === 'Stalled');
    expect(stalled?.reason).toBe('NotPermitted');
    for (const word of words) expect(stalled?.message).toContain(word);
    // It goes on when the spec asks for less, and when the operator comes back with more.
    stage.permitted = { podDeletion: true, deploymentRestart: true };
    expect(posted(stage.settle())).toEqual(['a', 'b']);
    expect(stage.said('Stalled')).toBeUndefined();
    stage.permitted = nothing;
    stage.edit({ drain: null });
    expect(posted(stage.settle())).toEqual(['a', 'b']);
  });

  test('where the node keeps its pods nobody asks', () => {
    const stage = Object.assign(
      evacuating({ nodeDrainPolicy: 'NoSchedule', drain: { onTimeout: 'Delete' } }),
      { permitted: nothing },
    );
    stage.settle();
    expect(stage.said('Ready')).toBe('True/Cordoned');
  });

  test('one that is refused does not consent to what another asks for', () => {
    const stage = evacuating({ drain: { deleteBlockedAfterSeconds: 1 } });
    stage.create({ drain: { deleteBlockedAfterSeconds: 1, blockedDeployments: 'Restart' } }, 'm2');
    Object.assign(stage, {
      budgets: [budget('web')],
      permitted: { podDeletion: true, deploymentRestart: false },
    });
    stage.settle();
    stage.seconds = 600;
    expect([stage.settle().deletions, stage.said('Stalled', 'm2')]).toEqual([[], 'True/NotPermitted']);
  });
});

describe('the node is not there', () => {
  test('it is waited for, and after 5 minutes somebody looks again', () => {
    const stage = evacuating();
    stage.node = undefined;
    const work = stage.settle();
    expect(work.wakeAfterMs).toBe(300_000);
    expect(work.addFinalizers).toEqual([]);
    stage.seconds = 300;
    stage.settle();
    expect(stage.said('Stalled')).toBe('True/NodeNotFound');
    stage.seconds = 9999;
    stage.settle();
    stage.node = node();
    expect(posted(stage.settle())).toEqual(['a', 'b']);
  });

  test('gone before anything began, it is missed from then on, and a restart does not count anew', () => {
    const stage = evacuating({ suspend: true });
    stage.settle();
    stage.node = undefined;
    stage.seconds = 9000;
    stage.settle();
    expect(stage.said('Reconciling')).toBe('True/NodeNotFound');
    stage.seconds = 9200;
    stage.restart();
    stage.settle();
    stage.seconds = 9300;
    stage.settle();
    expect(stage.said('Stalled')).toBe('True/NodeNotFound');
  });

  test('deleted while it is missing, the maintenance goes at once', () => {
    const stage = evacuating();
    stage.node = undefined;
    stage.settle();
    stage.delete().settle();
    expect(stage.maintenances).toEqual([]);
  });

  test('gone in the middle: noted, and the maintenance can go', () => {
    const stage = evacuating();
    stage.settle();
    stage.node = undefined;
    const work = stage.settle();
    expect([posted(work), work.watchPods]).toEqual([[], false]);
    expect(stage.words()).toMatchObject({ phase: 'NodeGone', Ready: 'False/NodeGone' });
    stage.delete().settle();
    expect(stage.maintenances).toEqual([]);
  });

  test.each([
    ['seen to be gone', true, false],
    ['gone and back before anybody looked', false, false],
    ['gone and back, its pods known at once', false, true],
  ])('registered again under its name (%s), it is a new node: recorded afresh', (_, seen, known) => {
    const stage = evacuating({ drain: { timeoutSeconds: 10 } });
    stage.budgets = [budget('web')];
    stage.touchNode({ spec: { unschedulable: true } });
    stage.settle();
    stage.seconds = 10;
    stage.settle();
    expect(stage.said('Ready')).toBe('False/DrainFailed');
    if (seen) {
      stage.node = undefined;
      stage.settle();
    }
    stage.seconds = 100;
    stage.node = node({ uid: 'uid-again' });
    stage.pods = known ? [pod('c')] : undefined;
    stage.settle();
    stage.pods = [pod('c')];
    stage.settle();
    expect(stage.status()).toMatchObject({
      startTime: at(100),
      node: { uid: 'uid-again', before: { unschedulable: false } },
      drain: { startTime: at(100), progress: '0/1' },
    });
    expect(stage.status().drain?.failure).toBeUndefined();
    stage.delete().settle();
    expect(stage.node.spec?.unschedulable ?? false).toBe(false);
  });
});

describe('the end', () => {
  test('restoring is said, then the node is put back, its conditions go, and at last the finalizer', () => {
    const stage = evacuating();
    const before = looks(stage);
    stage.settle();
    stage.delete();
    const first = stage.step();
    expect(stage.status().phase).toBe('Restoring');
    expect(first.statuses).toHaveLength(1);
    expect(first.nodePatch?.spec?.unschedulable).toBeNull();
    expect(first.nodeConditions).toEqual([]);
    expect(first.dropFinalizers).toEqual([]);
    expect(posted(first)).toEqual([]);
    const second = stage.step();
    expect(second.dropFinalizers).toHaveLength(1);
    expect(second.dropFinalizers[0]?.events.map(({ reason }) => reason)).toEqual(['Restored']);
    expect(looks(stage)).toEqual(before);
    expect(stage.maintenances).toEqual([]);
  });

  test('one that never began leaves no event', () => {
    const stage = evacuating({ suspend: true });
    stage.settle();
    stage.delete().settle();
    expect(stage.maintenances).toEqual([]);
    expect(stage.events.map(({ reason }) => reason)).not.toContain('Restored');
  });

  test('deleted before its first visit, it has no finalizer and is nobody to wait for', () => {
    const stage = evacuating();
    stage.delete();
    const work = stage.plan();
    expect([work.addFinalizers, work.dropFinalizers, work.statuses, work.nodePatch]).toEqual([
      [],
      [],
      [],
      undefined,
    ]);
  });

  test('as long as the node cannot be written it is waited for and said; after 10 minutes it is let go', () => {
    const stage = evacuating();
    stage.settle();
    const held = stage.node;
    stage.delete();
    stage.step();
    stage.node = held;
    stage.notes = { ...stage.notes, nodeWriteProblem: 'nodes is forbidden' };
    stage.seconds = 599;
    const waiting = stage.plan();
    expect(waiting.dropFinalizers).toEqual([]);
    expect(waiting.wakeAfterMs).toBe(1000);
    expect(waiting.statuses[0]?.status.conditions?.[0]?.message).toContain('nodes is forbidden');
    stage.seconds = 600;
    const released = stage.plan();
    expect(released.dropFinalizers).toHaveLength(1);
    expect(released.dropFinalizers[0]?.events).toEqual([]);
    // Steps are carried out in order: one that fails again must not stand before the release.
    expect([released.nodePatch, released.nodeConditions]).toEqual([undefined, undefined]);
    stage.step();
    expect(stage.maintenances).toEqual([]);
  });

  test('an operator that was away for long tries the node before it lets go', () => {
    const stage = evacuating();
    stage.settle();
    stage.delete();
    stage.seconds = 3600;
    const work = stage.step();
    expect(work.nodePatch?.spec?.unschedulable).toBeNull();
    expect(stage.node?.spec?.unschedulable).toBeUndefined();
  });

  test('a record without its maintenance is undone, but only when it is certain that nobody holds the node', () => {
    const stage = evacuating();
    stage.settle();
    stage.maintenances = [];
    const unsure = stage.plan();
    expect(unsure.verifyHolders).toEqual([{ name: 'm1', uid: 'uid-m1', reason: '' }]);
    expect(unsure.nodePatch).toBeUndefined();
    stage.notes = { ...stage.notes, absentHolders: new Set(['uid-m1']) };
    stage.settle();
    expect(stage.node?.spec?.unschedulable).toBeUndefined();
    expect(stage.node?.metadata.annotations).toEqual({});
    expect(stage.node?.status?.conditions?.map(({ type }) => type)).toEqual(['Ready']);
  });

  test('while it is not certain, the others do not touch the node and evict nothing', () => {
    const stage = evacuating();
    stage.create({ nodeDrainPolicy: 'NoSchedule' }, 'm2').settle();
    stage.maintenances = stage.maintenances.filter(({ metadata }) => metadata.name !== 'm2');
    const unsure = stage.plan();
    expect([unsure.verifyHolders.length, unsure.nodePatch, posted(unsure)]).toEqual([1, undefined, []]);
    stage.notes = { ...stage.notes, absentHolders: new Set(['uid-m2']) };
    expect(posted(stage.settle())).toEqual(['a', 'b']);
  });
});

describe('nodeDeletePolicy Evict', () => {
  const leave = { metadata: { deletionTimestamp: at(0) } };

  test.each(['Evacuate', 'NoSchedule', 'Ignore'] as const)(
    '%s: the finalizer goes on with the start and holds the node until it is empty',
    (nodeDrainPolicy) => {
      const stage = evacuating({ nodeDrainPolicy, nodeDeletePolicy: 'Evict' });
      stage.settle();
      expect(stage.node?.metadata.finalizers).toEqual([evacuateFinalizer]);
      stage.touchNode(leave);
      expect(posted(stage.settle())).toEqual(['a', 'b']);
      expect(stage.node?.spec?.unschedulable).toBe(true);
      stage.pods = [];
      stage.settle();
      expect(stage.node?.metadata.finalizers).toEqual([]);
      expect(stage.node?.spec?.unschedulable).toBe(true);
    },
  );

  test('Orphan holds nothing up', () => {
    const stage = evacuating();
    stage.settle();
    expect(stage.node?.metadata.finalizers ?? []).toEqual([]);
  });

  test('an edit to Orphan takes it off; so does the end', () => {
    const stage = evacuating({ nodeDeletePolicy: 'Evict' });
    stage.settle();
    stage.edit({ nodeDeletePolicy: 'Orphan' }).settle();
    expect(stage.node?.metadata.finalizers).toEqual([]);
    stage.edit({ nodeDeletePolicy: 'Evict' }).settle();
    expect(stage.node?.metadata.finalizers).toEqual([evacuateFinalizer]);
    stage.delete().settle();
    expect(stage.node?.metadata.finalizers).toEqual([]);
  });

  test('one that waits for its turn, or is suspended before the start, holds nothing up', () => {
    for (const prepare of [{ admitted: false }, {}]) {
      const stage = Object.assign(
        evacuating({ nodeDeletePolicy: 'Evict', suspend: !('admitted' in prepare) }),
        prepare,
      );
      stage.settle();
      expect(stage.node?.metadata.finalizers ?? []).toEqual([]);
    }
  });

  test.each<[string, object]>([
    ['suspended', { suspend: true }],
    ['failed', { drain: { timeoutSeconds: 5 } }],
  ])('%s, it lets the node go when its own time is over', (_, spec) => {
    const stage = evacuating({ nodeDeletePolicy: 'Evict', nodeDeleteTimeoutSeconds: 600 });
    stage.budgets = [budget('web')];
    stage.settle();
    stage.edit(spec).touchNode(leave).settle();
    stage.seconds = 599;
    expect(stage.settle().wakeAfterMs).toBe(1000);
    expect(stage.node?.metadata.finalizers).toEqual([evacuateFinalizer]);
    stage.seconds = 600;
    stage.settle();
    expect(stage.node?.metadata.finalizers).toEqual([]);
  });
});

/** Types of the node's own conditions that are True. */
function conditions({ node: of }: Stage): string[] {
  const all = of?.status?.conditions ?? [];
  return all.filter(({ type, status }) => type !== 'Ready' && status === 'True').map(({ type }) => type);
}

describe('what the node says', () => {
  test.each<[string, () => Stage, string[]]>([
    ['waiting for its turn', () => Object.assign(evacuating(), { admitted: false }), ['MaintenancePlanned']],
    ['suspended before the start', () => evacuating({ suspend: true }), ['MaintenancePlanned']],
    ['cordoned', () => evacuating({ nodeDrainPolicy: 'NoSchedule' }), ['MaintenanceInProgress']],
    ['draining', () => evacuating(), ['MaintenanceInProgress', 'DrainInProgress']],
    ['drained', () => new Stage().create(), ['MaintenanceInProgress', 'Drained']],
    [
      'some kept',
      () =>
        Object.assign(new Stage().create({ drain: { unmanagedPods: 'Skip' } }), {
          pods: [pod('a', { owner: undefined })],
        }),
      ['MaintenanceInProgress'],
    ],
  ])('%s', (_, make, expected) => {
    const stage = make();
    stage.settle();
    expect(conditions(stage)).toEqual(expected);
  });

  test('nothing drains while it is suspended, or after it gave up', () => {
    const stage = evacuating({ drain: { timeoutSeconds: 60 } });
    stage.settle();
    stage.edit({ suspend: true }).settle();
    expect(conditions(stage)).toEqual(['MaintenanceInProgress']);
    stage.edit({ suspend: false }).settle();
    expect(conditions(stage)).toEqual(['MaintenanceInProgress', 'DrainInProgress']);
    stage.seconds = 60;
    stage.settle();
    expect(conditions(stage)).toEqual(['MaintenanceInProgress']);
  });
});
