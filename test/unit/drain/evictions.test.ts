import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type Candidate,
  type EvictionInput,
  type EvictionPlan,
  planEvictions,
} from '../../../src/drain/evictions.ts';
import { type Attempt, LiveDrainMemory } from '../../../src/drain/memory.ts';
import type { Refusal } from '../../../src/kube/answer.ts';
import type { PodDisruptionBudget } from '../../../src/kube/types.ts';
import { type PodOptions, budget, pod } from '../../fixtures/objects.ts';
import { propertyRuns } from '../../fixtures/property-runs.ts';

const now = 1_000_000;
const interval = 20_000;
const lane = 'shop/web';

function candidate(name: string, changes: Partial<Candidate> = {}, options: PodOptions = {}): Candidate {
  return {
    pod: pod(name, options),
    gracePeriodSeconds: undefined,
    mayBeDeleted: false,
    retryIntervalMs: interval,
    heldUpBefore: false,
    ...changes,
  };
}

interface Situation {
  readonly candidates: readonly Candidate[];
  readonly budgets?: readonly PodDisruptionBudget[];
  readonly memory?: LiveDrainMemory;
  readonly now?: number;
}

function decide(situation: Situation): EvictionPlan {
  const { budgets = [], memory = new LiveDrainMemory() } = situation;
  const input: EvictionInput = {
    nodeName: 'n1',
    age: '2026-01-01T12:00:00Z m1',
    candidates: situation.candidates,
    budgetsOf: () => budgets,
    memory,
    now: situation.now ?? now,
  };
  return planEvictions(input);
}

const posted = ({ posts }: EvictionPlan) => posts.map((post) => post.pod.metadata.name);
const deleted = ({ deletions }: EvictionPlan) => deletions.map((each) => each.pod.metadata.name);
const causes = ({ obstacles }: EvictionPlan) =>
  Object.fromEntries([...obstacles].map(([uid, { cause }]) => [uid.replace('uid-', ''), cause]));

const refusals = {
  budget: { kind: 'budget', budget: 'web', needs: 2, has: 2, message: 'no' },
  multipleBudgets: { kind: 'multipleBudgets', message: 'no' },
  budgetStale: { kind: 'budgetStale', budget: 'web', retryAfterSeconds: 10, message: 'no' },
  admission: { kind: 'admission', message: 'admission webhook "kv" denied the request: migrating' },
  network: { kind: 'network', message: 'no' },
  serverError: { kind: 'serverError', code: 500, message: 'no' },
  conflict: { kind: 'conflict', message: 'no' },
  throttled: { kind: 'throttled', retryAfterSeconds: 1, message: 'no' },
  forbidden: { kind: 'forbidden', message: 'no' },
  invalid: { kind: 'invalid', message: 'no' },
  namespaceTerminating: { kind: 'namespaceTerminating', message: 'no' },
} satisfies Record<string, Refusal>;

function remember(
  name: string,
  kind: keyof typeof refusals,
  changes: Partial<Attempt> = {},
): LiveDrainMemory {
  const memory = new LiveDrainMemory();
  memory.attempts.set(`uid-${name}`, {
    refusal: refusals[kind],
    at: now - 1,
    notBefore: undefined,
    uncertain: false,
    ...changes,
  });
  return memory;
}

const three = [candidate('a'), candidate('b'), candidate('c')];

describe('without a budget in the way', () => {
  test('all go at once, outside of any lane', () => {
    const plan = decide({ candidates: three });
    expect(posted(plan)).toEqual(['a', 'b', 'c']);
    expect(plan.posts.every((post) => post.lane === undefined && !post.probe && !post.readFirst)).toBe(true);
    expect(plan.obstacles.size).toBe(0);
    expect(plan.wakeAt).toBeUndefined();
    expect(plan.waitsFor.size).toBe(0);
  });

  test.each<[string, PodOptions]>([
    ['pending', { phase: 'Pending' }],
    ['finished', { phase: 'Failed' }],
    ['not ready under a budget that is met', { ready: false }],
  ])('a pod that is %s goes past a closed budget', (_, options) => {
    const plan = decide({
      candidates: [candidate('a', {}, options), candidate('b')],
      budgets: [budget('web')],
    });
    expect(plan.posts.map((post) => [post.pod.metadata.name, post.lane])).toEqual([
      ['a', undefined],
      ['b', lane],
    ]);
  });

  test('hands on the shorter grace period and the interval', () => {
    const [post] = decide({
      candidates: [candidate('a', { gracePeriodSeconds: 5, retryIntervalMs: 7 })],
    }).posts;
    expect(post).toMatchObject({ gracePeriodSeconds: 5, retryIntervalMs: 7 });
  });
});

