// The judge of the fuzzing is shown requests that were right and requests that were wrong: one that never speaks proves nothing.
import { describe, expect, test } from '@jest/globals';
import { auditProblems } from '../../../soak/hostile/checks.ts';
import {
  type Life,
  neglected,
  objection,
  type SaidMaintenance,
  type SeenPod,
  type StoredSpec,
} from '../../../soak/hostile/oracle.ts';
import { entry } from '../../invariants/log.ts';

const pod = (kind: SeenPod['kind'], more: Partial<SeenPod> = {}): SeenPod => ({
  uid: 'u',
  namespace: 'ns',
  name: 'p',
  node: 'n',
  labels: { app: 'web' },
  hasBudget: false,
  madeAt: 10_000,
  kind,
  ...more,
});
const spec = (drain: StoredSpec['drain'] = {}, more: Partial<StoredSpec> = {}): StoredSpec => ({
  nodeName: 'n',
  nodeDrainPolicy: 'Evacuate',
  suspend: false,
  drain: { unmanagedPods: 'Block', emptyDirPods: 'Evict', onTimeout: 'Fail', ...drain },
  ...more,
});
/** Known since second 2. */
const life = (only: StoredSpec, more: Partial<Life> = {}): Life => ({
  versions: [{ spec: only, askedAt: 1_000, seenAt: 2_000 }],
  deletionAskedAt: Infinity,
  ...more,
});
/** At second 20. */
const evicted = (who: SeenPod, ...lives: readonly Life[]) =>
  objection(who, { what: 'eviction', at: 20_000 }, lives);
const deleted = (who: SeenPod, ...lives: readonly Life[]) =>
  objection(who, { what: 'deletion', at: 20_000 }, lives);
const deletedAt = (at: number, ...lives: readonly Life[]) =>
  objection(pod('managed', { hasBudget: true }), { what: 'deletion', at }, lives);

const fine = undefined;
const uncovered = 'no maintenance covers it';
const withoutConsent = expect.stringContaining('does not consent');
const evictsBare = spec({ unmanagedPods: 'Evict' });
const keepsData = spec({ emptyDirPods: 'Block' });
const otherPods = { podSelector: { matchLabels: { app: 'db' } } };

describe('a maintenance that is alone on its node', () => {
  test('covers what it selects, and nothing else', () => {
    expect(evicted(pod('managed'), life(spec()))).toBe(fine);
    expect(evicted(pod('managed'), life(spec({ podSelector: {} })))).toBe(fine);
    expect(evicted(pod('managed'), life(spec(otherPods)))).toBe(uncovered);
    const expressions = [{ key: 'constructor', operator: 'Exists' }];
    expect(evicted(pod('managed'), life(spec({ podSelector: { matchExpressions: expressions } })))).toBe(
      uncovered,
    );
  });

  test('covers nothing while it is suspended, does not evacuate, or is about another node', () => {
    expect(evicted(pod('managed'), life(spec({}, { suspend: true })))).toBe(uncovered);
    expect(evicted(pod('managed'), life(spec({}, { nodeDrainPolicy: 'NoSchedule' })))).toBe(uncovered);
    expect(evicted(pod('managed'), life(spec({}, { nodeName: 'other' })))).toBe(uncovered);
    expect(evicted(pod('managed'))).toBe(uncovered);
  });

  test('lets protected pods go only as its policies say', () => {
    expect(evicted(pod('unmanaged'), life(evictsBare))).toBe(fine);
    expect(evicted(pod('unmanaged'), life(spec()))).toBe(uncovered);
    expect(evicted(pod('emptyDir'), life(spec()))).toBe(fine);
    expect(evicted(pod('emptyDir'), life(keepsData))).toBe(uncovered);
    expect(evicted(pod('emptyDir'), life(spec({ emptyDirPods: 'Skip' })))).toBe(uncovered);
  });

  test('has no pods deleted unless it says so, and none that no budget has refused', () => {
    const held = pod('managed', { hasBudget: true });
    expect(deleted(held, life(spec()))).toBe(uncovered);
    expect(deleted(held, life(spec({ onTimeout: 'Delete', timeoutSeconds: 2 })))).toBe(fine);
    expect(deleted(held, life(spec({ timeoutSeconds: 2 })))).toBe(uncovered);
    expect(deleted(held, life(spec({ deleteBlockedAfterSeconds: 1 })))).toBe(fine);
    expect(deletedAt(70_000, life(spec({ unsatisfiableBudgets: 'Delete' })))).toBe(fine);
    expect(deletedAt(70_000, life(spec({ unsatisfiableBudgets: 'Wait' })))).toBe(uncovered);
    expect(deleted(pod('managed'), life(spec({ onTimeout: 'Delete', timeoutSeconds: 2 })))).toContain(
      'no budget',
    );
  });

  // It was asked for at second 1, the pod was made at second 10, and two seconds too early are in time.
  test.each([
    [{ onTimeout: 'Delete', timeoutSeconds: 15 }, 14],
    [{ deleteBlockedAfterSeconds: 15 }, 23],
    [{ unsatisfiableBudgets: 'Delete' }, 59],
    [{ unsatisfiableBudgets: 'Delete', deleteBlockedAfterSeconds: 15 }, 23],
  ])('has no pod deleted before its time: %j', (drain, second) => {
    const known = life(spec(drain));
    expect(deletedAt(second * 1000, known)).toBe(fine);
    expect(deletedAt(second * 1000 - 1, known)).toBe(uncovered);
  });

  test('never has those leave that belong to the node', () => {
    for (const kind of ['daemon', 'mirror'] as const)
      expect(evicted(pod(kind), life(evictsBare))).toContain('belongs to the node');
  });
});

