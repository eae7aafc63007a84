import { expect, test } from '@jest/globals';
import { NodeVolumes, UNMOUNT_MS } from '../../../../../hack/cluster/lib/volumes/node-volumes.ts';

const nothing = new Set<string>();

test('a volume is in use from its first pod until it is unmounted after the last', () => {
  const volumes = new NodeVolumes();
  expect(volumes.update(new Set(['w', 'v']), 0)).toBe(Infinity);
  expect(volumes.inUse()).toEqual(['v', 'w']);
  expect(volumes.update(new Set(['w']), 1000)).toBe(1000 + UNMOUNT_MS);
  expect(volumes.update(new Set(['w']), 1000 + UNMOUNT_MS - 1)).toBe(1000 + UNMOUNT_MS);
  expect(volumes.inUse()).toEqual(['v', 'w']);
  expect(volumes.update(new Set(['w']), 1000 + UNMOUNT_MS)).toBe(Infinity);
  expect(volumes.inUse()).toEqual(['w']);
});

test('a pod that comes in time keeps it, and the time begins anew after that one', () => {
  const volumes = new NodeVolumes();
  volumes.update(new Set(['v']), 0);
  volumes.update(nothing, 10);
  volumes.update(new Set(['v']), 20);
  expect(volumes.update(nothing, 5000)).toBe(5000 + UNMOUNT_MS);
});

test('what was reported before the kubelet started is unmounted where no pod needs it', () => {
  const volumes = new NodeVolumes(['v']);
  expect(volumes.inUse()).toEqual(['v']);
  expect(volumes.update(nothing, 0)).toBe(UNMOUNT_MS);
  volumes.update(nothing, UNMOUNT_MS);
  expect(volumes.inUse()).toEqual([]);
});
