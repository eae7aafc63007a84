import { describe, expect, test } from '@jest/globals';
import { errors } from 'undici';
import { type AnswerHeaders, classify, classifyNetworkError } from '../../../src/kube/classify.ts';
import type { ApiStatus } from '../../../src/kube/types.ts';

const violates = "Cannot evict pod as it would violate the pod's disruption budget.";
const kubevirt = 'admission webhook "virt-launcher-eviction-interceptor.kubevirt.io" denied the request: ';

function budgetStatus(cause: string, retryAfterSeconds?: number): ApiStatus {
  return {
    kind: 'Status',
    status: 'Failure',
    code: 429,
    reason: 'TooManyRequests',
    message: violates,
    details: {
      causes: [{ reason: 'DisruptionBudget', message: cause }],
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    },
  };
}

interface Row {
  readonly name: string;
  readonly code: number;
  readonly body?: ApiStatus;
  readonly headers?: AnswerHeaders;
  readonly expected: object;
}

const rows: Row[] = [
  {
    name: 'a budget that allows nothing',
    code: 429,
    body: budgetStatus('The disruption budget nginx needs 20 healthy pods and has 19 currently'),
    expected: {
      kind: 'budget',
      budget: 'nginx',
      needs: 20,
      has: 19,
      message: 'The disruption budget nginx needs 20 healthy pods and has 19 currently',
    },
  },
  {
    name: 'a budget whose controller failed to sync',
    code: 429,
    body: budgetStatus(
      'The disruption budget db does not allow evicting pods currently because it failed sync: found no controllers',
    ),
    expected: { kind: 'budget', budget: 'db', needs: undefined, has: undefined },
  },
  {
    name: 'a budget cause without text',
    code: 429,
    body: { message: violates, details: { causes: [{ reason: 'DisruptionBudget' }] } },
    expected: { kind: 'budget', budget: undefined, message: violates },
  },
  {
    name: 'a budget whose cause a proxy dropped',
    code: 429,
    body: { message: violates },
    expected: { kind: 'budget', budget: undefined },
  },
  {
    name: 'a budget whose status is older than its spec',
    code: 429,
    body: budgetStatus('The disruption budget nginx is still being processed by the server.', 10),
    headers: { retryAfter: '10' },
    expected: { kind: 'budgetStale', budget: 'nginx', retryAfterSeconds: 10 },
  },
  {
    name: 'the time-out after conflicts on a budget',
    code: 504,
    body: {
      reason: 'Timeout',
      message: `Timeout: couldn't update PodDisruptionBudget "nginx" due to conflicts`,
      details: { retryAfterSeconds: 10 },
    },
    expected: { kind: 'budgetStale', budget: 'nginx', retryAfterSeconds: 10 },
  },
  {
    name: 'the last conflict on a budget, passed on',
    code: 409,
    body: {
      reason: 'Conflict',
      message:
        'Operation cannot be fulfilled on poddisruptionbudgets.policy "nginx": the object has been modified; please apply your changes to the latest version and try again',
    },
    expected: { kind: 'budgetStale', budget: 'nginx', retryAfterSeconds: 10 },
  },
  {
    name: 'too many unconfirmed evictions',
    code: 403,
    body: {
      reason: 'Forbidden',
      message:
        'poddisruptionbudget.policy "nginx" is forbidden: DisruptedPods map too big - too many evictions not confirmed by PDB controller',
    },
    expected: { kind: 'budgetStale', budget: 'nginx', retryAfterSeconds: 10 },
  },
  {
    name: 'more than one budget',
    code: 500,
    body: {
      message:
        'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    },
    expected: { kind: 'multipleBudgets' },
  },
  {
    name: 'a KubeVirt webhook that starts a migration',
    code: 429,
    body: { code: 429, message: `${kubevirt}Eviction triggered evacuation of VMI "default/lm"` },
    expected: { kind: 'admission', message: `${kubevirt}Eviction triggered evacuation of VMI "default/lm"` },
  },
  ...[400, 403, 404, 409, 410, 422, 500, 503].map((code) => ({
    name: `a webhook that denies with ${code}`,
    code,
    body: {
      reason: 'NotFound',
      message: `admission webhook "x.example.com" denied the request: more than one PodDisruptionBudget`,
      details: { name: 'x', causes: [{ reason: 'DisruptionBudget' }, { reason: 'NamespaceTerminating' }] },
    },
    expected: { kind: 'admission' },
  })),
  {
    name: 'an admission policy with a binding',
    code: 422,
    body: {
      reason: 'Invalid',
      message: `pods "x" is forbidden: ValidatingAdmissionPolicy 'no-evictions' with binding 'all' denied request: not today`,
    },
    expected: { kind: 'admission' },
  },
  {
    name: 'an admission policy without one',
    code: 403,
    body: { message: `pods "x" is forbidden: ValidatingAdmissionPolicy 'p' denied request: no` },
    expected: { kind: 'admission' },
  },
  {
    name: 'a webhook that is down',
    code: 500,
    body: {
      reason: 'InternalError',
      message:
        'Internal error occurred: failed calling webhook "x.example.com": failed to call webhook: Post "https://x": connect: connection refused',
    },
    expected: { kind: 'serverError', code: 500 },
  },
  {
    name: 'a namespace that is going',
    code: 403,
    body: {
      reason: 'Forbidden',
      message:
        'pods "x" is forbidden: unable to create new content in namespace y because it is being terminated',
      details: {
        name: 'x',
        causes: [{ reason: 'NamespaceTerminating', message: 'namespace y', field: 'metadata.namespace' }],
      },
    },
    expected: { kind: 'namespaceTerminating' },
  },
  {
    name: 'missing permission',
    code: 403,
    body: { reason: 'Forbidden', message: 'nodes "x" is forbidden: User "u" cannot patch resource "nodes"' },
    expected: { kind: 'forbidden' },
  },
  { name: 'no identity', code: 401, body: { message: 'Unauthorized' }, expected: { kind: 'forbidden' } },
  {
    name: 'a missing object',
    code: 404,
    body: { reason: 'NotFound', message: 'pods "x" not found', details: { name: 'x' } },
    expected: { kind: 'notFound', message: 'pods "x" not found' },
  },
  {
    name: 'a path that nothing serves',
    code: 404,
    body: { message: '404 page not found\n' },
    expected: { kind: 'notServed', message: '404 page not found' },
  },
  {
    name: 'a resource that is not served',
    code: 404,
    body: { reason: 'NotFound', message: 'the server could not find the requested resource', details: {} },
    expected: { kind: 'notServed' },
  },
  {
    name: 'a UID precondition',
    code: 409,
    body: {
      reason: 'Conflict',
      message:
        'Operation cannot be fulfilled on Pod "x": the UID in the precondition (a) does not match the UID in record (b).',
    },
    expected: { kind: 'conflict' },
  },
  {
    name: 'a name that is taken',
    code: 409,
    body: { reason: 'AlreadyExists', message: 'x already exists' },
    expected: { kind: 'conflict' },
  },
  {
    name: 'an expired version',
    code: 410,
    body: { reason: 'Expired', message: 'too old resource version: 1 (2)' },
    expected: { kind: 'expired' },
  },
  {
    name: 'gone',
    code: 410,
    body: { reason: 'Gone' },
    expected: { kind: 'expired', message: 'the API server answered 410' },
  },
  {
    name: 'a version from the future',
    code: 504,
    body: {
      reason: 'Timeout',
      message: 'Timeout: Too large resource version: 9, current: 3',
      details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }] },
    },
    expected: { kind: 'expired' },
  },
  {
    name: 'a version from the future, by message',
    code: 400,
    body: { message: 'Too large resource version: 9, current: 3' },
    expected: { kind: 'expired' },
  },
  {
    name: 'another time-out',
    code: 504,
    body: { reason: 'Timeout', message: 'Timeout: request did not complete within requested timeout' },
    expected: { kind: 'serverError', code: 504 },
  },
  {
    name: 'overload',
    code: 429,
    body: { message: 'Too many requests, please try again later.' },
    headers: { retryAfter: '3' },
    expected: { kind: 'throttled', retryAfterSeconds: 3 },
  },
  { name: 'overload without a time', code: 429, expected: { kind: 'throttled', retryAfterSeconds: 1 } },
  {
    name: 'overload with a time in the body',
    code: 429,
    body: { details: { retryAfterSeconds: 7 } },
    headers: { retryAfter: '3' },
    expected: { kind: 'throttled', retryAfterSeconds: 7 },
  },
  {
    name: 'overload until a date, by the clock of the server',
    code: 429,
    headers: { retryAfter: 'Wed, 21 Oct 2015 07:28:00 GMT', date: 'Wed, 21 Oct 2015 07:27:45 GMT' },
    expected: { kind: 'throttled', retryAfterSeconds: 15 },
  },
  {
    name: 'overload until a date in the past',
    code: 429,
    headers: { retryAfter: 'Wed, 21 Oct 2015 07:28:00 GMT', date: 'Wed, 21 Oct 2015 08:00:00 GMT' },
    expected: { kind: 'throttled', retryAfterSeconds: 1 },
  },
  {
    name: 'overload until nonsense',
    code: 429,
    headers: { retryAfter: 'soon' },
    expected: { kind: 'throttled', retryAfterSeconds: 1 },
  },
  {
    name: 'overload for ever',
    code: 429,
    headers: { retryAfter: '99999999' },
    expected: { kind: 'throttled', retryAfterSeconds: 600 },
  },
  ...[400, 405, 406, 413, 415, 422].map((code) => ({
    name: `${code}`,
    code,
    body: { message: 'no' },
    expected: { kind: 'invalid', message: 'no' },
  })),
  ...[408, 500, 502, 503].map((code) => ({ name: `${code}`, code, expected: { kind: 'serverError', code } })),
];

