import { describe, expect, test } from '@jest/globals';
import { maintenanceAnnotation, maintenanceLabel } from '../../../src/api/names.ts';
import { trimBudget, trimNode, trimPod } from '../../../src/kube/trim.ts';
import { at, budget, pod } from '../../fixtures/objects.ts';
import { fleetNode } from '../../soak/scale/manifests.ts';
import type { Node } from '../../../src/kube/types.ts';

const bytes = (value: unknown): number => JSON.stringify(value).length;

function cloudNode(labels: Readonly<Record<string, string>> = {}, annotations = {}): Node {
  const { metadata, ...rest } = fleetNode('n', labels);
  const uid = '0b9a2c4e-0000-4000-8000-000000000000';
  const stored = { uid, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
  return {
    ...rest,
    metadata: { ...metadata, ...stored, annotations: { ...metadata['annotations']!, ...annotations } },
  };
}

describe('a node', () => {
  test('of a cloud costs a few hundred bytes of ten thousand', () => {
    expect(bytes(cloudNode())).toBeGreaterThan(9_000);
    expect(bytes(trimNode(cloudNode()))).toBeLessThan(400);
  });

  test('keeps those of its labels that haulout puts on, whoever has put them on', () => {
    const excluded = { 'node.kubernetes.io/exclude-from-external-load-balancers': '' };
    expect(trimNode(cloudNode(excluded)).metadata.labels).toEqual(excluded);
    expect(trimNode(cloudNode()).metadata.labels).toBeUndefined();
  });

  test.each([
    ['its annotation', {}, { [maintenanceAnnotation]: '{}' }],
    ['its label', { [maintenanceLabel]: 'true' }, {}],
  ])('keeps all its labels while haulout is there by %s', (_, labels, annotations) => {
    const node = cloudNode(labels, annotations);
    expect(trimNode(node).metadata.labels).toEqual(node.metadata.labels);
  });

  test('says whether it is Ready, since when and why, but not in words', () => {
    const ready = trimNode(cloudNode()).status?.conditions?.[0];
    expect(Object.keys(ready ?? {})).toEqual(['type', 'status', 'reason', 'lastTransitionTime']);
  });
});

test('a budget keeps who made it and which version it is, and not its labels', () => {
  const made = budget('b');
  const ownerReferences = [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'u', controller: true }];
  const { metadata } = trimBudget({
    ...made,
    metadata: { ...made.metadata, ownerReferences, labels: { a: 'b' } },
  });
  expect(metadata).toEqual({ ...made.metadata, ownerReferences });
});

test('a budget keeps why it could not be worked out, and no other condition', () => {
  const { status } = budget('b', { syncFailure: 'no' });
  const counted = { type: 'DisruptionAllowed', status: 'True', reason: 'SufficientPods', message: '' };
  const trimmed = (conditions: (typeof counted)[]) =>
    trimBudget({ ...budget('b'), status: { ...status, conditions } }).status;
  expect(trimBudget(budget('b', { syncFailure: 'no' })).status?.conditions).toEqual(status?.conditions);
  expect(trimmed([counted])).not.toHaveProperty('conditions');
});

test('a pod keeps since when it is Ready', () => {
  const { status } = pod('a', { readySince: at(-60) });
  expect(trimPod(pod('a', { readySince: at(-60) })).status).toEqual(status);
});
