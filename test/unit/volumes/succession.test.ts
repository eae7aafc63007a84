import { describe, expect, test } from '@jest/globals';
import type { Workload } from '../../../src/kube/types.ts';
import { makesSuccessor, workloadPath } from '../../../src/volumes/succession.ts';
import { at } from '../../fixtures/objects.ts';
import { move } from '../../fixtures/volumes.ts';

function workload(spec: Workload['spec'], options: Partial<Workload['metadata']> = {}): Workload {
  const metadata = { name: 'db', uid: 'uid-db', resourceVersion: '1', creationTimestamp: at(0), ...options };
  return { metadata, spec };
}

function owned(kind: string, name = 'db-1') {
  const apiVersion = kind === 'Job' ? 'batch/v1' : 'apps/v1';
  return move({
    pod: { namespace: 'shop', name, uid: 'uid' },
    owner: { apiVersion, kind, name: 'db', uid: 'uid-db' },
  });
}

describe('a StatefulSet makes a pod again', () => {
  test.each([
    ['within its replicas', { replicas: 2 }, true],
    ['beyond its replicas', { replicas: 1 }, false],
    ['one replica unless it says more', {}, false],
    ['counted from another start', { replicas: 1, ordinals: { start: 1 } }, true],
    ['before its start', { replicas: 5, ordinals: { start: 2 } }, false],
  ])('%s', (_, spec, expected) => {
    expect(makesSuccessor(owned('StatefulSet'), workload(spec))).toBe(expected);
  });
});

test('a ReplicaSet makes pods unless it is scaled to none', () => {
  expect(makesSuccessor(owned('ReplicaSet'), workload({ replicas: 1 }))).toBe(true);
  expect(makesSuccessor(owned('ReplicaSet'), workload({ replicas: 0 }))).toBe(false);
});

test('a Job makes pods until it has ended', () => {
  expect(makesSuccessor(owned('Job'), workload({}))).toBe(true);
  const ended = { ...workload({}), status: { conditions: [{ type: 'Failed', status: 'True' }] } };
  expect(makesSuccessor(owned('Job'), ended)).toBe(false);
});

test('nothing comes from a controller that is gone, going, or another one', () => {
  const spec = { replicas: 3 };
  expect(makesSuccessor(owned('StatefulSet'), undefined)).toBe(false);
  expect(makesSuccessor(owned('StatefulSet'), workload(spec, { deletionTimestamp: at(0) }))).toBe(false);
  expect(makesSuccessor(owned('StatefulSet'), workload(spec, { uid: 'other' }))).toBe(false);
  const { owner: _, ...unmanaged } = owned('StatefulSet');
  expect(makesSuccessor(unmanaged, undefined)).toBe(false);
});

test('only known kinds of controllers have a collection', () => {
  const owner = { kind: 'StatefulSet', name: 'db', uid: 'u' };
  expect(workloadPath({ ...owner, apiVersion: 'apps/v1' }, 'shop')).toBe(
    '/apis/apps/v1/namespaces/shop/statefulsets',
  );
  expect(workloadPath({ ...owner, apiVersion: 'apps.kruise.io/v1beta1' }, 'shop')).toBeUndefined();
});
