import { describe, expect, test } from '@jest/globals';
import type { Cause } from '../../../src/drain/obstacles.ts';
import { at, budget, pod } from '../../fixtures/objects.ts';
import { Stage } from '../../fixtures/stage.ts';

type Spec = NonNullable<Parameters<Stage['create']>[0]>;
const unmanaged = { owner: undefined };
const refusal = { kind: 'budget', budget: 'web', needs: 2, has: 2, message: 'no' } as const;

function ceiling(maxGracePeriodSeconds: number | undefined): Spec {
  return maxGracePeriodSeconds === undefined ? {} : { drain: { maxGracePeriodSeconds } };
}

function after(deleteBlockedAfterSeconds: number): Spec {
  return { drain: { deleteBlockedAfterSeconds } };
}

function timeout(timeoutSeconds: number): Spec {
  return { drain: { timeoutSeconds, onTimeout: 'Delete' } };
}

/** The node with two maintenances, and one pod that is called `p`. */
function both(first: Spec, second: Spec, options: Parameters<typeof pod>[1] = {}): Stage {
  const stage = new Stage().create(first, 'm1').create(second, 'm2');
  stage.pods = [pod('p', options)];
  return stage;
}

describe('a pod leaves when one active maintenance selects it', () => {
  const none = { podSelector: { matchLabels: { app: 'none' } } };
  test.each<[string, Spec, Spec, boolean]>([
    ['both do', {}, {}, true],
    ['one does', { drain: none }, {}, true],
    ['none does', { drain: none }, { drain: none }, false],
    ['the one that does is suspended', { suspend: true }, { drain: none }, false],
    ['the one that does only cordons', { nodeDrainPolicy: 'NoSchedule' }, { drain: none }, false],
    ['the one that does only announces', { nodeDrainPolicy: 'Ignore' }, { drain: none }, false],
    ['the other one is suspended', { drain: none, suspend: true }, {}, true],
    [
      'the one that does cannot be read',
      { drain: { podSelector: { matchLabels: { '-': '' } } } },
      { drain: none },
      false,
    ],
  ])('%s', (_, first, second, leaves) => {
    expect(both(first, second).settle().posts.length).toBe(leaves ? 1 : 0);
  });
});

describe('going past a protection needs everybody', () => {
  const evict = { drain: { unmanagedPods: 'Evict' } } as const;
  const skip = { drain: { unmanagedPods: 'Skip' } } as const;
  const none = { podSelector: { matchLabels: { app: 'none' } } };
  test.each<[string, Spec, Spec, boolean]>([
    ['both agree', evict, evict, true],
    ['the other one blocks', evict, {}, false],
    ['the other one skips', evict, skip, false],
    ['the other one blocks and is suspended', evict, { suspend: true }, false],
    ['the other one blocks and does not even select the pod', evict, { drain: none }, false],
    ['the other one only cordons', evict, { nodeDrainPolicy: 'NoSchedule' }, true],
    ['the other one only announces', evict, { nodeDrainPolicy: 'Ignore' }, true],
  ])('an unmanaged pod: %s', (_, first, second, leaves) => {
    const work = both(first, second, unmanaged).settle();
    expect([work.posts.length, work.mayLeave.size]).toEqual(leaves ? [1, 1] : [0, 0]);
  });

  test('also of one that is suspended only later, that gave up, or that waits for its turn', () => {
    const stage = both(evict, {}, unmanaged);
    stage.settle();
    stage.edit({ suspend: true }, 'm2');
    expect(stage.settle().posts).toEqual([]);
    stage.edit({ suspend: false, drain: { timeoutSeconds: 5 } }, 'm2').settle();
    stage.seconds = 5;
    expect(stage.settle().posts).toEqual([]);
    expect(stage.said('Stalled', 'm2')).toBe('True/DrainFailed');
    stage.delete('m2').settle();
    expect(stage.settle().posts).toHaveLength(1);
  });

  test('who is being deleted has no say any more', () => {
    const stage = both(evict, {}, unmanaged);
    stage.settle();
    stage.delete('m2');
    stage.step();
    expect(stage.plan().posts).toHaveLength(1);
  });

  test.each<[string, Spec, Spec, boolean]>([
    ['both agree', {}, {}, true],
    ['the other one blocks', {}, { drain: { emptyDirPods: 'Block' } }, false],
    ['the other one skips', {}, { drain: { emptyDirPods: 'Skip' } }, false],
  ])('emptyDir data: %s', (_, first, second, leaves) => {
    expect(both(first, second, { emptyDir: true }).settle().posts.length).toBe(leaves ? 1 : 0);
  });

  test('the objection is told, and by whom', () => {
    const stage = both(evict, skip, unmanaged);
    stage.settle();
    expect(stage.status('m1').blockers).toMatchObject([
      { cause: 'UnmanagedPod', message: expect.stringContaining('m2') },
    ]);
    expect([stage.said('DrainBlocked', 'm2'), stage.said('Drained', 'm2')]).toEqual([
      'False/NotBlocked',
      'False/PodsKept',
    ]);
    expect(stage.said('Ready', 'm2')).toBe('True/Drained');
  });

  test.each<[string, number | undefined, number | undefined, number, number | undefined]>([
    ['both ask for less', 5, 9, 30, 9],
    ['one asks for less', 5, undefined, 30, undefined],
    ['more than the pod has', 90, 90, 30, undefined],
    ['as much as the pod has', 30, 30, 30, undefined],
    ['nobody asks', undefined, undefined, 30, undefined],
  ])('grace period: %s', (_, first, second, own, expected) => {
    const work = both(ceiling(first), ceiling(second), { gracePeriodSeconds: own }).settle();
    expect(work.posts.map(({ gracePeriodSeconds }) => gracePeriodSeconds)).toEqual([expected]);
  });
});

