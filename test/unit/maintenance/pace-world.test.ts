import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { Beginning } from '../../fixtures/world-beginnings.ts';
import type { Happening } from '../../fixtures/world-happenings.ts';
import { drainAll, live } from '../../fixtures/world-lives.ts';

beforeEach(() => {
  jest.spyOn(Math, 'random').mockReturnValue(0.5);
});
afterEach(() => {
  jest.restoreAllMocks();
});

const threeDisks: Beginning = {
  pods: [],
  sets: [0, 1, 2].map(() => ({ name: 'disk', node: 'n1', stopMs: 300 })),
  storage: { unmountMs: 300, detachMs: 100, attachMs: 100, eager: false },
  wishes: [{ name: 'm1', node: 'n1', spec: { nodeDrainPolicy: 'Evacuate' } }],
  cordoned: false,
  likeOurs: false,
  web: undefined,
  limit: 1,
};

test('a pod whose eviction may have been accepted keeps its place until that is known', async () => {
  const lost: Happening = { is: 'fault', on: 'EVICT', fault: 'lostAnswer' };
  // The world throws when a second pod is asked to leave while the first one is on the move.
  const stage = await live(threeDisks, [
    { is: 'budget', app: 'db', needs: 3 },
    { is: 'time', ms: 30_000 },
    { is: 'lag', ms: 2500 },
    lost,
    { is: 'budget', app: 'db', needs: undefined },
  ]);
  await stage.clock.advance(60_000);
  await drainAll(stage);
  expect(stage.errors).toEqual([]);
  await stage.stop();
});

test('the next pod waits until the volume of the one before is attached elsewhere', async () => {
  const slow = { ...threeDisks, storage: { unmountMs: 300, detachMs: 100, attachMs: 2000, eager: false } };
  const stage = await live(slow, [
    { is: 'budget', app: 'db', needs: 3 },
    { is: 'time', ms: 30_000 },
    { is: 'budget', app: 'db', needs: undefined },
  ]);
  await stage.clock.advance(60_000);
  await drainAll(stage);
  expect(stage.world.accepted.size).toBe(3);
  expect(stage.errors).toEqual([]);
  await stage.stop();
});
