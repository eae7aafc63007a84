import { describe, expect, test } from '@jest/globals';
import type { MovingVolume } from '../../../src/api/types.generated.ts';
import { heldByBudgets } from '../../../src/drain/obstacles.ts';
import type { Observation } from '../../../src/preview/observe.ts';
import type { Obstruction } from '../../../src/preview/preview.ts';
import type { Rehearsal } from '../../../src/preview/rehearsal.ts';
import { at, budget, maintenance, node, pod } from '../../fixtures/objects.ts';
import { asking, preview, type PreviewOptions, spare } from '../../fixtures/previews.ts';

const refused = (message: string, cause = 'PodDisruptionBudget' as const): Rehearsal => ({
  kind: 'refused',
  obstacle: { cause, message },
});

test('a quiet node: nothing stands in the way', () => {
  const seen = preview({ pods: [pod('web-0'), pod('web-1')] });
  expect(seen).toMatchObject({
    clear: true,
    counts: { leave: 2, held: 0, terminating: 0, stay: 0 },
    obstacles: [],
    room: { known: true, pods: 2, nodes: 1, homeless: [] },
    duration: { atMostSeconds: 30 },
  });
  expect(seen.pods[0]).toEqual({
    namespace: 'shop',
    name: 'web-0',
    uid: 'uid-web-0',
    controller: 'ReplicaSet/web',
    outcome: 'leaves',
    gracePeriodSeconds: 30,
    eviction: 'allowed',
  });
});