/** What becomes of a pod whose budget has refused it since noon, `seconds` later. */
function refusedFor(
  seconds: number,
  first: Spec,
  second: Spec | undefined,
  kind: 'budget' | 'admission' = 'budget',
): 'deleted' | 'kept' {
  const stage = new Stage().create(first, 'm1');
  if (second) stage.create(second, 'm2');
  stage.pods = [pod('p')];
  stage.budgets = [budget('web')];
  stage.settle();
  const attempt = kind === 'budget' ? refusal : ({ kind: 'admission', message: 'no' } as const);
  stage.drain.attempts.set('uid-p', {
    refusal: attempt,
    at: 0,
    notBefore: kind === 'budget' ? undefined : 0,
    uncertain: false,
  });
  stage.seconds = seconds;
  const work = stage.settle();
  expect(work.deletions.every(({ pod: { metadata } }) => metadata.uid === 'uid-p')).toBe(true);
  return work.deletions.length > 0 ? 'deleted' : 'kept';
}

describe('deletion past a budget', () => {
  test.each<[string, number, Spec, Spec | undefined, 'deleted' | 'kept']>([
    ['nobody asks for it', 9999, {}, undefined, 'kept'],
    ['before deleteBlockedAfterSeconds', 59, after(60), undefined, 'kept'],
    ['from then on', 60, after(60), undefined, 'deleted'],
    ['before the deadline', 59, timeout(60), undefined, 'kept'],
    ['from the deadline on', 60, timeout(60), undefined, 'deleted'],
    ['the deadline with Fail', 60, { drain: { timeoutSeconds: 60 } }, undefined, 'kept'],
    [
      'the earlier of both',
      60,
      { drain: { deleteBlockedAfterSeconds: 60, timeoutSeconds: 600, onTimeout: 'Delete' } },
      undefined,
      'deleted',
    ],
    ['the other one never asks', 9999, after(60), {}, 'kept'],
    ['the other one asks for it later: not yet', 60, after(60), after(90), 'kept'],
    ['the other one asks for it later: now', 90, after(60), after(90), 'deleted'],
    ['by different rules: not yet', 60, after(60), timeout(90), 'kept'],
    ['by different rules: now', 90, after(60), timeout(90), 'deleted'],
    ['the other one is suspended and never asks', 9999, after(60), { suspend: true }, 'kept'],
    ['the other one only cordons', 60, after(60), { nodeDrainPolicy: 'NoSchedule' }, 'deleted'],
    [
      'it is suspended itself',
      9999,
      { ...after(60), suspend: true },
      { nodeDrainPolicy: 'NoSchedule' },
      'kept',
    ],
    [
      'the other one cannot be read',
      9999,
      after(60),
      { drain: { deleteBlockedAfterSeconds: 60, podSelector: { matchLabels: { '-': '' } } } },
      'kept',
    ],
  ])('%s', (_, seconds, first, second, expected) => {
    expect(refusedFor(seconds, first, second)).toBe(expected);
  });

  test('never follows the refusal of a webhook', () => {
    expect(refusedFor(60, after(60), undefined, 'admission')).toBe('kept');
    expect(refusedFor(60, timeout(60), undefined, 'admission')).toBe('kept');
  });

  test('the time since when the budget refuses survives a restart and an opening that did not reach the pod', () => {
    const stage = new Stage().create(after(60));
    stage.pods = [pod('a'), pod('b')];
    stage.budgets = [budget('web')];
    stage.settle();
    stage.seconds = 20;
    stage.budgets = [budget('web', { allowed: 1, resourceVersion: '101' })];
    stage.settle();
    stage.budgets = [budget('web', { resourceVersion: '102' })];
    stage.settle();
    stage.seconds = 40;
    const pods = stage.restart();
    stage.settle();
    stage.pods = pods;
    const work = stage.settle();
    expect(stage.status().blockers?.map(({ since, nextStep }) => [since, nextStep])).toEqual([
      [at(0), `deleted at ${at(60)} (deleteBlockedAfterSeconds)`],
      [at(0), `deleted at ${at(60)} (deleteBlockedAfterSeconds)`],
    ]);
    expect(work.wakeAfterMs).toBeLessThanOrEqual(20_000);
    stage.seconds = 60;
    // The process that was started in between has no refusal of its own to go by: it asks first.
    expect(stage.settle().posts.map(({ probe }) => probe)).toEqual([true]);
  });

  test('pods held by Block are not deleted, whatever the time', () => {
    const stage = new Stage().create({
      drain: { deleteBlockedAfterSeconds: 1, timeoutSeconds: 9, onTimeout: 'Delete' },
    });
    stage.pods = [pod('p', unmanaged)];
    stage.budgets = [budget('web')];
    stage.settle();
    stage.drain.attempts.set('uid-p', { refusal, at: 0, notBefore: undefined, uncertain: false });
    stage.seconds = 9999;
    const work = stage.settle();
    expect([work.deletions, work.posts]).toEqual([[], []]);
  });
});

