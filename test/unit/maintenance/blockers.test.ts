import { describe, expect, test } from '@jest/globals';
import type { Refusal } from '../../../src/kube/answer.ts';
import { at, budget, node, pod } from '../../fixtures/objects.ts';
import { Stage } from '../../fixtures/stage.ts';

const unmanaged = { owner: undefined };

function blocked(spec: Parameters<Stage['create']>[0] = {}): Stage {
  return Object.assign(new Stage().create(spec), { pods: [pod('a')], budgets: [budget('web')] });
}

describe('the list', () => {
  test('is sorted by cause, namespace and name, and ends at 10; the number is whole', () => {
    const stage = blocked();
    const names = ['k', 'j', 'i', 'h', 'g', 'f', 'e', 'd', 'c'];
    stage.pods = [
      pod('z', { ...unmanaged, namespace: 'bank' }),
      pod('b', unmanaged),
      ...names.map((name) => pod(name)),
      pod('m', { deletionTimestamp: at(-60), finalizers: ['example.com/x'] }),
    ];
    stage.settle();
    const { blockers = [], blockersTotal } = stage.status();
    expect(blockersTotal).toBe(12);
    expect(blockers.map(({ cause, pod: of }) => `${cause} ${of.namespace}/${of.name}`)).toEqual([
      ...names.toSorted().map((name) => `PodDisruptionBudget shop/${name}`),
      'StuckTerminating shop/m',
    ]);
    expect(stage.status().conditions?.find(({ type }) => type === 'DrainBlocked')?.reason).toBe(
      'PodDisruptionBudget',
    );
  });

  test('names the budget with what it needs and has', () => {
    const stage = blocked();
    stage.settle();
    expect(stage.status().blockers).toEqual([
      {
        pod: { namespace: 'shop', name: 'a', uid: 'uid-a' },
        cause: 'PodDisruptionBudget',
        message: 'budget shop/web needs 2 healthy pods and has 2',
        budget: { name: 'web', needs: 2, has: 2 },
        since: at(0),
        nextStep: 'evicted as soon as the budget allows it',
      },
    ]);
  });

  test('is empty, and the number with it, when nothing is held up', () => {
    const stage = blocked();
    stage.settle();
    stage.budgets = [];
    stage.settle();
    expect(stage.status().blockers).toBeUndefined();
    expect(stage.status().blockersTotal).toBe(0);
  });
});

describe('since', () => {
  test('is kept as long as the cause stays, and begins anew with another one', () => {
    const stage = blocked();
    stage.settle();
    stage.seconds = 50;
    stage.budgets = [budget('web', { healthy: 1, resourceVersion: '101' })];
    stage.settle();
    expect(stage.status().blockers?.[0]).toMatchObject({ since: at(0), budget: { has: 1 } });
    stage.budgets = [budget('web'), budget('all')];
    stage.settle();
    expect(stage.status().blockers?.[0]).toMatchObject({
      since: at(50),
      cause: 'MultiplePodDisruptionBudgets',
    });
  });

  test('of a pod that comes back under its name is its own', () => {
    const stage = blocked();
    stage.settle();
    stage.seconds = 50;
    stage.pods = [pod('a', { uid: 'uid-second' })];
    stage.settle();
    expect(stage.status().blockers?.[0]).toMatchObject({ since: at(50), pod: { uid: 'uid-second' } });
  });
});

describe('what happens next', () => {
  test.each<[string, Parameters<Stage['create']>[0], string]>([
    ['nothing but waiting', {}, 'evicted as soon as the budget allows it'],
    [
      'deleteBlockedAfterSeconds',
      { drain: { deleteBlockedAfterSeconds: 90 } },
      `deleted at ${at(90)} (deleteBlockedAfterSeconds)`,
    ],
    [
      'a deadline with Delete',
      { drain: { timeoutSeconds: 70, onTimeout: 'Delete' } },
      `deleted at ${at(70)} (timeoutSeconds)`,
    ],
    [
      'a deadline with Fail',
      { drain: { timeoutSeconds: 70 } },
      `the drain gives up at ${at(70)} (timeoutSeconds)`,
    ],
  ])('%s', (_, spec, expected) => {
    const stage = blocked(spec);
    stage.settle();
    expect(stage.status().blockers?.[0]?.nextStep).toBe(expected);
  });

  test('is not a deletion where another maintenance never agrees', () => {
    const stage = blocked({ drain: { deleteBlockedAfterSeconds: 90 } }).create({}, 'm2');
    stage.settle();
    expect(stage.status().blockers?.[0]?.nextStep).toBe('evicted as soon as the budget allows it');
  });

  test('is nothing for a pod that waits for a person', () => {
    const stage = Object.assign(new Stage().create({ drain: { deleteBlockedAfterSeconds: 9 } }), {
      pods: [pod('a', unmanaged)],
    });
    stage.settle();
    expect(stage.status().blockers?.[0]).toMatchObject({ cause: 'UnmanagedPod' });
    expect(stage.status().blockers?.[0]).not.toHaveProperty('nextStep');
  });
});

