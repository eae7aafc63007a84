import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { evacuateFinalizer } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/types.generated.ts';
import { node } from '../../fixtures/objects.ts';
import { type OperatedWorld, nodeLooks } from '../../fixtures/operated-world.ts';
import { type Beginning, beginning, setUp } from '../../fixtures/world-beginnings.ts';
import {
  type Happening,
  type Wish,
  edit,
  happen,
  happening,
  setBudget,
  wish,
} from '../../fixtures/world-happenings.ts';
import { keyOf } from '../../fixtures/world-objects.ts';

beforeEach(() => {
  // The jitter of the queue: with it, a seed would not give the same run again.
  jest.spyOn(Math, 'random').mockReturnValue(0.5);
});
afterEach(() => {
  jest.restoreAllMocks();
});

const minute = 60_000;
const nodeNames = ['n1', 'n2'];
// The same runs each time, so that nobody's change fails for somebody else's luck; WORLD_RUNS=5000 goes on a search.
const runs = process.env['WORLD_RUNS'];
const bounds = runs === undefined ? { numRuns: 100, seed: 20_260_101 } : { numRuns: Number(runs) };
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
}, 300_000);

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
}, 300_000);

/** A wish that never gives up and spares nobody. */
function persistent({ spec: { drain = {}, ...spec }, ...rest }: Wish): Wish {
  const { timeoutSeconds: _, onTimeout: __, podSelector: ___, unsatisfiableBudgets, ...lasting } = drain;
  const policies = { unmanagedPods: 'Evict', emptyDirPods: 'Evict' } as const;
  const budgets = unsatisfiableBudgets === 'Delete' ? ({ unsatisfiableBudgets } as const) : {};
  return {
    ...rest,
    spec: {
      ...spec,
      nodeDrainPolicy: 'Evacuate',
      suspend: false,
      drain: { ...lasting, ...policies, ...budgets },
    },
  };
}

function isNoWish(step: Happening): boolean {
  return step.is !== 'create' && step.is !== 'edit' && step.is !== 'end';
}

async function live(first: Beginning, steps: readonly Happening[]): Promise<OperatedWorld> {
  const stage = setUp(first);
  await stage.clock.advance(200);
  await stage.start();
  for (const each of first.wishes) await happen(stage, { is: 'create', ...each });
  for (const step of steps) await happen(stage, step);
  return stage;
}

/** The nodes live and can be heard, and budgets allow everything. */
async function endObstacles(stage: OperatedWorld): Promise<void> {
  const { world, client } = stage;
  client.faults.length = 0;
  client.lagMs = 5;
  for (const { metadata } of world.all('budgets')) setBudget(stage, metadata.name, undefined);
  for (const pod of world.all('pods')) if (pod.metadata.finalizers) world.removeFinalizers(keyOf(pod));
  for (const name of nodeNames) await happen(stage, { is: 'alive', node: name });
  // A node whose deletion was held up goes, and comes back as a new one.
  await stage.clock.advance(2 * minute);
  for (const name of nodeNames) if (!stage.node(name)) stage.addNode(node({}, name));
}

/** Every maintenance gets Ready: those of one node at the same time, the nodes one after another if need be. */
async function drainAll(stage: OperatedWorld): Promise<void> {
  for (let turn = 0; turn < nodeNames.length; turn++) {
    // As long as the longest back-off may take.
    await stage.clock.advance(25 * minute);
    const ready = nodeNames.find(
      (name) => stage.maintenancesOf(name).length > 0 && stage.maintenancesOf(name).every(isReady),
    );
    const waiting = stage.world.all('maintenances').some((each) => !isReady(each));
    if (ready === undefined || !waiting) break;
    for (const { metadata } of stage.maintenancesOf(ready)) stage.world.delete('maintenances', metadata.name);
  }
  expect(
    stage.world
      .all('maintenances')
      .filter((each) => !isReady(each))
      .map(show),
  ).toEqual([]);
}

async function restoreAll(stage: OperatedWorld): Promise<void> {
  for (const { metadata } of stage.world.all('maintenances'))
    stage.world.delete('maintenances', metadata.name);
  await stage.clock.advance(2 * minute);
  expect(stage.world.all('maintenances').map(show)).toEqual([]);
  for (const [name, baseline] of stage.baselines) {
    const found = stage.node(name);
    expect(found && nodeLooks(found)).toEqual(nodeLooks(baseline));
    expect(found?.status?.conditions?.map(({ type }) => type)).toEqual(['Ready']);
    expect(found?.metadata.finalizers ?? []).not.toContain(evacuateFinalizer);
  }
}

function isReady({ metadata, status }: NodeMaintenance): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' && status?.observedGeneration === metadata.generation;
}

function show({ metadata, spec: { nodeName }, status }: NodeMaintenance): unknown {
  const { name, finalizers, deletionTimestamp } = metadata;
  const says = status?.conditions?.map(({ type, reason, message }) => `${type} ${reason} ${message}`);
  return { name, nodeName, finalizers, deletionTimestamp, says };
}
