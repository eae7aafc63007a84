import { describe, expect, test } from '@jest/globals';
import type { MovingVolume } from '../../../src/api/types.generated.ts';
import { type Candidate, planEvictions } from '../../../src/drain/evictions.ts';
import { LiveDrainMemory } from '../../../src/drain/memory.ts';
import type { Pod, PodDisruptionBudget } from '../../../src/kube/types.ts';
import { type PaceInput, planAtPace } from '../../../src/volumes/lanes.ts';
import { beginMove } from '../../../src/volumes/moves.ts';
import { at, budget, noon, pod } from '../../fixtures/objects.ts';
import { volume } from '../../fixtures/volumes.ts';

interface Scene {
  readonly pods: readonly Pod[];
  readonly volumes?: Readonly<Record<string, readonly MovingVolume[]>>;
  readonly unknown?: Readonly<Record<string, string | undefined>>;
  /** Names of pods whose move is in status already. */
  readonly announced?: readonly string[];
  /** Names of pods that were asked to leave. */
  readonly asked?: readonly string[];
  readonly budgets?: readonly PodDisruptionBudget[];
  readonly input?: Partial<PaceInput>;
}

function paced({ pods, volumes = {}, unknown = {}, announced = [], asked = [], budgets = [], input }: Scene) {
  const memory = new LiveDrainMemory();
  const moves = pods
    .filter(({ metadata }) => announced.includes(metadata.name) || asked.includes(metadata.name))
    .map((each) => beginMove(each, volumes[each.metadata.name] ?? []));
  const uids = new Set(
    pods.filter(({ metadata }) => asked.includes(metadata.name)).map((p) => p.metadata.uid),
  );
  const plan = planAtPace({
    candidates: pods.filter(({ metadata }) => !uids.has(metadata.uid)).map(candidate),
    planEvictions: (candidates) =>
      planEvictions({
        nodeName: 'n1',
        age: '0',
        candidates,
        budgetsOf: (each) => budgets.filter(({ metadata }) => metadata.namespace === each.metadata.namespace),
        memory,
        now: 1_000_000,
      }),
    pods,
    volumesOf: ({ metadata: { name } }) =>
      Object.hasOwn(unknown, name)
        ? { kind: 'unknown', problem: unknown[name] }
        : { kind: 'known', volumes: volumes[name] ?? [] },
    moves,
    orphans: [],
    isAsked: (uid) => uids.has(uid),
    isAbandoned: () => false,
    maxConcurrent: 1,
    now: noon,
    ...input,
  });
  return {
    posts: plan.posts.map((post) => post.pod.metadata.name),
    moves: plan.moves.map((move) => move.pod.name),
    obstacles: Object.fromEntries([...plan.obstacles].map(([uid, { cause }]) => [uid, cause])),
  };
}

function candidate(of: Pod): Candidate {
  return {
    pod: of,
    gracePeriodSeconds: undefined,
    mayBeDeleted: false,
    retryIntervalMs: 20_000,
    heldUpBefore: false,
  };
}

function orphans(deadline: number, since?: number) {
  return { orphans: [{ driver: 'disk.example.com', persistentVolume: 'pv-old', since, deadline }] };
}

function obstaclesBehind(since: number | undefined, deadline = noon + 1) {
  return paced({ pods: [a], volumes: one, input: orphans(deadline, since) }).obstacles;
}

function planAtPaceWith(memory: LiveDrainMemory, scene: Scene) {
  return paced({
    ...scene,
    input: {
      planEvictions: (candidates) =>
        planEvictions({
          nodeName: 'n1',
          age: '0',
          candidates,
          budgetsOf: ({ metadata }) =>
            (scene.budgets ?? []).filter((each) => each.metadata.namespace === metadata.namespace),
          memory,
          now: 1_000_000,
        }),
    },
  });
}

const a = pod('a');
const b = pod('b');
const c = pod('c');
const one = { a: [volume('a')], b: [volume('b')] };

test('a pod without volumes does not wait for any', () => {
  expect(paced({ pods: [a, b, c], volumes: one, asked: ['a'] })).toMatchObject({
    posts: ['c'],
    moves: ['a'],
  });
});

test('the move is announced before the pod is asked', () => {
  expect(paced({ pods: [a, b], volumes: one })).toMatchObject({ posts: [], moves: ['a'] });
  expect(paced({ pods: [a, b], volumes: one, announced: ['a'] })).toMatchObject({
    posts: ['a'],
    moves: ['a'],
  });
});