describe('several maintenances of one node', () => {
  test('have to consent, each of them, where a pod is protected', () => {
    expect(evicted(pod('unmanaged'), life(evictsBare), life(evictsBare))).toBe(fine);
    expect(evicted(pod('unmanaged'), life(evictsBare), life(spec()))).toEqual(withoutConsent);
    expect(evicted(pod('emptyDir'), life(spec()), life(keepsData))).toEqual(withoutConsent);
    expect(evicted(pod('managed'), life(spec()), life(keepsData))).toBe(fine);
  });

  test('have to consent to a deletion', () => {
    const held = pod('managed', { hasBudget: true });
    const deletes = life(spec({ deleteBlockedAfterSeconds: 1 }));
    expect(deleted(held, deletes, life(spec({ onTimeout: 'Delete', timeoutSeconds: 2 })))).toBe(fine);
    expect(deleted(held, deletes, life(spec({ onTimeout: 'Delete', timeoutSeconds: 50 })))).toEqual(
      withoutConsent,
    );
    expect(deleted(held, deletes, life(spec({}, { nodeDrainPolicy: 'NoSchedule' })))).toBe(fine);
    expect(deleted(held, deletes, life(spec()))).toEqual(withoutConsent);
    expect(evicted(held, deletes, life(spec()))).toBe(fine);
  });

  test('are asked also when they are suspended or leave the pod out, and not when they do not evacuate', () => {
    expect(evicted(bare, life(evictsBare), life(spec({}, { suspend: true })))).toEqual(withoutConsent);
    expect(evicted(bare, life(evictsBare), life(spec(otherPods)))).toEqual(withoutConsent);
    expect(evicted(bare, life(evictsBare), life(spec({}, { nodeDrainPolicy: 'Ignore' })))).toBe(fine);
    expect(evicted(bare, life(evictsBare), life(spec({}, { nodeName: 'other' })))).toBe(fine);
  });

  test('do not cover together what none of them covers', () => {
    const both = [
      life(spec({ unmanagedPods: 'Evict', ...otherPods })),
      life(spec({ unmanagedPods: 'Evict' }, { suspend: true })),
    ];
    expect(evicted(pod('unmanaged'), ...both)).toBe(uncovered);
  });
});

const bare = pod('unmanaged');
const objector = (more: Partial<Life>, seenAt = 2_000): readonly Life[] => [
  life(evictsBare),
  life(spec(), { versions: [{ spec: spec(), askedAt: 1_000, seenAt }], ...more }),
];
const edited = (first: StoredSpec, second: StoredSpec, askedAt: number, seenAt: number): Life =>
  life(first, {
    versions: [
      { spec: first, askedAt: 1_000, seenAt: 2_000 },
      { spec: second, askedAt, seenAt },
    ],
  });

