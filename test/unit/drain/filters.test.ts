import { describe, expect, test } from '@jest/globals';
import { type PodPolicies, consentsToEviction, daemonSetOf, judge } from '../../../src/drain/filters.ts';
import { type PodOptions, at, pod } from '../../fixtures/objects.ts';

const defaults: PodPolicies = { selects: () => true, unmanagedPods: 'Block', emptyDirPods: 'Evict' };
const exists = (uid: string) => uid === 'uid-daemons';
const daemonSet = { kind: 'DaemonSet', name: 'daemons', uid: 'uid-daemons' };
const unmanaged = { owner: undefined };

function verdict(options: PodOptions, policies: Partial<PodPolicies> = {}): string {
  const found = judge(pod('p', options), { ...defaults, ...policies }, exists);
  return 'why' in found ? `${found.kind}: ${found.why}` : found.kind;
}

describe('as kubectl drain chooses', () => {
  test.each<[string, PodOptions, string]>([
    ['a pod with a controller', {}, 'leaves'],
    ['a pod of a StatefulSet', { owner: { kind: 'StatefulSet' } }, 'leaves'],
    ['a pod of a kind nobody knows', { owner: { apiVersion: 'example.com/v1', kind: 'Clone' } }, 'leaves'],
    ['a pod that is not ready', { ready: false }, 'leaves'],
    ['a pending pod', { phase: 'Pending' }, 'leaves'],
    ['a terminating pod', { deletionTimestamp: at(0) }, 'leaves'],
    ['a mirror pod', { annotations: { 'kubernetes.io/config.mirror': 'x' } }, 'stays: mirror'],
    [
      'a mirror pod whose owner is the Node',
      { annotations: { 'kubernetes.io/config.mirror': '' }, owner: { kind: 'Node' } },
      'stays: mirror',
    ],
    ['a DaemonSet pod', { owner: daemonSet }, 'stays: daemonSet'],
    ['a pod of a DaemonSet that is gone', { owner: { ...daemonSet, uid: 'uid-before' } }, 'leaves'],
    [
      'a pod of a DaemonSet of another group',
      { owner: { ...daemonSet, apiVersion: 'apps.kruise.io/v1alpha1' } },
      'leaves',
    ],
    ['an unmanaged pod', unmanaged, 'held: unmanagedPods'],
    ['a pod with an owner that does not control it', { owner: { controller: false } }, 'held: unmanagedPods'],
    ['a finished unmanaged pod', { ...unmanaged, phase: 'Succeeded' }, 'leaves'],
    ['a failed unmanaged pod', { ...unmanaged, phase: 'Failed' }, 'leaves'],
  ])('%s: %#', (_, options, expected) => {
    expect(verdict(options)).toBe(expected);
  });
});

describe('where it differs from kubectl drain', () => {
  test('emptyDir data is given up by default', () => expect(verdict({ emptyDir: true })).toBe('leaves'));
  test('finished pods of DaemonSets are left alone', () =>
    expect(verdict({ owner: daemonSet, phase: 'Succeeded' })).toBe('stays: daemonSet'));
});