describe('what stands in the way', () => {
  const closed = budget('web', { allowed: 0, needs: 2 });
  const hopeless = budget('web', { allowed: 0, needs: 1, expected: 1, minAvailable: 1 });
  const no = refused('no');

  test.each<[string, PreviewOptions, Partial<Obstruction>[]]>([
    [
      'a budget that refuses now, in the words of the planner, once for all of its pods',
      { pods: [pod('a'), pod('b')], budgets: [closed], answers: { a: no, b: no } },
      [
        {
          cause: 'PodDisruptionBudget',
          message: 'budget shop/web needs 2 healthy pods and has 2',
          nextStep: 'evicted as soon as the budget allows it',
          pods: [
            { namespace: 'shop', name: 'a' },
            { namespace: 'shop', name: 'b' },
          ],
        },
      ],
    ],
    ['a budget that the server has opened meanwhile does not', { pods: [pod('a')], budgets: [closed] }, []],
    [
      'a budget that the server knows and the list did not',
      { pods: [pod('a')], answers: { a: refused('The disruption budget new needs 1') } },
      [{ cause: 'PodDisruptionBudget', message: 'The disruption budget new needs 1' }],
    ],
    [
      'a budget that can never allow it',
      { pods: [pod('a')], budgets: [hopeless], answers: { a: no } },
      [
        {
          cause: 'UnsatisfiablePodDisruptionBudget',
          message: 'budget shop/web can never allow a disruption: minAvailable 1 of 1 pod (as it looks now)',
          nextStep: expect.stringContaining('nothing happens by itself') as unknown as string,
        },
      ],
    ],
    [
      'and what the maintenance does about it',
      {
        pods: [pod('a')],
        budgets: [hopeless],
        answers: { a: no },
        spec: { drain: { unsatisfiableBudgets: 'Delete' } },
      },
      [{ nextStep: 'deleted after 60 s (unsatisfiableBudgets is Delete)' }],
    ],
    [
      'a budget whose Deployment may be restarted',
      {
        pods: [pod('a')],
        budgets: [closed],
        answers: { a: no },
        spec: { drain: { blockedDeployments: 'Restart' } },
      },
      [
        {
          nextStep: expect.stringMatching(
            /^its Deployment is restarted where that is safe/,
          ) as unknown as string,
        },
      ],
    ],
    [
      'several budgets',
      {
        pods: [pod('a')],
        budgets: [budget('x', { allowed: 1 }), budget('y', { allowed: 1 })],
        answers: { a: { kind: 'refused', obstacle: heldByBudgets([budget('x'), budget('y')]) } },
      },
      [{ cause: 'MultiplePodDisruptionBudgets' }],
    ],
    [
      'a webhook',
      {
        pods: [pod('a')],
        answers: { a: { kind: 'refused', obstacle: { cause: 'AdmissionDenied', message: 'not today' } } },
      },
      [
        {
          cause: 'AdmissionDenied',
          message: 'not today',
          nextStep: expect.stringContaining('asked again every 20 s') as unknown as string,
        },
      ],
    ],
    [
      'a pod that nothing creates again',
      { pods: [pod('a', { owner: undefined })] },
      [{ cause: 'UnmanagedPod', pods: [{ namespace: 'shop', name: 'a' }] }],
    ],
    [
      'a pod that has been terminating for too long',
      { pods: [pod('a', { deletionTimestamp: at(-60), finalizers: ['example.com/x'] })] },
      [{ cause: 'StuckTerminating' }],
    ],
    [
      'a node that is not Ready',
      { node: node({ ready: 'Unknown' }), pods: [pod('a')] },
      [{ cause: 'NodeNotReady', pods: [] }],
    ],
    [
      'a node that is not Ready, if its pods are waited for',
      {
        node: node({ ready: 'Unknown' }),
        pods: [pod('a')],
        spec: { drain: { skipWaitForDeleteTimeoutSeconds: 60 } },
      },
      [],
    ],
    [
      'a missing right to ask, and what the budgets say all the same',
      {
        pods: [pod('a')],
        budgets: [closed],
        answers: { a: { kind: 'notPermitted', message: 'forbidden' } },
      },
      [{ cause: 'NotPermitted' }, { cause: 'PodDisruptionBudget' }],
    ],
    [
      'what the operator may not do, with what would happen if it might',
      {
        pods: [pod('a')],
        budgets: [closed],
        answers: { a: no },
        permitted: { podDeletion: false, deploymentRestart: false },
        spec: { drain: { onTimeout: 'Delete', timeoutSeconds: 60, blockedDeployments: 'Restart' } },
      },
      [
        {
          cause: 'NotPermitted',
          message: expect.stringMatching(
            /^the operator may not delete pods, .*allowPodDeletion: true.*; the operator may not restart Deployments, .*allowDeploymentRestart: true/,
          ) as unknown as string,
          pods: [],
        },
        { cause: 'PodDisruptionBudget' },
      ],
    ],
    [
      'what the operator may not do, on a node without pods as well',
      {
        permitted: { podDeletion: false, deploymentRestart: true },
        spec: { drain: { deleteBlockedAfterSeconds: 1 } },
      },
      [{ cause: 'NotPermitted' }],
    ],
    [
      'what the operator may not do does not, where nobody asks for it',
      { pods: [pod('a')], permitted: { podDeletion: false, deploymentRestart: false } },
      [],
    ],
    [
      'what the operator may not do does not, where nobody has to leave',
      {
        permitted: { podDeletion: false, deploymentRestart: false },
        spec: { nodeDrainPolicy: 'NoSchedule', drain: { blockedDeployments: 'Restart' } },
      },
      [],
    ],
    [
      'an answer that says nothing about the pod',
      { pods: [pod('a')], answers: { a: { kind: 'failed', message: 'internal error' } } },
      [{ cause: 'ApiError', message: 'the API server could not tell: internal error' }],
    ],
    [
      'volumes that cannot be looked up',
      { pods: [pod('a')], volumes: new Map([['uid-a', { kind: 'unknown', problem: 'forbidden' }]]) },
      [{ cause: 'ApiError', message: 'its volumes could not be looked up: forbidden' }],
    ],
    [
      'pods that fit nowhere',
      { pods: [asking(pod('a'), '5'), asking(pod('b'), '5'), asking(pod('c'), '1')] },
      [
        {
          cause: 'NoRoom',
          message: 'finds room on no other node; 1 node: it lacks cpu (5 asked for, 4 free)',
          pods: [
            { namespace: 'shop', name: 'a' },
            { namespace: 'shop', name: 'b' },
          ],
        },
      ],
    ],
    [
      'pods that do not fit together',
      { pods: [asking(pod('a'), '3'), asking(pod('b'), '3')] },
      [
        {
          cause: 'NoRoom',
          message: expect.stringMatching(/^finds no room beside the other pods/) as unknown as string,
        },
      ],
    ],
    [
      'no node that takes pods',
      { pods: [pod('a')], others: { nodes: [], pods: [], unscheduled: 0 } },
      [{ cause: 'NoRoom', message: 'finds room on no other node; there is none that takes pods' }],
    ],
  ])('%s', (_, options, obstacles) => {
    const seen = preview(options);
    expect(seen.obstacles).toMatchObject(obstacles);
    expect(seen.obstacles).toHaveLength(obstacles.length);
    expect(seen.clear).toBe(obstacles.length === 0);
  });
});

