// Each rule is shown a log in which it is kept and one in which it is broken: a check that never speaks proves nothing.
import { describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../e2e/support/audit.ts';
import { Invariants } from '../../invariants/invariants.ts';
import { deletion, entry, everything, eviction, gone, pod } from './log.ts';

const invariants = (): Invariants => new Invariants(everything, () => false);
const broken = (...entries: readonly AuditEntry[]): readonly string[] => invariants().end(entries);

const patience = (seconds: number) => ({ skipWaitForDeleteTimeoutSeconds: seconds });
const claim = (at: number, status = 'True', drain = {}): AuditEntry =>
  entry('patch nodemaintenances/status', 'm', {
    at,
    byOperator: true,
    response: {
      metadata: { name: 'm' },
      spec: { nodeName: 'n', drain },
      status: { conditions: [{ type: 'Drained', status }] },
    },
  });

describe('no pod is evicted twice', () => {
  test.each([
    ['once', [eviction('a', 1)], []],
    ['refused, then accepted', [eviction('a', 1, 429), eviction('a', 2)], []],
    ['accepted twice', [eviction('a', 1), eviction('a', 2)], ['evicted twice']],
    ['asked again', [eviction('a', 1), eviction('a', 2, 429)], ['evicted again']],
    ['two pods', [eviction('a', 1), eviction('b', 2)], []],
  ])('%s', (_, evictions, expected) => {
    const result = broken(...pod('a', 'n'), ...pod('b', 'n'), ...evictions);
    expect(result).toEqual(expected.map((words) => expect.stringContaining(words)));
  });

  test.each([
    ['refused, then deleted', [eviction('a', 1, 429), deletion('a', 2)], []],
    ['deleted, refused, and deleted again', [deletion('a', 1, 500), deletion('a', 2)], []],
    ['two pods', [deletion('a', 1), deletion('b', 2)], []],
    ['gone in the end', [deletion('a', 1), gone('a', 2)], []],
    ['deleted twice', [deletion('a', 1), deletion('a', 2)], ['deleted twice']],
    ['evicted and deleted', [eviction('a', 1), deletion('a', 2)], ['deleted after it was evicted']],
    ['deleted and evicted', [deletion('a', 1), eviction('a', 2)], ['evicted after it was deleted']],
    ['asked again', [deletion('a', 1), deletion('a', 2, 409)], ['deleted again after it was deleted']],
  ])('nor deleted, where that is what the test asks for: %s', (_, requests, expected) => {
    const deletes = { ...everything, deletionsExpected: new Set(['ns']) };
    const checks = new Invariants(deletes, () => false);
    const result = checks.end([...pod('a', 'n'), ...pod('b', 'n'), ...requests]);
    expect(result).toEqual(expected.map((words) => expect.stringContaining(words)));
  });

  test('one that was held up on its way may be refused later, and no more', () => {
    const checks = new Invariants({ ...everything, heldUp: new Set(['uid-a']) }, () => false);
    expect(checks.see([...pod('a', 'n'), eviction('a', 1), eviction('a', 2, 409)])).toEqual([]);
    expect(checks.end([eviction('a', 3)])).toEqual([expect.stringContaining('evicted twice')]);
  });

  test('the first may be written down after the second, and in another look', () => {
    const checks = invariants();
    const first = entry('create pods/eviction', 'ns/a', { ...byUid('a'), at: 1, took: 0.5 });
    expect(checks.see([...pod('a', 'n'), eviction('a', 1.2)])).toEqual([]);
    expect(checks.end([first])).toEqual([expect.stringContaining('evicted twice')]);
  });
});

function byUid(name: string) {
  const request = { deleteOptions: { preconditions: { uid: `uid-${name}` } } };
  return { request, byOperator: true };
}

const deleted = (at: number): AuditEntry => entry('delete poddisruptionbudgets', 'ns/db', { at });
const edited = (at: number): AuditEntry =>
  entry('patch poddisruptionbudgets', 'ns/db', { at, request: { spec: { selector: {} } } });
const annotated = (at: number): AuditEntry =>
  entry('patch poddisruptionbudgets', 'ns/db', { at, request: { metadata: { annotations: { a: 'b' } } } });

describe('every accepted eviction had a budget that allowed it', () => {
  const labels = { app: 'db' };
  const pods = ['a', 'b', 'c'].flatMap((name) => pod(name, 'n', { labels }));
  const verdict = (at: number, allowed: number, disrupted: readonly string[] = []): AuditEntry =>
    entry('update poddisruptionbudgets/status', 'ns/db', {
      at,
      request: {
        spec: { selector: { matchLabels: labels } },
        status: {
          disruptionsAllowed: allowed,
          disruptedPods: Object.fromEntries(disrupted.map((name) => [name, 'now'])),
        },
      },
    });

  test.each([
    ['it allows one', [verdict(1, 1), eviction('a', 2)], 0],
    ['it allows none', [verdict(1, 0), eviction('a', 2)], 1],
    ['it allows one, and two go', [verdict(1, 1), eviction('a', 2), eviction('b', 3)], 1],
    ['it says so again', [verdict(1, 1), eviction('a', 2), verdict(3, 1), eviction('b', 4)], 0],
    [
      'it says so again and has counted the first already',
      [verdict(1, 2), eviction('a', 2), verdict(2.005, 1, ['a']), eviction('b', 4), eviction('c', 5)],
      1,
    ],
    ['it may have allowed it just in time', [verdict(1, 0), verdict(2.005, 1), eviction('a', 2)], 0],
    ['no budget', [eviction('a', 2), eviction('b', 2)], 0],
    [
      'it is annotated on the way',
      [verdict(1, 1), annotated(2.003), verdict(2.006, 0, ['a']), eviction('a', 2)],
      0,
    ],
    ['it is annotated, and allows none', [verdict(1, 0), annotated(2.003), eviction('a', 2)], 1],
    [
      'it is annotated before',
      [verdict(1, 1), annotated(1.5), verdict(2.006, 0, ['a']), eviction('a', 2)],
      0,
    ],
    ['it is annotated before, and allows none', [verdict(1, 0), annotated(1.5), eviction('a', 2)], 1],
    ['it is deleted on the way', [verdict(1, 0), deleted(2.003), eviction('a', 2)], 0],
    ['it is deleted before', [verdict(1, 0), deleted(1.5), eviction('a', 2)], 0],
    ['it is deleted after', [verdict(1, 0), eviction('a', 2), deleted(2.5)], 1],
    ['its spec is edited, and nothing is said since', [verdict(1, 0), edited(1.5), eviction('a', 2)], 0],
    [
      'its spec is edited, and then it allows none',
      [verdict(1, 1), edited(1.5), verdict(1.6, 0), eviction('a', 2)],
      1,
    ],
  ])('%s', (_, entries, violations) => {
    expect(broken(...pods, ...entries)).toHaveLength(violations);
  });

  test('a pod that is not ready costs no budget anything', () => {
    const unready = pod('d', 'n', { labels }).slice(0, 2);
    expect(broken(...unready, verdict(1, 0), eviction('d', 2))).toEqual([]);
  });

  test('another budget does not matter', () => {
    expect(broken(...pod('d', 'n', { labels: { app: 'web' } }), verdict(1, 0), eviction('d', 2))).toEqual([]);
  });
});

const next = entry('create pods', 'ns/a', {
  at: 6.1,
  response: { metadata: { name: 'a', uid: 'next' }, spec: {} },
});
const nextBound = entry('create pods/binding', 'ns/a', { at: 6.2, request: { target: { name: 'n' } } });
const lateGone = entry('delete pods', 'ns/a', {
  at: 5.9,
  took: 0.5,
  request: { gracePeriodSeconds: 0, preconditions: { uid: 'uid-a' } },
});

describe('Drained is not said while a pod that has to leave is there', () => {
  test.each([
    ['gone before', [...pod('a', 'n'), gone('a', 5), claim(6)], 0],
    ['gone with an answer that came too late', [...pod('a', 'n'), gone('a', 5, 504), claim(6)], 0],
    ['gone after', [...pod('a', 'n'), claim(6), gone('a', 7)], 1],
    [
      'gone before, and its successor stands in the log first',
      [...pod('a', 'n'), next, lateGone, claim(6)],
      0,
    ],
    ['its successor is not gone with it', [...pod('a', 'n'), next, nextBound, lateGone, claim(9)], 1],
    ['no longer waited for', [...pod('a', 'n'), eviction('a', 2), claim(6, 'True', patience(3))], 0],
    ['still waited for', [...pod('a', 'n'), eviction('a', 2), claim(6, 'True', patience(5))], 1],
    ['never gone', [...pod('a', 'n'), claim(6)], 1],
    ['said that it is not', [...pod('a', 'n'), claim(6, 'False')], 0],
    ['on another node', [...pod('a', 'other'), claim(6)], 0],
    ['of a DaemonSet', [...pod('a', 'n', { controller: 'DaemonSet' }), claim(6)], 0],
    ['mirror', [...pod('a', 'n', { annotations: { 'kubernetes.io/config.mirror': 'x' } }), claim(6)], 0],
    ['has just arrived', [...pod('a', 'n', { at: 5.5 }), claim(6)], 0],
  ])('%s', (_, entries, violations) => {
    expect(broken(...entries)).toHaveLength(violations);
  });
});

const comes = (name: string, at: number): AuditEntry[] => pod(name, 'n', { at, owner: 'web' });
const leaves = (name: string, at: number): AuditEntry[] => [eviction(name, at), gone(name, at + 1)];
const returns = ['a', 'b', 'c'].flatMap((name, index) => [
  ...comes(name, index * 3),
  ...leaves(name, index * 3 + 1),
]);
const maintained = (metadata: object, at: number): AuditEntry =>
  entry('patch nodemaintenances', 'm', { at, response: { metadata, spec: { nodeName: 'n' } } });
const begins = maintained({ name: 'm', finalizers: ['x'] }, 0);
const ends = (at: number) => maintained({ name: 'm', deletionTimestamp: 'then' }, at);

describe('who comes back to the node again and again is not waited for', () => {
  test.each([
    ['the fourth', [begins, ...returns, ...comes('d', 10), claim(12)], 0],
    ['the third', [begins, ...returns.slice(0, -2), claim(12)], 1],
    [
      'the fourth, if it was there before the third left',
      [begins, ...comes('d', 6), ...returns, claim(12)],
      1,
    ],
    [
      'three that were there together are no returns',
      [
        begins,
        ...['a', 'b', 'c', 'd'].flatMap((name) => comes(name, 0)),
        ...['a', 'b', 'c'].flatMap((name) => leaves(name, 1)),
        claim(5),
      ],
      1,
    ],
    ['the fourth, in the next maintenance', [begins, ...returns, ends(10), ...comes('d', 11), claim(13)], 1],
    [
      'the fourth, while another maintenance of the node goes on',
      [begins, maintained({ name: 'other' }, 0), ...returns, ends(10), ...comes('d', 11), claim(13)],
      0,
    ],
    [
      'the fourth, said before the maintenance ended',
      [begins, ...returns, ...comes('d', 10), claim(12), ends(13)],
      0,
    ],
  ])('%s', (_, entries, violations) => {
    expect(broken(...entries)).toHaveLength(violations);
  });
});

describe('every write applies to what was read, and to nothing else', () => {
  const WRITES = [
    'patch nodes',
    'patch nodes/status',
    'patch deployments',
    'patch nodemaintenances',
    'patch nodemaintenances/status',
    'update leases',
  ];
  test.each(WRITES)('%s', (what) => {
    const versioned = entry(what, 'ns/x', {
      byOperator: true,
      request: { metadata: { resourceVersion: '1' } },
    });
    const without = entry(what, 'ns/x', { byOperator: true, request: { metadata: { uid: 'x' } } });
    expect(broken(versioned)).toEqual([]);
    expect(broken(without)).toEqual([expect.stringContaining('written without resourceVersion')]);
  });
});