function open(allowed: number): PodDisruptionBudget[] {
  return [budget('web', { allowed })];
}

function doomed(name: string): Candidate {
  return candidate(name, { mayBeDeleted: true, gracePeriodSeconds: 9 });
}

describe('under an open budget', () => {
  test.each([
    [1, ['a']],
    [2, ['a', 'b']],
    [9, ['a', 'b', 'c']],
  ])('%d go, in order', (allowed, expected) => {
    const plan = decide({ candidates: three, budgets: open(allowed) });
    expect(posted(plan)).toEqual(expected);
    expect(
      plan.posts.every((post) => post.lane === lane && !post.probe && post.budgetVersion === '100'),
    ).toBe(true);
    expect([...plan.waitsFor]).toEqual([lane]);
  });

  test('evictions that its status does not show yet are counted', () => {
    const memory = new LiveDrainMemory();
    memory.reserve(lane, pod('gone'), now - 5);
    expect(posted(decide({ candidates: three, budgets: open(2), memory }))).toEqual(['a']);
    memory.budgetChanged(budget('web', { allowed: 2, disruptedPods: ['gone'] }));
    expect(posted(decide({ candidates: three, budgets: open(2), memory }))).toEqual(['a', 'b']);
  });

  test('an eviction that was never shown is let go in time, and somebody looks then', () => {
    const memory = new LiveDrainMemory();
    memory.reserve(lane, pod('gone'), now);
    const plan = decide({ candidates: three, budgets: open(1), memory });
    expect(posted(plan)).toEqual([]);
    expect(plan.wakeAt).toBeGreaterThan(now);
    expect(posted(decide({ candidates: three, budgets: open(1), memory, now: plan.wakeAt ?? 0 }))).toEqual([
      'a',
    ]);
  });

  test('nothing goes while another node has the lane', () => {
    const memory = new LiveDrainMemory();
    memory.lane(lane).busy = 'n2';
    const plan = decide({ candidates: three, budgets: open(9), memory });
    expect(posted(plan)).toEqual([]);
    expect([...plan.waitsFor]).toEqual([lane]);
  });

  test('a version at which the server refused counts as closed until it changes', () => {
    const memory = new LiveDrainMemory();
    memory.lane(lane).refusedVersion = '100';
    memory.postponeProbe(lane, now, interval);
    expect(posted(decide({ candidates: three, budgets: open(2), memory }))).toEqual([]);
    expect(
      posted(
        decide({
          candidates: three,
          budgets: [budget('web', { allowed: 2, resourceVersion: '101' })],
          memory,
        }),
      ),
    ).toEqual(['a', 'b']);
  });

  test('a pod whose budget refused it before counts as held up until its eviction is accepted', () => {
    const held = three.map((each) => ({ ...each, heldUpBefore: true }));
    const memory = new LiveDrainMemory();
    expect(causes(decide({ candidates: held, budgets: open(1), memory }))).toEqual({
      a: 'PodDisruptionBudget',
      b: 'PodDisruptionBudget',
      c: 'PodDisruptionBudget',
    });
    memory.inFlight.add('uid-a');
    memory.lane(lane).busy = 'n1';
    expect(Object.keys(causes(decide({ candidates: held, budgets: open(1), memory })))).toEqual([
      'a',
      'b',
      'c',
    ]);
    memory.inFlight.delete('uid-a');
    memory.accepted.add('uid-a');
    expect(Object.keys(causes(decide({ candidates: held, budgets: open(1), memory })))).toEqual(['b', 'c']);
  });

  test('a pod that only waits for its turn in the lane is not held up', () => {
    expect(decide({ candidates: three, budgets: open(1) }).obstacles.size).toBe(0);
  });
});

