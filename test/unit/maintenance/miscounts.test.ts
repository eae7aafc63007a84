/** What is said of a budget that Kubernetes does not count again. */
import { expect, test } from '@jest/globals';
import { at, budget, pod } from '../../fixtures/objects.ts';
import { Stage } from '../../fixtures/stage.ts';

const stale = budget('web', { needs: 0, healthy: 0, expected: 1 });
const counts = 'budget shop/web needs 0 healthy pods and has 0';

function blocked(readySince: string): Stage {
  const stage = new Stage().create();
  stage.pods = [pod('a', { readySince })];
  stage.budgets = [stale];
  stage.settle();
  return stage;
}

function blocker(stage: Stage) {
  return stage.status().blockers?.[0];
}

test('is named with what to do about it, once it is sure, and is no younger for that', () => {
  const stage = blocked(at(-10));
  expect(blocker(stage)).toMatchObject({
    message: counts,
    nextStep: 'evicted as soon as the budget allows it',
  });
  stage.seconds = 19;
  expect(stage.settle().wakeAfterMs).toBe(1_000);
  expect(blocker(stage)?.message).toBe(counts);
  stage.seconds = 20;
  stage.settle();
  expect(stage.status().blockers).toEqual([
    {
      pod: { namespace: 'shop', name: 'a', uid: 'uid-a' },
      cause: 'PodDisruptionBudget',
      message: `${counts}, although 1 pod of this node that it selects is Ready: its status is out of date`,
      budget: { name: 'web', needs: 0, has: 0 },
      since: at(0),
      nextStep:
        'evicted as soon as the budget allows it; a change of the budget, such as an annotation, has it counted again',
    },
  ]);
});

test('says so no more when it has been counted', () => {
  const stage = blocked(at(-60));
  expect(blocker(stage)?.message).toContain('out of date');
  stage.budgets = [budget('web', { needs: 1, healthy: 1, resourceVersion: '101' })];
  stage.settle();
  expect(blocker(stage)?.message).toBe('budget shop/web needs 1 healthy pod and has 1');
});

test('a pod whose eviction was accepted is not in the way of the truth about the others', () => {
  const stage = blocked(at(-60));
  stage.pods = [pod('a', { readySince: at(-60) }), pod('b', { readySince: at(-60) })];
  stage.budgets = [budget('web', { needs: 1, healthy: 1, resourceVersion: '101' })];
  stage.drain.accepted.add('uid-b');
  stage.settle();
  expect(blocker(stage)?.message).toBe('budget shop/web needs 1 healthy pod and has 1');
});

test('one that the disruption controller cannot work out is told with its words', () => {
  const stage = blocked(at(-60));
  const failed = { syncFailure: 'found no controllers for pod "a"', generation: 1, observedGeneration: 0 };
  stage.budgets = [budget('web', { ...failed, resourceVersion: '101' })];
  stage.settle();
  expect(blocker(stage)).toMatchObject({
    message:
      'budget shop/web allows nothing, as the disruption controller cannot work it out: found no controllers for pod "a"',
    nextStep:
      'evicted as soon as the budget allows it; minAvailable as a number works with pods of any controller',
  });
});