describe('what the operator need not have known', () => {
  test('is a maintenance that it has said nothing of when the pod was made or the request was sent', () => {
    expect(evicted(bare, ...objector({}, 10_000))).toEqual(withoutConsent);
    expect(evicted(bare, ...objector({}, 17_000))).toEqual(withoutConsent);
    expect(evicted(bare, ...objector({}, 17_001))).toBe(fine);
    expect(evicted({ ...bare, madeAt: 19_000 }, ...objector({}, 19_000))).toEqual(withoutConsent);
    expect(evicted(bare, ...objector({}, Infinity))).toBe(fine);
  });

  test('is one that was being deleted', () => {
    expect(evicted(bare, ...objector({ deletionAskedAt: 20_001 }))).toEqual(withoutConsent);
    expect(evicted(bare, ...objector({ deletionAskedAt: 20_000 }))).toBe(fine);
  });

  test('is an edit that is on its way: either version may count', () => {
    for (const [first, second] of [
      [evictsBare, spec()],
      [spec(), evictsBare],
    ] as const) {
      expect(evicted(bare, edited(first, second, 19_000, Infinity))).toBe(fine);
      expect(evicted(bare, life(evictsBare), edited(first, second, 19_000, 19_500))).toBe(fine);
    }
  });

  test('is neither an edit to come nor a version that was replaced for certain', () => {
    expect(evicted(bare, edited(spec(), evictsBare, 20_001, Infinity))).toBe(uncovered);
    expect(evicted(bare, edited(evictsBare, spec(), 11_000, 12_000))).toBe(uncovered);
    expect(evicted(bare, life(evictsBare), edited(evictsBare, spec(), 11_000, 12_000))).toEqual(
      withoutConsent,
    );
  });

  test('is a maintenance that nobody had asked for yet', () => {
    const late = life(spec(), { versions: [{ spec: spec(), askedAt: 20_001, seenAt: Infinity }] });
    expect(evicted(pod('managed'), late)).toBe(uncovered);
  });
});

const says = (
  reason: string,
  only: StoredSpec,
  more: Partial<NonNullable<SaidMaintenance['status']>> = {},
): SaidMaintenance => ({
  spec: only,
  status: { conditions: [{ type: 'Ready', reason }], ...more },
});

describe('who is left on a node although its maintenance wants it gone', () => {
  const managed = pod('managed');
  const blockers = [{ pod: { namespace: 'ns', name: 'p' } }];

  test.each<readonly [string, SeenPod, SaidMaintenance, boolean]>([
    ['it says that all are gone', managed, says('Drained', spec()), true],
    ['it drains', managed, says('Draining', spec()), true],
    ['it says that it only cordons', managed, says('Cordoned', spec()), true],
    ['it selects another pod', managed, says('Drained', spec(otherPods)), false],
    ['it does not evacuate', managed, says('Cordoned', spec({}, { nodeDrainPolicy: 'NoSchedule' })), false],
    ['it is suspended', managed, says('Draining', spec({}, { suspend: true })), false],
    ['it has given up', managed, says('DrainFailed', spec()), false],
    ['it waits', managed, says('WaitingForTurn', spec()), false],
    ['it names it', managed, says('DrainBlocked', spec(), { blockers, blockersTotal: 1 }), false],
    ['it names others', managed, says('DrainBlocked', spec(), { blockers: [], blockersTotal: 1 }), false],
    ['it is elsewhere', { ...managed, node: 'other' }, says('Drained', spec()), false],
    ['a budget may hold it', { ...managed, hasBudget: true }, says('Drained', spec()), false],
    ['it blocks it', pod('unmanaged'), says('Draining', spec()), false],
    ['it skips it', pod('unmanaged'), says('Drained', spec({ unmanagedPods: 'Skip' })), false],
    ['it lets it go', pod('unmanaged'), says('Drained', evictsBare), true],
    ['it keeps the data', pod('emptyDir'), says('Drained', keepsData), false],
    ['it belongs to the node', pod('daemon'), says('Drained', spec()), false],
  ])('%s', (_, who, one, isLeft) => {
    expect(neglected([who], one)).toEqual(isLeft ? [who] : []);
  });
});

const about = (what: string, uid: string, byOperator = true) =>
  entry(what, 'ns/p', {
    byOperator,
    request:
      what === 'delete pods' ? { preconditions: { uid } } : { deleteOptions: { preconditions: { uid } } },
  });

test('requests are judged by the pod that they name and by when they came', () => {
  const start = Date.parse(about('delete pods', 'u').requestReceivedTimestamp);
  const early = pod('unmanaged', { madeAt: start - 5_000 });
  const since = (only: StoredSpec): Life =>
    life(only, { versions: [{ spec: only, askedAt: start - 9_000, seenAt: start - 8_000 }] });
  const judged = (what: string, uid: string, ...lives: readonly Life[]) =>
    auditProblems([about(what, uid)], new Map([['u', early]]), lives);
  expect(judged('create pods/eviction', 'u', since(evictsBare))).toEqual([]);
  expect(judged('create pods/eviction', 'u', since(evictsBare), since(spec()))).toEqual([withoutConsent]);
  expect(judged('create pods/eviction', 'v', since(evictsBare))).toEqual([
    expect.stringContaining('nobody made'),
  ]);
  expect(judged('delete pods', 'u', since(evictsBare))).toEqual([expect.stringContaining('no budget')]);
  expect(auditProblems([about('delete pods', 'v', false)], new Map(), [])).toEqual([]);
});