describe('under a closed budget', () => {
  const closed = [budget('web', { needs: 2, healthy: 2 })];

  test('all are held up, and one asks for all', () => {
    const plan = decide({ candidates: three, budgets: closed });
    expect(plan.posts.map((post) => [post.pod.metadata.name, post.probe])).toEqual([['a', true]]);
    expect([...plan.obstacles.values()]).toEqual(
      three.map(() => ({
        cause: 'PodDisruptionBudget',
        message: 'budget shop/web needs 2 healthy pods and has 2',
        budget: { name: 'web', needs: 2, has: 2 },
      })),
    );
  });

  test('it is told which pod the budget counts as evicted although it is here, unless that is underway', () => {
    const spent = [budget('web', { needs: 2, healthy: 2, disruptedPods: ['b'] })];
    const memory = new LiveDrainMemory();
    const sentences = () =>
      [...decide({ candidates: three, budgets: spent, memory }).obstacles.values()].map(
        ({ message }) => message,
      );
    for (const sentence of sentences()) expect(sentence).toMatch(/has 2; pod b counts as evicted until/);
    memory.inFlight.add('uid-b');
    for (const sentence of sentences()) expect(sentence).toMatch(/has 2$/);
  });

  test('nobody asks before the probe is due; then one does, whoever of the nodes is first', () => {
    const memory = new LiveDrainMemory();
    memory.postponeProbe(lane, now, interval);
    const early = decide({ candidates: three, budgets: closed, memory });
    expect(posted(early)).toEqual([]);
    expect(early.wakeAt).toBe(now + interval);
    expect(posted(decide({ candidates: three, budgets: closed, memory, now: now + interval - 1 }))).toEqual(
      [],
    );
    expect(posted(decide({ candidates: three, budgets: closed, memory, now: now + interval }))).toEqual([
      'a',
    ]);
  });

  test('the pods ask in turn, so that none of them collects refusals', () => {
    const memory = new LiveDrainMemory();
    const asked: string[] = [];
    for (let round = 1; round <= 7; round++) {
      const [name = ''] = posted(decide({ candidates: three, budgets: closed, memory }));
      asked.push(name);
      const at = now - 1_000 + round;
      const attempt = { refusal: refusals.budget, at, notBefore: undefined, uncertain: false };
      memory.attempts.set(`uid-${name}`, attempt);
    }
    expect(asked).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'a']);
  });

  test('the interval doubles up to 10 minutes, and begins anew when the budget opened', () => {
    const memory = new LiveDrainMemory();
    const waits: number[] = [];
    for (let round = 0; round < 8; round++) {
      memory.postponeProbe(lane, 0, interval);
      waits.push((memory.lane(lane).probe?.nextAt ?? 0) / 1000);
    }
    expect(waits).toEqual([20, 40, 80, 160, 320, 600, 600, 600]);
    memory.budgetChanged(budget('web', { allowed: 0 }));
    expect(memory.lane(lane).probe).toBeDefined();
    memory.budgetChanged(budget('web', { allowed: 1 }));
    memory.postponeProbe(lane, 0, interval);
    expect(memory.lane(lane).probe?.nextAt).toBe(interval);
  });

  test('while the probe is on the wire nobody else asks, and all stay held up', () => {
    const memory = new LiveDrainMemory();
    memory.inFlight.add('uid-a');
    memory.lane(lane).busy = 'n1';
    const plan = decide({ candidates: three, budgets: closed, memory });
    expect(posted(plan)).toEqual([]);
    expect(Object.keys(causes(plan))).toEqual(['a', 'b', 'c']);
  });

  test('a stale budget is closed whatever it says, and is probed like one', () => {
    const stale = [budget('web', { allowed: 5, generation: 3, observedGeneration: 2 })];
    const plan = decide({ candidates: three, budgets: stale });
    expect(plan.posts.map((post) => post.probe)).toEqual([true]);
    expect(plan.obstacles.get('uid-b')?.message).toContain('is being processed');
  });

  test('other namespaces have lanes of their own', () => {
    const candidates = [candidate('a'), candidate('b', {}, { namespace: 'bank' })];
    const plan = planEvictions({
      nodeName: 'n1',
      age: '',
      candidates,
      budgetsOf: ({ metadata: { namespace = '' } }) => [budget('web', { namespace })],
      memory: new LiveDrainMemory(),
      now,
    });
    expect(plan.posts.map((post) => post.lane)).toEqual(['shop/web', 'bank/web']);
  });
});

describe('under several budgets', () => {
  const several = [budget('web', { allowed: 5 }), budget('all', { allowed: 5 })];

  test('one probe, and a sentence that names them', () => {
    const plan = decide({ candidates: three, budgets: several });
    expect(plan.posts.map((post) => [post.pod.metadata.name, post.lane, post.probe])).toEqual([
      ['a', 'shop/all shop/web', true],
    ]);
    expect(causes(plan)).toEqual({
      a: 'MultiplePodDisruptionBudgets',
      b: 'MultiplePodDisruptionBudgets',
      c: 'MultiplePodDisruptionBudgets',
    });
    expect(plan.obstacles.get('uid-a')?.message).toContain('shop/all, shop/web');
    expect([...plan.waitsFor].toSorted()).toEqual(['shop/all', 'shop/all shop/web', 'shop/web']);
  });

  test('the combination has its own interval', () => {
    const memory = new LiveDrainMemory();
    memory.postponeProbe('shop/all shop/web', now, interval);
    expect(posted(decide({ candidates: three, budgets: several, memory }))).toEqual([]);
  });
});

