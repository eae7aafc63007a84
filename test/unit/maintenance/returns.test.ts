import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../../src/kube/types.ts';
import { Memory } from '../../../src/maintenance/memory.ts';
import { type Lineage, afterEviction, lineageOf } from '../../../src/maintenance/returns.ts';
import { type PodOptions, at, maintenance, node, pod } from '../../fixtures/objects.ts';
import { OperatedWorld } from '../../fixtures/operated-world.ts';
import { Stage } from '../../fixtures/stage.ts';
import { clingy } from '../../fixtures/world-controllers.ts';

function born(name: string, seconds: number, options: PodOptions = {}): Pod {
  const made = pod(name, options);
  return { ...made, metadata: { ...made.metadata, creationTimestamp: at(seconds) } };
}

const cordoned = {
  type: 'Cordoned',
  status: 'True' as const,
  reason: 'Cordoned',
  message: '',
  lastTransitionTime: at(0),
};
const held = [maintenance({}, { status: { conditions: [cordoned] } })];

/** The lineage after evictions one after another, each with the pods that were there. */
function after(...evictions: readonly (readonly [Pod, ...Pod[]])[]): Lineage | undefined {
  let lineage: Lineage | undefined;
  for (const present of evictions) lineage = afterEviction(lineage, present[0], present, held);
  return lineage;
}

describe('whose place a pod takes', () => {
  const statefulSet = { kind: 'StatefulSet', name: 'db', uid: 'uid-db' };

  test.each<[string, Pod, Pod, boolean]>([
    ['of one ReplicaSet: the same', pod('a'), pod('b'), true],
    ['of two ReplicaSets: not', pod('a'), pod('b', { owner: { uid: 'uid-other' } }), false],
    ['in two namespaces: not', pod('a'), pod('b', { namespace: 'bank' }), false],
    [
      'of one StatefulSet, another name: not',
      pod('db-0', { owner: statefulSet }),
      pod('db-1', { owner: statefulSet }),
      false,
    ],
    [
      'of one StatefulSet, the same name',
      pod('db-0', { owner: statefulSet }),
      pod('db-0', { owner: statefulSet, uid: 'x' }),
      true,
    ],
  ])('%s', (_, a, b, same) => {
    expect(lineageOf(a) === lineageOf(b)).toBe(same);
  });

  test('nobody takes the place of a pod without a controller', () => {
    expect(lineageOf(pod('bare', { owner: undefined }))).toBeUndefined();
  });
});

describe('evictions that count', () => {
  const first = born('a', -100);

  test('one pod after the other', () => {
    expect(after([first], [born('b', 1)], [born('c', 2)])?.evictions).toBe(3);
  });

  test('replicas that were there together count once', () => {
    const others = [born('b', -100), born('c', -100)] as const;
    expect(after([first, ...others], [others[0], others[1]], [others[1]])?.evictions).toBe(1);
  });

  test('one that the watch shows late, and that was there before the cordon, is no return', () => {
    expect(after([first], [born('b', -1)], [born('c', -1)])?.evictions).toBe(1);
  });
});

test('a pod that came before the answer to the eviction of the one before has returned all the same', () => {
  const memory = new Memory();
  for (const [index, name] of ['a', 'b', 'c'].entries()) {
    const evicted = born(name, index);
    memory.asked('n1', [evicted], [evicted]);
    memory.evicted(evicted, held);
  }
  expect([...memory.of('n1').lineages.values()].map(({ evictions }) => evictions)).toEqual([3]);
  expect(memory.of('n1').siblings.size).toBe(0);
});

test('pods that are asked together return together', () => {
  const memory = new Memory();
  const both = [born('a', -100), born('b', -100)];
  memory.asked('n1', both, both);
  for (const each of both) memory.evicted(each, held);
  expect([...memory.of('n1').lineages.values()].map(({ evictions }) => evictions)).toEqual([1]);
});

/** Evicted three times before, and `returned` is what came. */
function returnedOn(returned: Pod): Stage {
  const made = new Stage().create({ drain: { timeoutSeconds: 600 } });
  made.pods = [];
  made.settle();
  made.seconds = 10;
  made.pods = [returned];
  const lineage: Lineage = { evictions: 3, contemporaries: new Set(['uid-third']) };
  made.notes = { ...made.notes, lineages: new Map([[lineageOf(returned) ?? '', lineage]]) };
  return made;
}

describe('a pod that came back after three evictions', () => {
  test('is reported and not waited for', () => {
    const made = returnedOn(born('fourth', 5));
    expect(made.settle().posts).toEqual([]);
    expect(made.words()).toMatchObject({
      phase: 'UnderMaintenance',
      Ready: 'True/Drained',
      Drained: 'True/Drained',
      DrainBlocked: 'True/ReturnsAfterEviction',
    });
    const { blockers = [], conditions = [], drain } = made.status();
    expect(blockers).toMatchObject([{ pod: { name: 'fourth' }, cause: 'ReturnsAfterEviction' }]);
    expect(blockers[0]?.message).toContain('ReplicaSet web put another one on this node');
    expect(blockers[0]?.message).toContain('spec.nodeName');
    expect(blockers[0]).not.toHaveProperty('nextStep');
    expect(drain?.pods).toMatchObject({ remaining: 0, ignored: 1 });
    for (const type of ['Ready', 'Drained'])
      expect(conditions.find((each) => each.type === type)?.message).toContain('shop/fourth');
  });

  test('stays reported after a restart', () => {
    const made = returnedOn(born('fourth', 5));
    made.settle();
    made.pods = made.restart();
    expect(made.settle().posts).toEqual([]);
    expect(made.said('Drained')).toBe('True/Drained');
  });

  test.each<[string, Pod]>([
    ['the pod of the third eviction', born('third', 5)],
    ['one that was there before the cordon', born('old', -60)],
    ['one of somebody else', born('other', 5, { owner: { uid: 'uid-new' } })],
  ])('%s is not meant', (_, other) => {
    const made = returnedOn(born('fourth', 5));
    made.pods = [other];
    made.settle();
    expect(made.said('Drained')).toBe('False/PodsRemaining');
  });
});

test('in a cluster: three evictions, and no more when the process starts again', async () => {
  const stage = new OperatedWorld(1);
  stage.addNode(node());
  const template = pod('clingy-0', { owner: { kind: 'ReplicaSet', name: clingy, uid: 'uid-clingy' } });
  stage.world.controllers.addPod(template, 300, clingy);
  await stage.clock.advance(200);
  await stage.start();
  const createdAt = new Date(stage.clock.now()).toISOString();
  stage.world.put('maintenances', maintenance({}, { finalizers: [], createdAt }));
  await stage.clock.advance(30_000);
  expect(stage.world.accepted.size).toBe(3);
  const conditions = () => stage.world.get('maintenances', 'm1')?.status?.conditions ?? [];
  const said = (type: string) => conditions().find((each) => each.type === type);
  expect(said('Drained')).toMatchObject({ status: 'True', reason: 'Drained' });
  expect(said('DrainBlocked')).toMatchObject({ status: 'True', reason: 'ReturnsAfterEviction' });

  await stage.stop();
  await stage.start();
  await stage.clock.advance(30_000);
  expect(stage.world.accepted.size).toBe(3);
  expect(said('Drained')).toMatchObject({ status: 'True', reason: 'Drained' });
  expect(stage.errors).toEqual([]);
  await stage.stop();
});
