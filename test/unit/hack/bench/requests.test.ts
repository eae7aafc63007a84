import { describe, expect, test } from '@jest/globals';
import { countRequests, evictionFigures, spread } from '../../../../hack/bench/requests.ts';
import type { AuditEntry } from '../../../e2e/support/audit.ts';

const begin = Date.UTC(2026, 0, 1, 12);

interface Short {
  readonly by?: string;
  readonly user?: string;
  readonly stage?: AuditEntry['stage'];
  readonly code?: number;
  /** Milliseconds after the beginning: received, answered. */
  readonly at?: readonly [number, number];
}

/** `create pods/eviction shop/web-1` */
function entry(
  what: string,
  { by = 'haulout/0.1.0', user = 'x', stage, code = 200, at }: Short = {},
): AuditEntry {
  const [verb = '', kind = '', where = ''] = what.split(' ');
  const [resource = '', subresource] = kind.split('/');
  const [namespace = '', name = ''] = where.split('/');
  const [received, answered] = at ?? [0, 0];
  return {
    auditID: 'x',
    stage: stage ?? 'ResponseComplete',
    verb,
    requestURI: '/api/v1?timeout=32s',
    userAgent: by,
    user: { username: user },
    responseStatus: { code },
    requestReceivedTimestamp: new Date(begin + received).toISOString(),
    stageTimestamp: new Date(begin + answered).toISOString(),
    ...(resource === ''
      ? {}
      : { objectRef: { resource, namespace, name, ...(subresource === undefined ? {} : { subresource }) } }),
  };
}

const kubectl = 'kubectl/v1.36.3 (linux/amd64) kubernetes/0123456';

describe('countRequests', () => {
  const entries = [
    entry('create pods/eviction shop/a'),
    entry('create pods/eviction shop/b'),
    entry('patch nodemaintenances/status'),
    entry('list pods'),
    entry('watch pods', { stage: 'ResponseStarted' }),
    entry('watch pods'),
    entry('update leases'),
    entry('get', { by: kubectl }),
    entry('list pods', { by: kubectl }),
    entry('get pods shop/a', { by: kubectl }),
    entry('get pods shop/a', { by: 'e2e-tests' }),
  ];

  test('of haulout: a watch once and apart, as its list and the Lease', () => {
    expect(countRequests(entries, 'haulout')).toEqual({
      counted: 3,
      kinds: { 'create pods/eviction': 2, 'patch nodemaintenances/status': 1 },
      watches: 1,
      firstLists: 1,
      lease: 1,
    });
  });

  test('of kubectl: everything, lists and discovery included', () => {
    const { counted, kinds, firstLists } = countRequests(entries, 'kubectl');
    expect(counted).toBe(3);
    expect(kinds).toEqual({ 'get /api/v1': 1, 'get pods': 1, 'list pods': 1 });
    expect(firstLists).toBe(0);
  });
});

describe('evictionFigures', () => {
  const kubelets = { by: 'haulout-test-kubelets', user: 'haulout-test:kubelets' };
  const entries = [
    entry('create pods/eviction shop/a', { code: 429, at: [0, 10] }),
    entry('create pods/eviction shop/a', { code: 201, at: [1000, 1030] }),
    entry('create pods/eviction shop/b', { code: 201, at: [1500, 1520] }),
    entry('create pods/eviction shop/c', { by: kubectl, code: 201, at: [1500, 1900] }),
    entry('delete pods shop/a', { ...kubelets, code: 504, at: [11_030, 11_040] }),
    entry('delete pods shop/a', { ...kubelets, at: [11_050, 11_130] }),
    entry('delete pods shop/b', { ...kubelets, at: [11_510, 11_540] }),
    entry('delete pods shop/b', { by: 'kubectl/x', at: [90_000, 90_000] }),
  ];

  test('attempts, answers, and how late the test bed was', () => {
    expect(evictionFigures(entries, 'haulout', 10_000)).toEqual({
      accepted: 2,
      refused: 1,
      mostPerPod: 2,
      answerMs: { median: 20, most: 30 },
      acceptedWithinMs: 490,
      stoppedLateMs: { median: 60, most: 100 },
    });
  });

  test('of nothing', () => {
    expect(evictionFigures([], 'kubectl', 0)).toMatchObject({
      accepted: 0,
      mostPerPod: 0,
      acceptedWithinMs: 0,
    });
  });
});

test.each([
  [[], 0, 0],
  [[7], 7, 7],
  [[9, 1], 5, 9],
  [[3, 1, 2], 2, 3],
])('the spread of %j', (values, median, most) => {
  expect(spread(values)).toEqual({ median, most });
});
