import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  UnsatisfiableBudgets,
  looksUnsatisfiable,
  unsatisfiable,
  unsatisfiableAfterMs,
} from '../../../src/drain/unsatisfiable.ts';
import type { OwnerReference, PodDisruptionBudget } from '../../../src/kube/types.ts';
import { budget } from '../../fixtures/objects.ts';

type Status = NonNullable<PodDisruptionBudget['status']>;

function withStatus(status: Status, spec: object = {}, owners: readonly OwnerReference[] = []) {
  const one = budget('web');
  return {
    metadata: { ...one.metadata, ...(owners.length > 0 ? { ownerReferences: owners } : {}) },
    spec: { ...one.spec, ...spec },
    status: { ...one.status, ...status },
  };
}

describe('looksUnsatisfiable', () => {
  const all = { desiredHealthy: 1, expectedPods: 1, currentHealthy: 1, disruptionsAllowed: 0 };

  test.each<[string, PodDisruptionBudget, boolean]>([
    ['wants all pods', withStatus(all), true],
    ['wants more than there are', withStatus({ ...all, desiredHealthy: 3 }), true],
    ['wants all pods and has too few', withStatus({ ...all, currentHealthy: 0 }), true],
    ['wants fewer', withStatus({ ...all, expectedPods: 2 }), false],
    ['has no pods', withStatus({ ...all, expectedPods: 0 }), false],
    ['has an eviction to confirm', withStatus({ ...all, disruptedPods: { a: 'now' } }), false],
    ['is being processed', withStatus({ ...all, observedGeneration: 0 }), false],
    ['could not be worked out', budget('web', { needs: 1, expected: 1, syncFailure: 'no' }), false],
    ['says that it allows one', withStatus({ ...all, disruptionsAllowed: 1 }), true],
  ])('%s', (_, of, expected) => {
    expect(looksUnsatisfiable(of)).toBe(expected);
  });

  test('not one that has a controller: whoever made it moves its pods by itself', () => {
    const owner = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', name: 'vm', uid: 'u' };
    expect(looksUnsatisfiable(withStatus(all, {}, [{ ...owner, controller: true }]))).toBe(false);
    expect(looksUnsatisfiable(withStatus(all, {}, [owner]))).toBe(true);
  });
});

test.each([
  [{ minAvailable: 1 }, 1, 'minAvailable 1 of 1 pod', 'raise the replicas'],
  [{ minAvailable: '100%' }, 3, 'minAvailable 100% of 3 pods', 'lower minAvailable'],
  [{ maxUnavailable: 0 }, 3, 'maxUnavailable 0 of 3 pods', 'raise maxUnavailable'],
])('the reason of %j of %i pods, and what to do', (spec, pods, reason, advice) => {
  const said = unsatisfiable(withStatus({ desiredHealthy: pods, expectedPods: pods }, spec));
  expect(said.message).toBe(`budget shop/web can never allow a disruption: ${reason}`);
  expect(said.advice).toContain(advice);
});

describe('UnsatisfiableBudgets', () => {
  const closed = withStatus({ desiredHealthy: 1, expectedPods: 1 });
  const healthy = withStatus({ desiredHealthy: 1, expectedPods: 2 });

  test('nothing is known of budgets that were not watched meanwhile', () => {
    const budgets = new UnsatisfiableBudgets();
    budgets.seen(closed, 1000, true);
    budgets.unwatched();
    expect(budgets.since(closed)).toBeUndefined();
  });

  test('counts from the first look, and anew after an interruption', () => {
    const budgets = new UnsatisfiableBudgets();
    budgets.seen(closed, 10, true);
    budgets.seen(closed, 20, false);
    expect(budgets.since(closed)).toBe(10);
    budgets.seen(healthy, 30, false);
    expect(budgets.since(closed)).toBeUndefined();
    budgets.seen(closed, 40, false);
    expect(budgets.since(closed)).toBe(40);
  });

  test('counts anew when nobody has watched it meanwhile, and forgets one that is gone', () => {
    const budgets = new UnsatisfiableBudgets();
    budgets.seen(closed, 10, true);
    budgets.seen(closed, 1_000_000, true);
    expect(budgets.since(closed)).toBe(1_000_000);
    budgets.gone(closed);
    expect(budgets.since(closed)).toBeUndefined();
  });
});

// The steps of a disruption of one pod of a budget that is not unsatisfiable, each with the status that the disruption
// controller may write in it (or skip, or write late).
type Step = 'evicted' | 'terminating' | 'gone' | 'replaced' | 'ready';
const steps: readonly Step[] = ['evicted', 'terminating', 'gone', 'replaced', 'ready'];

test('a healthy budget never counts as unsatisfiable, whatever states its disruptions pass through', () => {
  const round = fc.record({
    // How long each step lasts; a replacement is created and becomes ready within the minute.
    lasts: fc.array(fc.integer({ min: 0, max: 25_000 }), {
      minLength: steps.length,
      maxLength: steps.length,
    }),
    written: fc.array(fc.boolean(), { minLength: steps.length, maxLength: steps.length }),
    isStale: fc.boolean(),
    // expectedPods counts the pods that are there (minAvailable as a number), or what the workload asks for.
    countsPods: fc.boolean(),
  });
  const scenario = fc.record({
    replicas: fc.integer({ min: 2, max: 8 }),
    spare: fc.integer({ min: 1, max: 7 }),
    rounds: fc.array(round, { minLength: 1, maxLength: 12 }),
  });
  fc.assert(
    fc.property(scenario, ({ replicas, spare, rounds }) => {
      const desiredHealthy = Math.max(1, replicas - spare);
      const budgets = new UnsatisfiableBudgets();
      let now = 0;
      const show = (status: Status) => {
        const of = withStatus({ desiredHealthy, ...status });
        budgets.seen(of, now, now === 0);
      };
      const calm = { expectedPods: replicas, currentHealthy: replicas, disruptionsAllowed: 1 };
      show(calm);
      for (const { lasts, written, isStale, countsPods } of rounds) {
        for (const [index, step] of steps.entries()) {
          const lessOne = { ...calm, currentHealthy: replicas - 1, disruptionsAllowed: 0 };
          const few = { ...lessOne, expectedPods: countsPods ? replicas - 1 : replicas };
          const states: Record<Step, Status> = {
            evicted: { ...lessOne, disruptedPods: { a: 'now' } },
            terminating: lessOne,
            gone: few,
            replaced: lessOne,
            ready: calm,
          };
          const state = states[step];
          // Only the state without a replacement looks unsatisfiable; the next one is written in any case.
          if (written[index] === true || step === 'replaced' || step === 'ready')
            show(isStale && step !== 'gone' ? { ...state, observedGeneration: 0 } : state);
          now += lasts[index] ?? 0;
          const since = budgets.since(withStatus({}));
          expect(since === undefined || now - since < unsatisfiableAfterMs).toBe(true);
        }
      }
    }),
  );
});