describe('a pod that does not stop', () => {
  test('is stuck 10 s after it should have been gone, and somebody looks then', () => {
    const stage = Object.assign(new Stage().create(), { pods: [pod('a', { deletionTimestamp: at(30) })] });
    expect(stage.settle().wakeAfterMs).toBe(40_000);
    expect(stage.said('DrainBlocked')).toBe('False/NotBlocked');
    stage.seconds = 40;
    stage.settle();
    expect(stage.said('DrainBlocked')).toBe('True/StuckTerminating');
    expect(stage.status().blockers?.[0]?.message).toBe(
      `should have been gone at ${at(30)}: its kubelet has not stopped it yet`,
    );
  });

  test('names its finalizers, and the node that cannot confirm, with what releases it', () => {
    const stage = new Stage().create();
    stage.node = node({ ready: 'Unknown' });
    stage.pods = [pod('a', { deletionTimestamp: at(-60), finalizers: ['example.com/z', 'example.com/a'] })];
    stage.settle();
    const message = stage.status().blockers?.[0]?.message;
    expect(message).toContain('its finalizers are still there: example.com/a, example.com/z');
    expect(message).toContain('node n1 is not Ready (KubeletSaysSo)');
    expect(message).toContain('node.kubernetes.io/out-of-service');
    expect(message).toContain('skipWaitForDeleteTimeoutSeconds');
  });

  test('stays within bounds whatever its finalizers', () => {
    const finalizers = Array.from({ length: 200 }, (_, index) => `example.com/${'x'.repeat(40)}-${index}`);
    const stage = Object.assign(new Stage().create(), {
      pods: [pod('a', { deletionTimestamp: at(-60), finalizers })],
    });
    stage.settle();
    expect(stage.status().blockers?.[0]?.message.length).toBeLessThanOrEqual(2048);
    for (const { message } of stage.status().conditions ?? [])
      expect(message.length).toBeLessThanOrEqual(4096);
  });
});

describe('an answer of the API server', () => {
  test.each<[Refusal, string, string]>([
    [
      { kind: 'admission', message: 'admission webhook "kv" denied the request: migrating' },
      'AdmissionDenied',
      'admission webhook "kv" denied the request: migrating',
    ],
    [
      { kind: 'namespaceTerminating', message: 'x' },
      'NamespaceTerminating',
      'its namespace is being deleted',
    ],
    [
      { kind: 'forbidden', message: 'pods/eviction is forbidden' },
      'ApiError',
      'haulout is not permitted to do it: pods/eviction is forbidden',
    ],
    [
      { kind: 'throttled', retryAfterSeconds: 1, message: 'slow down' },
      'ApiError',
      'the API server is overloaded: slow down',
    ],
    [{ kind: 'serverError', code: 500, message: 'etcd leader changed' }, 'ApiError', 'etcd leader changed'],
    [{ kind: 'multipleBudgets', message: 'more than one' }, 'MultiplePodDisruptionBudgets', 'more than one'],
    [
      { kind: 'budget', budget: 'b', needs: 1, has: 1, message: 'budget b' },
      'PodDisruptionBudget',
      'budget b',
    ],
  ])('%j', (refusal, cause, message) => {
    const stage = Object.assign(new Stage().create(), { pods: [pod('a')] });
    stage.drain.attempts.set('uid-a', { refusal, at: 0, notBefore: 2_000_000_000, uncertain: false });
    stage.settle();
    expect(stage.status().blockers?.[0]).toMatchObject({ cause, message: expect.stringContaining(message) });
  });
});

test('a drain that gave up keeps the list, less what has gone, and promises nothing', () => {
  const stage = blocked({ drain: { timeoutSeconds: 60 } });
  stage.pods = [pod('a'), pod('b')];
  stage.settle();
  stage.seconds = 60;
  stage.settle();
  stage.pods = [pod('b')];
  stage.budgets = [];
  stage.seconds = 70;
  const work = stage.settle();
  expect(work.posts).toEqual([]);
  expect(stage.status().blockers).toMatchObject([{ pod: { name: 'b' }, since: at(0) }]);
  expect(stage.status().blockers?.[0]).not.toHaveProperty('nextStep');
});
