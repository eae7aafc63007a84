import { describe, expect, test } from '@jest/globals';
import { miscountOf } from '../../../src/drain/miscount.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { at, budget, noon, pod } from '../../fixtures/objects.ts';

const ready = (name: string, seconds: number): Pod => pod(name, { readySince: at(seconds) });
const seconds = (count: number): number => noon + count * 1_000;

const none = budget('web', { needs: 0, healthy: 0 });

describe('a budget whose status counts fewer healthy pods than there are', () => {
  test('is out of date half a minute after they have become Ready, and not before', () => {
    const pods = [ready('a', 0)];
    expect(miscountOf(none, pods, seconds(29))).toEqual({ from: seconds(30), ready: 0 });
    expect(miscountOf(none, pods, seconds(30))).toEqual({ from: seconds(30), ready: 1 });
  });

  test('the pod that is one too many decides, and all that are Ready for so long are told', () => {
    const pods = [ready('c', 20), ready('a', 0), ready('d', 90), ready('b', 10)];
    const two = budget('web', { needs: 2, healthy: 2 });
    expect(miscountOf(two, pods, seconds(100))).toEqual({ from: seconds(50), ready: 3 });
  });

  test('a status of hours ago is found at once', () => {
    expect(miscountOf(none, [ready('a', -7_200)], seconds(0))?.from).toBeLessThan(seconds(0));
  });
});

test.each<[string, Parameters<typeof miscountOf>[0], readonly Pod[]]>([
  ['as many as it counts', budget('web', { needs: 1, healthy: 1 }), [ready('a', -60)]],
  ['fewer: the others are elsewhere', budget('web', { needs: 4, healthy: 5 }), [ready('a', -60)]],
  ['a pod that is not Ready', none, [pod('a', { ready: false, readySince: at(-60) })]],
  ['a pod that is being deleted', none, [pod('a', { readySince: at(-60), deletionTimestamp: at(-10) })]],
  [
    'a pod that counts as evicted',
    budget('web', { needs: 0, healthy: 0, disruptedPods: ['a'] }),
    [ready('a', -60)],
  ],
  ['a pod of which nobody knows since when', none, [pod('a')]],
  [
    'a new spec that is being worked out',
    budget('web', { healthy: 0, generation: 2, observedGeneration: 1 }),
    [ready('a', -60)],
  ],
  ['one that cannot be worked out', budget('web', { healthy: 0, syncFailure: 'no' }), [ready('a', -60)]],
  ['one without a status', { ...none, status: {} }, [ready('a', -60)]],
])('may be right: %s', (_, given, pods) => {
  expect(miscountOf(given, pods, noon)).toBeUndefined();
});