describe('policies', () => {
  test.each<[string, PodOptions, Partial<PodPolicies>, string]>([
    ['unmanaged, Evict', unmanaged, { unmanagedPods: 'Evict' }, 'leaves'],
    ['unmanaged, Skip', unmanaged, { unmanagedPods: 'Skip' }, 'kept: unmanagedPods'],
    ['emptyDir, Block', { emptyDir: true }, { emptyDirPods: 'Block' }, 'held: emptyDirPods'],
    ['emptyDir, Skip', { emptyDir: true }, { emptyDirPods: 'Skip' }, 'kept: emptyDirPods'],
    [
      'finished with emptyDir, Block',
      { emptyDir: true, phase: 'Failed' },
      { emptyDirPods: 'Block' },
      'leaves',
    ],
    ['finished and unmanaged, Skip', { ...unmanaged, phase: 'Failed' }, { unmanagedPods: 'Skip' }, 'leaves'],
    [
      'both, Evict and Skip',
      { ...unmanaged, emptyDir: true },
      { unmanagedPods: 'Evict', emptyDirPods: 'Skip' },
      'kept: emptyDirPods',
    ],
    [
      'both, Skip and Evict',
      { ...unmanaged, emptyDir: true },
      { unmanagedPods: 'Skip', emptyDirPods: 'Evict' },
      'kept: unmanagedPods',
    ],
    [
      'both, Block and Skip',
      { ...unmanaged, emptyDir: true },
      { unmanagedPods: 'Block', emptyDirPods: 'Skip' },
      'held: unmanagedPods',
    ],
    [
      'both, Skip and Block',
      { ...unmanaged, emptyDir: true },
      { unmanagedPods: 'Skip', emptyDirPods: 'Block' },
      'held: emptyDirPods',
    ],
    ['both, Evict and Evict', { ...unmanaged, emptyDir: true }, { unmanagedPods: 'Evict' }, 'leaves'],
    ['not selected', {}, { selects: () => false }, 'kept: podSelector'],
    ['not selected and unmanaged', unmanaged, { selects: () => false }, 'kept: podSelector'],
    ['not selected and finished', { phase: 'Succeeded' }, { selects: () => false }, 'kept: podSelector'],
    [
      'a DaemonSet pod that is not selected',
      { owner: daemonSet },
      { selects: () => false },
      'stays: daemonSet',
    ],
    [
      'a mirror pod with emptyDir, Block',
      { annotations: { 'kubernetes.io/config.mirror': 'x' }, emptyDir: true },
      { emptyDirPods: 'Block' },
      'stays: mirror',
    ],
    [
      'a pod of a gone DaemonSet with emptyDir, Block',
      { owner: { ...daemonSet, uid: 'x' }, emptyDir: true },
      { emptyDirPods: 'Block' },
      'held: emptyDirPods',
    ],
  ])('%s', (_, options, policies, expected) => {
    expect(verdict(options, policies)).toBe(expected);
  });

  test('a pod without labels is asked about with none', () => {
    const asked: unknown[] = [];
    verdict({ labels: {} }, { selects: (labels) => asked.push(labels) > 0 });
    expect(asked).toEqual([{}]);
  });
});

describe('consent of a maintenance that may not even select the pod', () => {
  test.each<[string, PodOptions, Partial<PodPolicies>, boolean]>([
    ['managed', {}, { selects: () => false }, true],
    ['unmanaged, Block', unmanaged, {}, false],
    ['unmanaged, Skip', unmanaged, { unmanagedPods: 'Skip' }, false],
    ['unmanaged, Evict', unmanaged, { unmanagedPods: 'Evict' }, true],
    ['unmanaged, Block, not selected', unmanaged, { selects: () => false }, false],
    ['finished and unmanaged, Block', { ...unmanaged, phase: 'Failed' }, {}, true],
    ['emptyDir, Skip', { emptyDir: true }, { emptyDirPods: 'Skip' }, false],
    [
      'emptyDir and unmanaged, Evict and Block',
      { ...unmanaged, emptyDir: true },
      { unmanagedPods: 'Evict', emptyDirPods: 'Block' },
      false,
    ],
  ])('%s', (_, options, policies, expected) => {
    expect(consentsToEviction(pod('p', options), { ...defaults, ...policies })).toBe(expected);
  });
});

test('the DaemonSet of a pod is told by its UID, not by its name', () => {
  expect(daemonSetOf(pod('p', { owner: daemonSet, namespace: 'kube-system' }))).toEqual({
    uid: 'uid-daemons',
    namespace: 'kube-system',
    name: 'daemons',
  });
  expect(daemonSetOf(pod('p', { owner: { ...daemonSet, controller: false } }))).toBeUndefined();
  expect(daemonSetOf(pod('p'))).toBeUndefined();
});
