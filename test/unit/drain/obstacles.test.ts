import { expect, test } from '@jest/globals';
import { heldByBudgets, obstacleOf } from '../../../src/drain/obstacles.ts';
import { classify } from '../../../src/kube/classify.ts';
import type { ApiStatus } from '../../../src/kube/types.ts';
import { budget } from '../../fixtures/objects.ts';

const violates = "Cannot evict pod as it would violate the pod's disruption budget.";
const kubevirt = 'admission webhook "virt-launcher-eviction-interceptor.kubevirt.io" denied the request: ';

function cause(message: string): NonNullable<ApiStatus['details']> {
  return { causes: [{ reason: 'DisruptionBudget', message }] };
}

// Every answer of the eviction API, as the API server words it, and what a blocker says of it.
const answers: [string, number, ApiStatus, object][] = [
  [
    'a budget says no',
    429,
    {
      message: violates,
      details: cause('The disruption budget web needs 2 healthy pods and has 2 currently'),
    },
    {
      cause: 'PodDisruptionBudget',
      message: 'The disruption budget web needs 2 healthy pods and has 2 currently',
      budget: { name: 'web', needs: 2, has: 2 },
    },
  ],
  [
    'the status of a budget is older than its spec',
    429,
    {
      message: violates,
      details: {
        ...cause('The disruption budget web is still being processed by the server.'),
        retryAfterSeconds: 10,
      },
    },
    {
      cause: 'PodDisruptionBudget',
      message: 'The disruption budget web is still being processed by the server.',
    },
  ],
  [
    'too many evictions that the disruption controller has not confirmed',
    403,
    {
      reason: 'Forbidden',
      message:
        'poddisruptionbudgets.policy "web" is forbidden: DisruptedPods map too big - too many evictions not confirmed by PDB controller',
    },
    { cause: 'PodDisruptionBudget', message: expect.stringContaining('too many evictions not confirmed') },
  ],
  [
    'conflicting writes of the budget',
    504,
    { reason: 'Timeout', message: `Timeout: couldn't update PodDisruptionBudget "web" due to conflicts` },
    { cause: 'PodDisruptionBudget', message: expect.stringContaining('due to conflicts') },
  ],
  [
    'several budgets',
    500,
    {
      message:
        'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    },
    { cause: 'MultiplePodDisruptionBudgets', message: expect.stringContaining('more than one') },
  ],
  [
    'a machine that begins to migrate',
    429,
    { message: `${kubevirt}Eviction triggered evacuation of VMI "shop/vm"` },
    { cause: 'AdmissionDenied', message: `${kubevirt}Eviction triggered evacuation of VMI "shop/vm"` },
  ],
  [
    'a machine that migrates',
    429,
    { message: `${kubevirt}Evacuation in progress: Eviction triggered evacuation of VMI "shop/vm"` },
    { cause: 'AdmissionDenied', message: expect.stringContaining('Evacuation in progress') },
  ],
  [
    'a webhook without words',
    400,
    { message: 'admission webhook "x.example.com" denied the request without explanation' },
    { cause: 'AdmissionDenied', message: expect.stringContaining('x.example.com') },
  ],
  [
    'a webhook that is down',
    500,
    {
      reason: 'InternalError',
      message: 'Internal error occurred: failed calling webhook "x.example.com": connection refused',
    },
    { cause: 'ApiError', message: expect.stringContaining('failed calling webhook "x.example.com"') },
  ],
  [
    'priority and fairness',
    429,
    { message: 'Too many requests, please try again later.' },
    {
      cause: 'ApiError',
      message: 'the API server is overloaded: Too many requests, please try again later.',
    },
  ],
  [
    'a namespace that is being deleted',
    403,
    { message: 'forbidden', details: { causes: [{ reason: 'NamespaceTerminating' }] } },
    {
      cause: 'NamespaceTerminating',
      message: 'its namespace is being deleted and takes the pod with it',
    },
  ],
  [
    'no permission',
    403,
    { reason: 'Forbidden', message: 'pods "a" is forbidden: User "u" cannot create' },
    {
      cause: 'ApiError',
      message: expect.stringContaining('not permitted to do it: pods "a" is forbidden'),
    },
  ],
];

test.each(answers)('%s', (_, code, body, expected) => {
  expect(obstacleOf(classify(code, body, {}))).toEqual(expected);
});

test('budgets that the watch shows are named, all of them', () => {
  expect(heldByBudgets([budget('web')])).toMatchObject({ budget: { name: 'web' } });
  expect(heldByBudgets([budget('web'), budget('all')])).toMatchObject({
    cause: 'MultiplePodDisruptionBudgets',
    message: expect.stringContaining('shop/all, shop/web'),
  });
});
