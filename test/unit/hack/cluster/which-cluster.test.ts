import { expect, test } from '@jest/globals';
import { clusterKind, exitCodeOf } from '../../../../hack/cluster/lib/which-cluster.ts';

test.each([
  ['', 'own'],
  ['kind', 'kind'],
  ['current', 'current'],
])('CLUSTER=%s', (value, kind) => {
  expect(clusterKind(value)).toBe(kind);
});

test('any other value is refused with the values that there are, as a typing mistake', () => {
  let refusal: unknown;
  try {
    clusterKind('minikube');
  } catch (error) {
    refusal = error;
  }
  expect(String(refusal)).toMatch(/CLUSTER=minikube is not known: write kind or current/);
  expect(exitCodeOf(refusal)).toBe(2);
  expect(exitCodeOf(new Error('it does not start'))).toBe(1);
});