test('a webhook that takes no part in dry runs is not known, and not in the way', () => {
  const unknown: Rehearsal = { kind: 'unknown', message: 'admission webhook "x" does not support dry run' };
  const seen = preview({ pods: [pod('a'), pod('b')], answers: { a: unknown, b: unknown } });
  expect(seen.clear).toBe(true);
  expect(seen.unknown).toEqual([
    'whether all pods may be evicted: admission webhook "x" does not support dry run',
  ]);
  expect(seen.pods[0]?.eviction).toBe('unknown');
});

test('finished pods and those of a DaemonSet that is gone need no room', () => {
  const orphan = pod('b', { owner: { kind: 'DaemonSet', name: 'old', uid: 'uid-old' } });
  const seen = preview({ pods: [asking(pod('a', { phase: 'Succeeded' }), '64'), asking(orphan, '64')] });
  expect(seen).toMatchObject({ clear: true, room: { pods: 0, homeless: [] } });
});

test('what would be lost', () => {
  const pods = [
    pod('a', { owner: undefined }),
    pod('b', { emptyDir: true }),
    pod('c', { emptyDir: true, phase: 'Succeeded' }),
  ];
  const seen = preview({ pods, spec: { drain: { unmanagedPods: 'Evict' } } });
  expect(seen.pods.map(({ loses }) => loses)).toEqual([['pod'], ['emptyDir'], undefined]);
});

test('notes what else is about the node', () => {
  const seen = preview({
    node: node({ deletionTimestamp: at(-1) }),
    maintenances: [maintenance({ suspend: true }, {}, 'other')],
    others: { nodes: [spare('n2')], pods: [], unscheduled: 2 },
  });
  expect(seen.notes).toEqual([
    'maintenance other is about this node too (Evacuate, suspended)',
    'the Node object is being deleted',
    'pods that wait for a node already (2) want room too, and are not counted',
  ]);
});

describe('budgets', () => {
  const pods = [pod('a'), pod('b'), pod('c')];
  test.each([
    ['open', budget('web', { allowed: 3 })],
    ['inTurn', budget('web', { allowed: 1 })],
    ['closed', budget('web', { allowed: 0 })],
    ['closed', budget('web', { allowed: 3, generation: 2, observedGeneration: 1 })],
    ['never', budget('web', { allowed: 0, needs: 3, expected: 3 })],
  ])('%s', (verdict, one) => {
    expect(preview({ pods, budgets: [one] }).budgets).toMatchObject([{ name: 'web', pods: 3, verdict }]);
  });
});

function disk(name: string, driver = 'disk.example.com'): MovingVolume {
  return { persistentVolume: name, claim: name, driver };
}