describe('each has its own status', () => {
  const taint = { key: 'example.com/x', value: '1', effect: 'NoSchedule' as const };
  test.each<[string, (stage: Stage) => unknown]>([
    ['another one joins', (stage) => stage.create({ taints: [taint] }, 'm3')],
    ['another one leaves', (stage) => stage.delete('m2')],
    ['another one goes to Ignore', (stage) => stage.edit({ nodeDrainPolicy: 'Ignore' }, 'm2')],
  ])('one that is Ready stays it while %s', (_, happens) => {
    const stage = both({}, { taints: [taint] });
    stage.pods = [];
    stage.settle();
    const before = stage.status('m1').conditions;
    happens(stage);
    for (let round = 0; round < 6; round++) {
      stage.step();
      expect(stage.status('m1').conditions).toEqual(before);
    }
  });

  test('but not while the node lacks something of its own at the same time', () => {
    const stage = both({}, {});
    stage.pods = [];
    stage.settle();
    stage.touchNode({ spec: { taints: [] } }).delete('m2');
    stage.step();
    expect(stage.said('Ready', 'm1')).toBe('False/Updating');
  });

  test('drained for one, not for the other', () => {
    const stage = both({ drain: { podSelector: { matchLabels: { app: 'none' } } } }, {});
    stage.budgets = [budget('web')];
    stage.settle();
    expect([stage.said('Ready', 'm1'), stage.said('Drained', 'm1')]).toEqual([
      'True/Drained',
      'False/PodsKept',
    ]);
    expect([stage.said('Ready', 'm2'), stage.said('DrainBlocked', 'm2')]).toEqual([
      'False/DrainBlocked',
      `True/${'PodDisruptionBudget' satisfies Cause}`,
    ]);
  });

  test('the last one out restores', () => {
    const stage = both({}, { nodeDrainPolicy: 'NoSchedule' });
    stage.pods = [];
    stage.settle();
    stage.delete('m1').settle();
    expect(stage.maintenances.map(({ metadata }) => metadata.name)).toEqual(['m2']);
    expect(stage.node?.spec?.unschedulable).toBe(true);
    stage.delete('m2').settle();
    expect(stage.node?.spec?.unschedulable).toBeUndefined();
  });

  test('one that is deleted and held by the finalizer of somebody else neither stands still nor holds up the other', () => {
    const stage = both({}, {});
    stage.maintenances = stage.maintenances.map((each) => ({
      ...each,
      metadata: { ...each.metadata, finalizers: ['example.com/gate'] },
    }));
    stage.settle();
    stage.delete('m2');
    for (let round = 0; round < 4; round++) stage.step();
    const gone = stage.maintenances.filter(({ metadata }) => metadata.name !== 'm2');
    const work = stage.plan();
    expect(gone).toHaveLength(1);
    expect(work.posts).toHaveLength(1);
    expect(work.statuses).toEqual([]);
  });
});