describe('what is not asked again', () => {
  test.each<[string, (memory: LiveDrainMemory) => void]>([
    ['accepted', (memory) => memory.accepted.add('uid-a')],
    ['on the wire', (memory) => memory.inFlight.add('uid-a')],
  ])('a pod whose eviction is %s', (_, prepare) => {
    const memory = new LiveDrainMemory();
    prepare(memory);
    for (const budgets of [
      [],
      [budget('web')],
      [budget('web', { allowed: 2 })],
      [budget('web'), budget('all')],
    ]) {
      const plan = decide({ candidates: [candidate('a', { mayBeDeleted: true })], budgets, memory });
      expect([...posted(plan), ...deleted(plan)]).toEqual([]);
    }
  });

  test.each([
    'network',
    'serverError',
    'admission',
    'throttled',
    'conflict',
    'forbidden',
    'invalid',
    'namespaceTerminating',
  ] as const)('before its time a pod that was refused by %s, even if it may be deleted', (kind) => {
    const memory = remember('a', kind, { notBefore: now + 1 });
    for (const budgets of [[], [budget('web')], [budget('web', { allowed: 2 })]]) {
      const plan = decide({ candidates: [candidate('a', { mayBeDeleted: true })], budgets, memory });
      expect([...posted(plan), ...deleted(plan)]).toEqual([]);
      expect(plan.wakeAt).toBe(now + 1);
      expect(plan.obstacles.size).toBe(1);
    }
    expect(posted(decide({ candidates: [candidate('a')], memory, now: now + 1 }))).toEqual(['a']);
  });

  test('a refusal is still an obstacle while the next try is on the wire', () => {
    const memory = remember('a', 'admission', { notBefore: now - 1 });
    memory.inFlight.add('uid-a');
    const plan = decide({ candidates: [candidate('a')], memory });
    expect(causes(plan)).toEqual({ a: 'AdmissionDenied' });
    expect(plan.wakeAt).toBeUndefined();
  });

  test('a webhook that refuses one pod does not hold up the others of its lane', () => {
    const memory = remember('a', 'admission', { notBefore: now + 5 });
    expect(posted(decide({ candidates: three, budgets: [budget('web', { allowed: 1 })], memory }))).toEqual([
      'b',
    ]);
    expect(posted(decide({ candidates: three, budgets: [budget('web')], memory }))).toEqual(['b']);
  });
});

test.each([
  ['network', true],
  ['serverError', true],
  ['admission', false],
] as const)('after %s the pod is read first: %p', (kind, uncertain) => {
  const memory = remember('a', kind, { notBefore: now, uncertain });
  for (const budgets of [[], [budget('web', { allowed: 1 })], [budget('web')]]) {
    expect(decide({ candidates: [candidate('a')], budgets, memory }).posts[0]?.readFirst).toBe(uncertain);
  }
});