function volumes(...all: readonly [string, ...MovingVolume[]][]): Observation['volumes'] {
  return new Map(all.map(([name, ...own]) => [`uid-${name}`, { kind: 'known', volumes: own }]));
}

describe('how long it takes', () => {
  const critical = { ...pod('z', { gracePeriodSeconds: 20 }) };

  test.each<[string, PreviewOptions, number | undefined]>([
    ['the longest grace period', { pods: [pod('a', { gracePeriodSeconds: 90 }), pod('b')] }, 90],
    ['cut by the ceiling', { pods: [pod('a')], spec: { drain: { maxGracePeriodSeconds: 10 } } }, 10],
    [
      'system-critical pods after the others',
      { pods: [pod('a'), { ...critical, spec: { ...critical.spec, priority: 2_000_000_000 } }] },
      50,
    ],
    ['pods that are stopping already', { pods: [pod('a', { deletionTimestamp: at(70) })] }, 70],
    [
      'not known while a budget lets them go in turn',
      { pods: [pod('a'), pod('b')], budgets: [budget('web', { allowed: 1 })] },
      undefined,
    ],
    [
      'not known while something is in the way',
      { pods: [pod('a')], answers: { a: refused('no') } },
      undefined,
    ],
    [
      'volumes one after another: grace period, 120 s to detach, 90 s to attach, for each',
      { pods: [pod('a'), pod('b')], volumes: volumes(['a', disk('v1')], ['b', disk('v2')]) },
      2 * (30 + 120 + 90),
    ],
    [
      'volumes at the pace that is asked for',
      {
        pods: [pod('a'), pod('b')],
        volumes: volumes(['a', disk('v1')], ['b', disk('v2')]),
        spec: {
          drain: { volumes: { maxConcurrent: 2, detachTimeoutSeconds: 60, reattachTimeoutSeconds: 0 } },
        },
      },
      30 + 60,
    ],
    [
      'two drivers side by side',
      { pods: [pod('a'), pod('b')], volumes: volumes(['a', disk('v1')], ['b', disk('v2', 'x')]) },
      240,
    ],
    [
      'two drivers that one pod links',
      { pods: [pod('a'), pod('b')], volumes: volumes(['a', disk('v1'), disk('v2', 'x')], ['b', disk('v3')]) },
      3 * 240,
    ],
  ])('%s', (_, options, expected) => {
    expect(preview(options).duration.atMostSeconds).toBe(expected);
  });

  test('says how the pace of volumes makes it up', () => {
    const [, pace] = preview({
      pods: [pod('a'), pod('b')],
      volumes: volumes(['a', disk('v1')], ['b', disk('v2')]),
    }).duration.parts;
    expect(pace).toBe(
      '1 of 2 pods with volumes of disk.example.com at a time: 2 rounds, each up to 4 min ' +
        '(grace period, 120 s to detach and 90 s to attach elsewhere), together up to 8 min',
    );
  });

  test('pods and volumes of each driver, and each pod its own', () => {
    const seen = preview({
      pods: [pod('a'), pod('b')],
      volumes: volumes(['a', disk('v1'), disk('v2')], ['b', disk('v3')]),
    });
    expect(seen.volumes).toEqual([
      {
        driver: 'disk.example.com',
        pods: 2,
        volumes: 3,
        maxConcurrent: 1,
        detachTimeoutSeconds: 120,
        reattachTimeoutSeconds: 90,
      },
    ]);
    expect(seen.pods[1]?.volumes).toEqual([
      { claim: 'v3', persistentVolume: 'v3', driver: 'disk.example.com' },
    ]);
  });

  test('a volume that pods share is one', () => {
    const shared = volumes(['a', disk('v1')], ['b', disk('v1')]);
    expect(preview({ pods: [pod('a'), pod('b')], volumes: shared }).volumes).toMatchObject([
      { driver: 'disk.example.com', pods: 2, volumes: 1 },
    ]);
  });
});
