import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Candidate, planEvictions } from '../../../src/drain/evictions.ts';
import { LiveDrainMemory } from '../../../src/drain/memory.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { planAtPace } from '../../../src/volumes/lanes.ts';
import { type Move, type MovePhase, beginMove, isUnderway } from '../../../src/volumes/moves.ts';
import { budget, noon, pod } from '../../fixtures/objects.ts';
import { propertyRuns } from '../../fixtures/property-runs.ts';
import { volume } from '../../fixtures/volumes.ts';

// The pace, over random pods, budgets, and moves at all stages.

const drivers = ['fast', 'slow'];
const phases: readonly MovePhase[] = [
  'Leaving',
  'Detaching',
  'Attaching',
  'DetachTimedOut',
  'AttachTimedOut',
];

const member = fc.record({
  drivers: fc.subarray(drivers),
  app: fc.constantFrom('web', 'db', 'free'),
  ready: fc.boolean(),
  priority: fc.constantFrom(0, 10),
  state: fc.constantFrom('here', 'here', 'here', 'announced', 'asked', 'unknown', 'refused'),
});
const scene = fc.record({
  members: fc.array(member, { maxLength: 10 }),
  underway: fc.array(
    fc.record({ drivers: fc.subarray(drivers, { minLength: 1 }), phase: fc.constantFrom(...phases) }),
    {
      maxLength: 4,
    },
  ),
  orphans: fc.array(
    fc.record({
      driver: fc.constantFrom(...drivers),
      persistentVolume: fc.constant('pv-old'),
      since: fc.constantFrom(undefined, noon - 60_000, noon),
      deadline: fc.constantFrom(noon - 1, noon + 1),
    }),
    {
      maxLength: 2,
    },
  ),
  allowed: fc.record({ web: fc.nat(3), db: fc.nat(3) }),
  maxConcurrent: fc.integer({ min: 1, max: 3 }),
});
type Scene = typeof scene extends fc.Arbitrary<infer T> ? T : never;

function volumesOf(name: string, of: readonly string[]) {
  return of.map((driver) => volume(`${name}-${driver}`, { driver }));
}

function decide({ members, underway, orphans, allowed, maxConcurrent }: Scene) {
  const memory = new LiveDrainMemory();
  const all = members.map((each, index) => {
    const made = pod(`p${index}`, { labels: { app: each.app }, ready: each.ready, priority: each.priority });
    return { ...each, pod: made, uid: made.metadata.uid, volumes: volumesOf(`p${index}`, each.drivers) };
  });
  const byUid = new Map(all.map((each) => [each.uid, each]));
  for (const { state, uid } of all) {
    const refusal = { kind: 'serverError', code: 500, message: 'no' } as const;
    if (state === 'refused')
      memory.attempts.set(uid, { refusal, at: 0, notBefore: 2_000_000, uncertain: true });
    if (state === 'asked') memory.accepted.add(uid);
  }
  const gone = underway.map(
    ({ drivers: of, phase }, index): Move => ({
      ...beginMove(pod(`g${index}`), volumesOf(`g${index}`, of)),
      phase,
    }),
  );
  const known = all.filter(
    ({ state, volumes }) => ['announced', 'asked'].includes(state) && volumes.length > 0,
  );
  const moves = [...gone, ...known.map((each) => beginMove(each.pod, each.volumes))];
  const budgets = (['web', 'db'] as const).map((app) => ({
    app,
    made: budget(app, { allowed: allowed[app] }),
  }));
  const candidates = all.map(
    (each): Candidate => ({
      pod: each.pod,
      gracePeriodSeconds: undefined,
      mayBeDeleted: false,
      retryIntervalMs: 20_000,
      heldUpBefore: false,
    }),
  );
  const evict = (those: readonly Candidate[]) =>
    planEvictions({
      nodeName: 'n1',
      age: '0',
      candidates: those,
      budgetsOf: ({ metadata }: Pod) =>
        budgets.filter(({ app }) => metadata.labels?.['app'] === app).map(({ made }) => made),
      memory,
      now: 1_000_000,
    });
  const isAsked = (uid: string) => memory.accepted.has(uid);
  const plan = planAtPace({
    candidates,
    planEvictions: evict,
    pods: all.map((each) => each.pod),
    volumesOf: ({ metadata }) => {
      const found = byUid.get(metadata.uid);
      if (found?.state === 'unknown') return { kind: 'unknown', problem: undefined };
      return { kind: 'known', volumes: found?.volumes ?? [] };
    },
    moves,
    orphans,
    isAsked,
    isAbandoned: () => false,
    maxConcurrent,
    now: noon,
  });
  const lasting = moves.filter((move) => gone.includes(move) || isAsked(move.pod.uid));
  /** What takes places of the driver and was there before this plan. */
  const taken = (driver: string) =>
    lasting.filter((move) => isUnderway(move) && move.volumes.some((each) => each.driver === driver)).length +
    orphans.filter((each) => each.driver === driver && each.deadline > noon).length;
  const lastingUids = new Set(lasting.map((move) => move.pod.uid));
  const begun = plan.moves.filter((move) => !lastingUids.has(move.pod.uid));
  const begunOf = (driver: string) =>
    begun.filter((move) => move.volumes.some((each) => each.driver === driver)).length;
  return { plan, moves, lasting, taken, begun, begunOf, all, byUid, candidates, evict };
}