describe('deletion', () => {
  const closed = [budget('web')];

  test('follows the refusal of that very pod by its budget, at once', () => {
    const plan = decide({ candidates: [doomed('a')], budgets: closed, memory: remember('a', 'budget') });
    expect(posted(plan)).toEqual([]);
    expect(plan.deletions[0]).toMatchObject({ gracePeriodSeconds: 9, retryIntervalMs: interval });
  });

  test('also of several budgets', () => {
    const memory = remember('a', 'multipleBudgets');
    expect(
      deleted(decide({ candidates: [doomed('a')], budgets: [...closed, budget('all')], memory })),
    ).toEqual(['a']);
  });

  test('a pod that has not been refused itself is asked about first, one at a time, whatever the interval', () => {
    const memory = remember('b', 'budget');
    memory.postponeProbe(lane, now, interval);
    const plan = decide({ candidates: ['a', 'b', 'c'].map(doomed), budgets: closed, memory });
    expect(posted(plan)).toEqual(['a']);
    expect(deleted(plan)).toEqual(['b']);
  });

  test.each([
    'admission',
    'network',
    'serverError',
    'conflict',
    'throttled',
    'forbidden',
    'invalid',
    'namespaceTerminating',
    'budgetStale',
  ] as const)('never follows %s as the last answer', (kind) => {
    const memory = remember('a', kind, kind === 'budgetStale' ? {} : { notBefore: now - 1 });
    expect(deleted(decide({ candidates: [doomed('a')], budgets: closed, memory }))).toEqual([]);
  });

  test('is for nobody whose budget is open, or who has none', () => {
    const memory = remember('a', 'budget');
    expect(
      deleted(decide({ candidates: [doomed('a')], budgets: [budget('web', { allowed: 1 })], memory })),
    ).toEqual([]);
    expect(deleted(decide({ candidates: [doomed('a')], memory }))).toEqual([]);
  });

  test('without leave a refused pod is not deleted', () => {
    expect(
      deleted(decide({ candidates: [candidate('a')], budgets: closed, memory: remember('a', 'budget') })),
    ).toEqual([]);
  });

  test('waits for the lane: its own refusal may be on the wire', () => {
    const memory = remember('a', 'budget');
    memory.lane(lane).busy = 'n2';
    expect(deleted(decide({ candidates: [doomed('a')], budgets: closed, memory }))).toEqual([]);
  });

  test('a budget that cannot be used yet is not asked in a tight loop, but again when it changed', () => {
    const memory = remember('a', 'budgetStale');
    memory.lane(lane).refusedVersion = '100';
    memory.postponeProbe(lane, now, interval);
    const plan = decide({ candidates: [doomed('a')], budgets: closed, memory });
    expect([...posted(plan), ...deleted(plan)]).toEqual([]);
    expect(plan.wakeAt).toBe(now + interval);
    expect(
      posted(decide({ candidates: [doomed('a')], budgets: closed, memory, now: now + interval })),
    ).toEqual(['a']);
    const changed = [budget('web', { resourceVersion: '101' })];
    expect(posted(decide({ candidates: [doomed('a')], budgets: changed, memory }))).toEqual(['a']);
  });
});

test('never more posts than the budget allows, less those it does not show; one probe at most; none for who is underway', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const uids = fc.subarray(names);
  fc.assert(
    fc.property(
      fc.record({
        allowed: fc.integer({ min: -1, max: 6 }),
        stale: fc.boolean(),
        unseen: fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 }),
        inFlight: uids,
        accepted: uids,
        refused: fc.dictionary(
          fc.constantFrom(...names),
          fc.constantFrom(...(Object.keys(refusals) as (keyof typeof refusals)[])),
        ),
        deletable: uids,
        busy: fc.boolean(),
        refusedHere: fc.boolean(),
      }),
      (given) => {
        const memory = new LiveDrainMemory();
        for (const name of given.unseen) memory.reserve(lane, pod(name), now - 1);
        for (const name of given.inFlight) memory.inFlight.add(`uid-${name}`);
        for (const name of given.accepted) memory.accepted.add(`uid-${name}`);
        for (const [name, kind] of Object.entries(given.refused)) {
          const notBefore = kind === 'budget' || kind === 'budgetStale' ? undefined : now + 5;
          memory.attempts.set(`uid-${name}`, {
            refusal: refusals[kind],
            at: now,
            notBefore,
            uncertain: false,
          });
        }
        if (given.busy) memory.lane(lane).busy = 'n2';
        if (given.refusedHere) memory.lane(lane).refusedVersion = '100';
        const { allowed } = given;
        const budgets = [
          budget('web', { allowed, healthy: 2, generation: 2, observedGeneration: given.stale ? 1 : 2 }),
        ];
        const candidates = names.map((name) =>
          candidate(name, { mayBeDeleted: given.deletable.includes(name) }),
        );
        const plan = decide({ candidates, budgets, memory });
        const underway = new Set([...given.inFlight, ...given.accepted]);
        const all = [...posted(plan), ...deleted(plan)];
        expect(new Set(all).size).toBe(all.length);
        for (const name of all) {
          expect(underway.has(name)).toBe(false);
          expect(memory.attempts.get(`uid-${name}`)?.notBefore ?? now).toBeLessThanOrEqual(now);
        }
        for (const name of deleted(plan)) {
          expect(given.deletable).toContain(name);
          expect(['budget', 'multipleBudgets']).toContain(given.refused[name]);
        }
        const isOpen = !given.stale && !given.refusedHere && allowed > 0;
        const counted = plan.posts.filter((post) => !post.probe);
        expect(counted.length).toBeLessThanOrEqual(
          isOpen ? Math.max(0, allowed - new Set(given.unseen).size) : 0,
        );
        expect(plan.posts.filter((post) => post.probe).length).toBeLessThanOrEqual(isOpen ? 0 : 1);
        if (given.busy) expect(all).toEqual([]);
      },
    ),
    { numRuns: propertyRuns(300) },
  );
});
