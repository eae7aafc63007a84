import { describe, expect, test } from '@jest/globals';
import type { Refusal } from '../../../src/kube/answer.ts';
import { at, budget, pod } from '../../fixtures/objects.ts';
import { Stage } from '../../fixtures/stage.ts';

type Drain = NonNullable<NonNullable<Parameters<Stage['create']>[0]>['drain']>;

const hopeless = budget('web', { needs: 1, expected: 1, minAvailable: 1 });
const refused: Refusal = { kind: 'budget', message: 'no', budget: 'web', needs: 1, has: 1 };

/** Pod a under a budget that wants its only pod. */
function blocked(drain: Drain = {}): Stage {
  const stage = Object.assign(new Stage().create({ drain }), { pods: [pod('a')], budgets: [hopeless] });
  stage.settle();
  return stage;
}

function asked(stage: Stage, refusal: Refusal = refused): void {
  stage.drain.attempts.set('uid-a', { refusal, at: 0, notBefore: undefined, uncertain: false });
}

function blocker(stage: Stage) {
  return stage.status().blockers?.[0];
}

test('is named with the reason and with advice after a minute, and is no younger for that', () => {
  const stage = blocked();
  stage.seconds = 59;
  expect(stage.settle().wakeAfterMs).toBe(1000);
  expect(blocker(stage)).toMatchObject({ cause: 'PodDisruptionBudget', since: at(0) });
  stage.seconds = 60;
  stage.settle();
  expect(stage.status().blockers).toEqual([
    {
      pod: { namespace: 'shop', name: 'a', uid: 'uid-a' },
      cause: 'UnsatisfiablePodDisruptionBudget',
      message: 'budget shop/web can never allow a disruption: minAvailable 1 of 1 pod',
      budget: { name: 'web', needs: 1, has: 1 },
      since: at(0),
      nextStep:
        'nothing happens by itself: raise the replicas of the workload or lower minAvailable of the budget',
    },
  ]);
  expect(stage.said('DrainBlocked')).toBe('True/UnsatisfiablePodDisruptionBudget');
  expect(stage.status().phase).toBe('Draining');
});

test('goes back to PodDisruptionBudget when the budget can be satisfied', () => {
  const stage = blocked({ deleteBlockedAfterSeconds: 600 });
  stage.seconds = 60;
  stage.settle();
  stage.budgets = [budget('web', { needs: 1, expected: 2, resourceVersion: '101' })];
  stage.settle();
  expect(blocker(stage)).toMatchObject({
    cause: 'PodDisruptionBudget',
    since: at(0),
    nextStep: `deleted at ${at(600)} (deleteBlockedAfterSeconds)`,
  });
});

test('a restart forgets it, and needs another minute', () => {
  const stage = blocked({ unsatisfiableBudgets: 'Fail' });
  stage.seconds = 50;
  stage.pods = stage.restart();
  stage.settle();
  stage.seconds = 109;
  stage.settle();
  expect(blocker(stage)?.cause).toBe('PodDisruptionBudget');
  stage.seconds = 110;
  stage.settle();
  expect(stage.status().phase).toBe('Failed');
});