test('highest priority first', () => {
  const high = { ...b, spec: { ...b.spec, priority: 5 } };
  expect(paced({ pods: [a, high], volumes: one }).moves).toEqual(['b']);
});

test('an announcement is kept although a pod of higher priority comes along', () => {
  const high = { ...b, spec: { ...b.spec, priority: 5 } };
  expect(paced({ pods: [a, high], volumes: one, announced: ['a'] }).posts).toEqual(['a']);
});

test('as many as maxConcurrent says', () => {
  const all = { ...one, c: [volume('c')] };
  expect(paced({ pods: [a, b, c], volumes: all, input: { maxConcurrent: 2 } }).moves).toEqual(['a', 'b']);
});

test('a pod on a silent node that nobody waits for takes no place', () => {
  const abandoned = { isAbandoned: (uid: string) => uid === 'uid-a' };
  expect(paced({ pods: [a, b], volumes: one, asked: ['a'], input: abandoned }).moves).toEqual(['a', 'b']);
});

test('each driver has a lane of its own; a pod with volumes of two drivers needs a place in both', () => {
  const other = { driver: 'other.example.com' };
  const volumes = { a: [volume('a')], b: [volume('b', other)], c: [volume('c'), volume('d', other)] };
  expect(paced({ pods: [a, b, c], volumes }).moves).toEqual(['a', 'b']);
  expect(paced({ pods: [b, c], volumes, asked: ['b'] }).moves).toEqual(['b']);
});

test('attachments that nobody accounts for take places until their time is over', () => {
  expect(paced({ pods: [a], volumes: one, input: orphans(noon + 1) }).moves).toEqual([]);
  expect(paced({ pods: [a], volumes: one, input: orphans(noon) }).moves).toEqual(['a']);
});

test('that such an attachment takes long is said by those who wait for it', () => {
  expect(obstaclesBehind(noon - 29_000)).toEqual({});
  expect(obstaclesBehind(noon - 30_000)).toEqual({ 'uid-a': 'VolumeDetach' });
  expect(obstaclesBehind(noon - 30_000, noon)).toEqual({});
  // It may yet be found that a pod here uses it.
  expect(obstaclesBehind(undefined)).toEqual({});
});

describe('budgets', () => {
  const closed = budget('db', { namespace: 'closed' });
  const refused = pod('a', { namespace: 'closed' });

  test('a pod that its budget holds up keeps no place, and the next one goes', () => {
    const memory = new LiveDrainMemory();
    memory.lane('closed/db').probe = { nextAt: 2_000_000, intervalMs: 20_000 };
    const scene = { pods: [refused, b], volumes: one, announced: ['a'], budgets: [closed] };
    const planned = planAtPaceWith(memory, scene);
    expect(planned).toMatchObject({ moves: ['b'], obstacles: { 'uid-a': 'PodDisruptionBudget' } });
  });

  test('what the budget allows is not taken up by a pod without a place', () => {
    const open = budget('web', { allowed: 1 });
    const scene = { pods: [a, b, c], volumes: one, asked: ['a'], budgets: [open] };
    expect(paced(scene)).toMatchObject({ posts: ['c'] });
  });
});

test('that a detach takes long is said by those who wait for it', () => {
  const left = pod('gone');
  const slow = (since: string, phase: 'Detaching' | 'Leaving' = 'Detaching') => ({
    moves: [{ ...beginMove(left, [volume('x')]), phase, since }],
  });
  const scene = { pods: [a, c], volumes: one };
  expect(paced({ ...scene, input: slow(at(-29)) }).obstacles).toEqual({});
  expect(paced({ ...scene, input: slow(at(-30)) }).obstacles).toEqual({ 'uid-a': 'VolumeDetach' });
  expect(paced({ ...scene, input: slow(at(-29), 'Leaving') }).obstacles).toEqual({});
  expect(paced({ ...scene, input: slow(at(-30), 'Leaving') }).obstacles).toEqual({ 'uid-a': 'VolumeDetach' });
});

test('a pod whose volumes are not known is not asked; a failed look is said', () => {
  expect(paced({ pods: [a, b], unknown: { a: undefined, b: 'forbidden' } })).toEqual({
    posts: [],
    moves: [],
    obstacles: { 'uid-b': 'ApiError' },
  });
});
