import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { beginning } from '../../fixtures/world-beginnings.ts';
import { type Happening, edit, happening, wish } from '../../fixtures/world-happenings.ts';
import { drainAll, endObstacles, live, persistent, restoreAll } from '../../fixtures/world-lives.ts';
import { propertyRuns } from '../../fixtures/property-runs.ts';

beforeEach(() => {
  // The jitter of the queue: with it, a seed would not give the same run again.
  jest.spyOn(Math, 'random').mockReturnValue(0.5);
});
afterEach(() => {
  jest.restoreAllMocks();
});

const bounds = { numRuns: propertyRuns(100) };
const longSteps = { maxLength: 40, size: 'max' } as const;

test('whatever happens, nothing is done that nobody asked for, all drains in the end, and every node is put back', async () => {
  const steps = fc.array(happening, longSteps);
  const property = fc.asyncProperty(beginning, steps, async (first, rest) => {
    const stage = await live(first, rest);
    for (const { metadata } of stage.world.all('maintenances')) {
      const drain = { unmanagedPods: 'Evict', emptyDirPods: 'Evict' } as const;
      edit(stage, metadata.name, { nodeDrainPolicy: 'Evacuate', nodeDeleteTimeoutSeconds: 30, drain });
    }
    await endObstacles(stage);
    await drainAll(stage);
    await restoreAll(stage);
    expect(stage.errors).toEqual([]);
    await stage.stop();
  });
  await fc.assert(property, bounds);
});

test('what was held up goes on by itself when the obstacle ends: nobody has to touch the maintenance', async () => {
  const wishes = fc.array(wish.map(persistent), { minLength: 1, maxLength: 3 });
  const steps = fc.array(happening.filter(isNoWish), longSteps);
  const property = fc.asyncProperty(beginning, wishes, steps, async (first, lasting, rest) => {
    const stage = await live({ ...first, wishes: lasting }, rest);
    await endObstacles(stage);
    await drainAll(stage);
    await restoreAll(stage);
    expect(stage.errors).toEqual([]);
    await stage.stop();
  });
  await fc.assert(property, bounds);
});

function isNoWish(step: Happening): boolean {
  return step.is !== 'create' && step.is !== 'edit' && step.is !== 'end';
}