describe('classify', () => {
  test.each(rows)('$name', ({ code, body, headers, expected }) => {
    expect(classify(code, body, headers ?? {})).toMatchObject(expected);
  });

  test('caps messages and frees them of control characters', () => {
    const { message } = classify(422, { message: `a\u0000\n\u001b[31mb\u2028c${'😀'.repeat(2_000)}` }, {});
    // No half of a pair at its end.
    expect(message).toHaveLength(1_023);
    expect(message.startsWith('a [31mb c😀')).toBe(true);
    expect(message.isWellFormed()).toBe(true);
  });
});

test('the words of others lose what looks like a credential', () => {
  const said =
    'admission webhook "w" denied the request: Authorization: Bearer abcdefghijklmnop, password=hunter2';
  const { message } = classify(403, { message: said }, {});
  expect(message).toMatch(/^admission webhook "w" denied the request/);
  expect(message).not.toMatch(/abcdefgh|hunter2/);
});

describe('classifyNetworkError', () => {
  test.each([
    [
      Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' }),
      'connect ECONNREFUSED 127.0.0.1:1',
    ],
    [
      new errors.HeadersTimeoutError('Headers Timeout Error'),
      'Headers Timeout Error (UND_ERR_HEADERS_TIMEOUT)',
    ],
    [
      new TypeError('fetch failed', { cause: new Error('self-signed certificate') }),
      'fetch failed: self-signed certificate',
    ],
    [
      new AggregateError([new Error('::1 refused'), new Error('127.0.0.1 refused')]),
      '::1 refused; 127.0.0.1 refused',
    ],
    ['text', 'text'],
    [undefined, 'request failed'],
    [new Error(''), 'Error'],
  ])('%#', (error, message) => {
    expect(classifyNetworkError(error)).toEqual({ kind: 'network', message });
  });

  test('ends on an error that is its own cause', () => {
    const error = new Error('loop');
    error.cause = error;
    expect(classifyNetworkError(error).message).toContain('loop');
  });
});