test('no driver has more than maxConcurrent pods on the move by what the plan begins', () => {
  const property = fc.property(scene, (given) => {
    const { taken, begunOf } = decide(given);
    for (const driver of drivers) {
      const places = Math.max(0, given.maxConcurrent - taken(driver));
      expect(begunOf(driver)).toBeLessThanOrEqual(places);
    }
  });
  fc.assert(property, { numRuns: propertyRuns(1000) });
});

test('a pod with volumes is asked to leave only when status has its move, and no move that lasts is dropped', () => {
  const property = fc.property(scene, (given) => {
    const { plan, moves, lasting, byUid } = decide(given);
    const before = new Set(moves.map((move) => move.pod.uid));
    const after = new Set(plan.moves.map((move) => move.pod.uid));
    for (const { pod: posted } of plan.posts) {
      const { uid } = posted.metadata;
      expect(byUid.get(uid)?.state).not.toBe('unknown');
      if ((byUid.get(uid)?.volumes ?? []).length > 0)
        expect([before.has(uid), after.has(uid)]).toEqual([true, true]);
    }
    expect(lasting.filter((move) => !after.has(move.pod.uid))).toEqual([]);
  });
  fc.assert(property, { numRuns: propertyRuns(1000) });
});

// An announced pod that is allowed to leave only because others found no place takes the place of none who have one.
const lateAnnouncement: Scene = {
  members: [
    { drivers: ['fast', 'slow'], app: 'web', ready: false, priority: 0, state: 'here' },
    { drivers: ['slow'], app: 'web', ready: true, priority: 0, state: 'here' },
    { drivers: ['slow'], app: 'web', ready: false, priority: 0, state: 'here' },
    { drivers: ['slow'], app: 'web', ready: true, priority: 0, state: 'here' },
    { drivers: ['fast', 'slow'], app: 'web', ready: false, priority: 0, state: 'asked' },
    { drivers: ['fast'], app: 'web', ready: true, priority: 0, state: 'announced' },
  ],
  underway: [],
  orphans: [{ driver: 'fast', persistentVolume: 'pv-old', since: undefined, deadline: noon + 1 }],
  allowed: { web: 2, db: 0 },
  maxConcurrent: 3,
};

test('no place stays free that a pod could take, and pods without volumes do not wait', () => {
  const property = fc.property(scene, (given) => {
    const { plan, taken, begun, begunOf, all, candidates, evict } = decide(given);
    const isFree = (driver: string) => taken(driver) + begunOf(driver) < given.maxConcurrent;
    const chosen = new Set([
      ...begun.map((move) => move.pod.uid),
      ...plan.posts.map((each) => each.pod.metadata.uid),
    ]);
    // What budgets allow is taken by those who go; whoever could go beside them has no reason to wait.
    const going = candidates.filter((each) => chosen.has(each.pod.metadata.uid));
    for (const each of all) {
      if (chosen.has(each.uid) || each.state === 'unknown' || !each.drivers.every(isFree)) continue;
      const own = candidates.filter((candidate) => candidate.pod.metadata.uid === each.uid);
      const others = evict(going).posts.length;
      expect([each.uid, evict([...going, ...own]).posts.length > others]).toEqual([each.uid, false]);
    }
  });
  fc.assert(property, { numRuns: propertyRuns(1000), examples: [[lateAnnouncement]] });
});
