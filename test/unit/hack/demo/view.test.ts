import { describe, expect, test } from '@jest/globals';
import type { State } from '../../../../hack/demo/live.ts';
import { differences, nodeLooks } from '../../../../hack/demo/node-looks.ts';
import type { Pod } from '../../../../hack/demo/types.ts';
import { counts, summary, table, wrap } from '../../../../hack/demo/view.ts';

function pod(name: string, app: string, change: { terminating?: boolean; owner?: string } = {}): Pod {
  return {
    metadata: {
      name,
      uid: `uid-${name}`,
      labels: { app },
      ...(change.terminating === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
      ownerReferences: [{ kind: change.owner ?? 'ReplicaSet', controller: true }],
    },
    spec: {},
  };
}

const byUid = (pods: readonly Pod[]) => new Map(pods.map((each) => [each.metadata.uid, each]));

function stateOf(here: readonly Pod[], gone: readonly Pod[] = []): State {
  return {
    maintenance: {
      metadata: { name: 'worker-1', uid: 'uid-m' },
      status: {
        phase: 'Draining',
        drain: { progress: '1/3' },
        blockersTotal: 1,
        blockers: [
          {
            pod: { namespace: 'shop', name: 'payments-0' },
            cause: 'PodDisruptionBudget',
            message: 'budget shop/payments needs 1 healthy pod and has 1',
            nextStep: 'evicted as soon as the budget allows it',
          },
        ],
      },
    },
    pods: byUid(here),
    seen: byUid([...gone, ...here]),
  };
}

const state = stateOf(
  [
    pod('web-1', 'web'),
    pod('web-2', 'web', { terminating: true }),
    pod('agent', 'agent', { owner: 'DaemonSet' }),
  ],
  [pod('web-3', 'web')],
);

describe('the live table', () => {
  test('counts pods by workload and says who holds up the drain', () => {
    expect(table(state, 7.4, 80)).toEqual([
      'PHASE Draining          PROGRESS 1/3     [##########....................]  7 s',
      '',
      'PODS                 RUNNING  TERMINATING  GONE',
      'web                        1            1     1',
      'agent                      1            -     -   DaemonSet: stays',
      '',
      'BLOCKERS',
      'shop/payments-0  PodDisruptionBudget',
      '  budget shop/payments needs 1 healthy pod and has 1',
      '  next: evicted as soon as the budget allows it',
    ]);
  });

  test('fits into the terminal', () => {
    for (const line of table(state, 7, 40)) expect(line.length).toBeLessThanOrEqual(40);
  });

  test('is one line elsewhere, without the pods that stay', () => {
    expect(counts(state)).toEqual({ running: 1, terminating: 1, gone: 1 });
    expect(summary(state)).toBe('Draining         1/3    1 running, 1 terminating, 1 gone, 1 blocked');
  });
});

test('wrap breaks at spaces and keeps long words whole', () => {
  expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
  expect(wrap('incomprehensibilities are', 5)).toEqual(['incomprehensibilities', 'are']);
});

describe('a node is as it was', () => {
  const node = {
    metadata: { uid: 'u', labels: { a: '1' }, annotations: {}, finalizers: [] },
    spec: { podCIDR: '10.0.0.0/24' },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  };

  test.each([
    ['the same', node, []],
    [
      'a label left behind',
      { ...node, metadata: { ...node.metadata, labels: { a: '1', b: '2' } } },
      ['metadata.labels[b] was not there and is "2"'],
    ],
    [
      'a cordon',
      { ...node, spec: { ...node.spec, unschedulable: true } },
      ['spec[unschedulable] was not there and is true'],
    ],
    [
      'a finalizer, and the conditions gone',
      { ...node, metadata: { ...node.metadata, finalizers: ['f'] }, status: {} },
      [
        'metadata.finalizers[f] was not there and is true',
        'status.conditions[Ready] was "True" and is not there',
      ],
    ],
  ])('%s', (_, after, expected) => {
    expect(differences(nodeLooks(node), nodeLooks(after))).toEqual(expected);
  });
});