describe('Fail', () => {
  test('says so, then gives up with the reason; the node stays cordoned', () => {
    const stage = blocked({ unsatisfiableBudgets: 'Fail' });
    stage.seconds = 60;
    stage.step();
    expect(blocker(stage)).toMatchObject({
      cause: 'UnsatisfiablePodDisruptionBudget',
      nextStep: 'the drain gives up now (unsatisfiableBudgets is Fail)',
    });
    stage.settle();
    expect(stage.words()).toMatchObject({
      phase: 'Failed',
      Ready: 'False/DrainFailed',
      Stalled: 'True/DrainFailed',
    });
    expect(stage.status().drain?.failure).toMatchObject({
      reason: 'UnsatisfiablePodDisruptionBudget',
      message:
        'budget shop/web can never let pod shop/a go (minAvailable 1 of 1 pod), and unsatisfiableBudgets is Fail',
    });
    expect(blocker(stage)?.cause).toBe('UnsatisfiablePodDisruptionBudget');
    expect(stage.node?.spec?.unschedulable).toBe(true);
    expect(stage.plan().posts).toEqual([]);
  });

  test('an edit begins again', () => {
    const stage = blocked({ unsatisfiableBudgets: 'Fail' });
    stage.seconds = 60;
    stage.settle();
    stage.edit({ drain: { unsatisfiableBudgets: 'Wait' } });
    stage.settle();
    expect(stage.status().phase).toBe('Draining');
    expect(stage.status().drain?.failure).toBeUndefined();
  });

  test('is no consent to the deletion that another maintenance asks for', () => {
    const stage = blocked({ unsatisfiableBudgets: 'Fail', timeoutSeconds: 600, onTimeout: 'Delete' });
    stage.create({ drain: { deleteBlockedAfterSeconds: 1 } }, 'm2');
    asked(stage);
    stage.settle();
    stage.seconds = 60;
    stage.settle();
    expect(stage.status('m1').phase).toBe('Failed');
    expect(stage.plan().deletions).toEqual([]);
  });

  test('not for a pod that is on its way out, or that stays', () => {
    const stage = blocked({ unsatisfiableBudgets: 'Fail' });
    stage.seconds = 60;
    stage.step();
    stage.pods = [pod('a', { deletionTimestamp: at(90) })];
    stage.settle();
    expect(stage.status().phase).toBe('Draining');
  });
});

describe('Delete', () => {
  test('deletes after the minute, if the last word was the budget’s own', () => {
    const stage = blocked({ unsatisfiableBudgets: 'Delete' });
    asked(stage);
    stage.seconds = 59;
    expect(stage.settle().deletions).toEqual([]);
    stage.seconds = 60;
    const { deletions, posts } = stage.settle();
    expect(posts).toEqual([]);
    expect(deletions.map(({ pod: of, gracePeriodSeconds }) => [of.metadata.uid, gracePeriodSeconds])).toEqual(
      [['uid-a', undefined]],
    );
    expect(blocker(stage)?.nextStep).toBe('deleted now (unsatisfiableBudgets is Delete)');
  });

  test('asks the eviction API first where it has not been asked about this pod', () => {
    const stage = blocked({ unsatisfiableBudgets: 'Delete' });
    stage.seconds = 60;
    const { deletions, posts } = stage.settle();
    expect(deletions).toEqual([]);
    expect(posts).toMatchObject([{ pod: { metadata: { uid: 'uid-a' } }, probe: true }]);
  });

  test('not without the consent of every maintenance that evacuates the node', () => {
    const stage = blocked({ unsatisfiableBudgets: 'Delete' });
    stage.create({ suspend: true }, 'm2');
    asked(stage);
    stage.seconds = 60;
    expect(stage.settle().deletions).toEqual([]);
    expect(blocker(stage)?.cause).toBe('UnsatisfiablePodDisruptionBudget');
    stage.edit({ drain: { deleteBlockedAfterSeconds: 600 } }, 'm2');
    expect(stage.settle().deletions).toEqual([]);
    expect(blocker(stage)?.nextStep).toBe(
      `deleted at ${at(600)} (when every maintenance of the node agrees)`,
    );
    stage.edit({ drain: { unsatisfiableBudgets: 'Delete' } }, 'm2');
    expect(stage.settle().deletions).toHaveLength(1);
  });
});

test.each(['Fail', 'Delete'] as const)(
  'a pod that a webhook moves is neither failed with nor deleted (%s)',
  (then) => {
    const stage = blocked({ unsatisfiableBudgets: then });
    asked(stage, { kind: 'admission', message: 'Eviction triggered evacuation of VMI "shop/a"' });
    stage.seconds = 60;
    expect(stage.settle().deletions).toEqual([]);
    expect(stage.status().phase).toBe('Draining');
    expect(blocker(stage)?.cause).toBe('AdmissionDenied');
  },
);
