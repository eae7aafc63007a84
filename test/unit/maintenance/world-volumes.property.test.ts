import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { withDefaults } from '../../../src/api/defaults.ts';
import type { OperatedWorld } from '../../fixtures/operated-world.ts';
import { type Beginning, beginning, movingSets } from '../../fixtures/world-beginnings.ts';
import { type Happening, type Wish, happening, wish } from '../../fixtures/world-happenings.ts';
import { drainAll, endObstacles, live, persistent, restoreAll } from '../../fixtures/world-lives.ts';
import { trouble } from '../../fixtures/world-troubles.ts';
import { propertyRuns } from '../../fixtures/property-runs.ts';

// Nodes whose pods have volumes, and little else that would hide what happens to those.

beforeEach(() => {
  // The jitter of the queue: with it, a seed would not give the same run again.
  jest.spyOn(Math, 'random').mockReturnValue(0.5);
});
afterEach(() => {
  jest.restoreAllMocks();
});

const bounds = { numRuns: propertyRuns(60) };

const wishes = fc.array(wish.map(persistent).map(onFirstNode), { minLength: 1, maxLength: 2 });
const moving: fc.Arbitrary<Beginning> = fc
  .record({ first: beginning, sets: movingSets, wishes })
  .map(({ first, ...changes }) => ({ ...first, pods: [], cordoned: false, ...changes }));
const calm = new Set(['time', 'storage', 'scale', 'deletePod', 'kill', 'restart', 'lag', 'budget', 'fault']);

test('pods with volumes leave at their pace, whatever hangs or gets lost, and their volumes follow', async () => {
  const steps = fc.array(happening.filter(isAboutVolumes).map(ofEvictions), { maxLength: 30, size: 'max' });
  const property = fc.asyncProperty(moving, steps, async (first, rest) => {
    const stage = await live(first, rest);
    await endObstacles(stage);
    await drainAll(stage);
    expect(stage.maintenancesOf('n1').map(({ status }) => detached(status))).toEqual(
      stage.maintenancesOf('n1').map(() => 'Detached'),
    );
    await restoreAll(stage);
    expect(stage.errors).toEqual([]);
    await stage.stop();
  });
  await fc.assert(property, bounds);
});

test('a detach that hangs for ever makes a drain slower, and does not stop it', async () => {
  const driver = fc.constantFrom('fast.csi', 'slow.csi');
  const attachHangs = fc.boolean();
  const property = fc.asyncProperty(moving, driver, attachHangs, async (first, hanging, both) => {
    const stage = await live(first, []);
    trouble(stage, hanging, 'detachHangs');
    if (both) trouble(stage, hanging, 'attachHangs');
    await stage.clock.advance(longestDrain(stage, first.sets?.length ?? 0));
    const ready = stage
      .maintenancesOf('n1')
      .map(({ status }) => status?.conditions?.find(({ type }) => type === 'Ready'));
    expect(ready.filter((condition) => condition?.status !== 'True')).toEqual([]);
    expect(stage.errors).toEqual([]);
    await stage.stop();
  });
  await fc.assert(property, bounds);
});

/** One pod after the other, each of them as long as it may take. */
function longestDrain(stage: OperatedWorld, pods: number): number {
  const paces = stage.maintenancesOf('n1').map(({ spec }) => withDefaults(spec).drain.volumes);
  const detach = Math.max(...paces.map(({ detachTimeoutSeconds }) => detachTimeoutSeconds));
  const reattach = Math.max(...paces.map(({ reattachTimeoutSeconds }) => reattachTimeoutSeconds));
  const gracePeriodSeconds = 30;
  return pods * (gracePeriodSeconds + detach + reattach + 5) * 1000 + 10_000;
}

function onFirstNode(each: Wish): Wish {
  return { ...each, node: 'n1' };
}

function isAboutVolumes(step: Happening): boolean {
  return calm.has(step.is);
}

/** Lost evictions are what the pace could suffer from; other faults are tried elsewhere. */
function ofEvictions(step: Happening): Happening {
  return step.is === 'fault' ? { ...step, on: 'EVICT' } : step;
}

function detached(status: ReturnType<OperatedWorld['maintenancesOf']>[number]['status']): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'VolumesDetached')?.reason;
}
