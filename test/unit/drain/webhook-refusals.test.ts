import { describe, expect, test } from '@jest/globals';
import { planEvictions } from '../../../src/drain/evictions.ts';
import { LiveDrainMemory } from '../../../src/drain/memory.ts';
import type { Refusal } from '../../../src/kube/answer.ts';
import type { Pod, PodDisruptionBudget } from '../../../src/kube/types.ts';

const meta = { resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z', namespace: 'shop' };

const vm: Pod = {
  metadata: { ...meta, name: 'vm-0', uid: 'uid-vm-0' },
  spec: { nodeName: 'worker-1' },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
};

const closed: PodDisruptionBudget = {
  metadata: { ...meta, name: 'vm', uid: 'uid-vm', generation: 1 },
  spec: { minAvailable: 1 },
  status: {
    observedGeneration: 1,
    disruptionsAllowed: 0,
    currentHealthy: 1,
    desiredHealthy: 1,
    expectedPods: 1,
  },
};

const node = { nodeName: 'n1', age: '' };

function planAfter(refusal: Refusal, mayBeDeleted: boolean) {
  const memory = new LiveDrainMemory();
  // The retry is due again: neither the webhook nor the budget has let it go meanwhile.
  memory.attempts.set('uid-vm-0', { refusal, at: 0, notBefore: 1000, uncertain: false });
  const candidate = {
    pod: vm,
    gracePeriodSeconds: undefined,
    mayBeDeleted,
    retryIntervalMs: 1000,
    heldUpBefore: false,
  };
  return planEvictions({ ...node, candidates: [candidate], budgetsOf: () => [closed], memory, now: 2000 });
}

describe('a pod that a webhook refused, under a closed budget', () => {
  const admission: Refusal = { kind: 'admission', message: 'the machine migrates first' };

  test.each([false, true])('is said to be refused by the webhook (may be deleted: %s)', (mayBeDeleted) => {
    const plan = planAfter(admission, mayBeDeleted);
    expect(plan.obstacles.get('uid-vm-0')).toMatchObject({
      cause: 'AdmissionDenied',
      message: 'the machine migrates first',
    });
  });

  test('is asked about again and never deleted', () => {
    const plan = planAfter(admission, true);
    expect(plan.deletions).toEqual([]);
    expect(plan.posts).toMatchObject([{ pod: vm, probe: true }]);
  });

  test('is deleted once the budget is all that refuses it', () => {
    const plan = planAfter({ kind: 'budget', message: 'needs 1', budget: 'vm', needs: 1, has: 1 }, true);
    expect(plan.deletions).toMatchObject([{ pod: vm }]);
    expect(plan.obstacles.get('uid-vm-0')).toMatchObject({ cause: 'PodDisruptionBudget' });
  });
});

test('a pod whose retry is due stays named as held up while it is asked again', () => {
  const memory = new LiveDrainMemory();
  const refusal: Refusal = { kind: 'admission', message: 'the machine migrates first' };
  memory.attempts.set('uid-vm-0', { refusal, at: 0, notBefore: 1000, uncertain: false });
  const candidate = {
    pod: vm,
    gracePeriodSeconds: undefined,
    mayBeDeleted: false,
    retryIntervalMs: 1000,
    heldUpBefore: false,
  };
  const plan = planEvictions({ ...node, candidates: [candidate], budgetsOf: () => [], memory, now: 2000 });
  expect(plan.posts).toMatchObject([{ pod: vm }]);
  expect(plan.obstacles.get('uid-vm-0')).toMatchObject({ cause: 'AdmissionDenied' });
});
