/** Unsatisfiable budgets in a simulated cluster: when pods leave, and when they do not. */
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { OperatedWorld } from '../../fixtures/operated-world.ts';
import { setUp } from '../../fixtures/world-beginnings.ts';
import { happen, setBudget } from '../../fixtures/world-happenings.ts';

beforeEach(() => {
  jest.spyOn(Math, 'random').mockReturnValue(0.5);
});
afterEach(() => {
  jest.restoreAllMocks();
});

const second = 1_000;

/** One pod on node n1, and a budget that wants it. */
async function live(unsatisfiableBudgets: 'Wait' | 'Fail' | 'Delete'): Promise<OperatedWorld> {
  const pods = [{ kind: 'web', node: 'n1', stopMs: 300 }];
  const stage = setUp({ pods, wishes: [], cordoned: false, likeOurs: false, web: 1, limit: 1 });
  await stage.clock.advance(200);
  await stage.start();
  const spec = { nodeDrainPolicy: 'Evacuate', drain: { unsatisfiableBudgets } } as const;
  await happen(stage, { is: 'create', name: 'm1', node: 'n1', spec });
  await stage.clock.advance(55 * second);
  expect(causes(stage)).toEqual(['PodDisruptionBudget']);
  return stage;
}

function status({ world }: OperatedWorld) {
  return world.all('maintenances')[0]?.status;
}

function causes(stage: OperatedWorld): readonly string[] {
  return (status(stage)?.blockers ?? []).map(({ cause }) => cause);
}

test('Delete: a minute after the budget was seen, and not before', async () => {
  const stage = await live('Delete');
  expect(stage.world.accepted.size).toBe(0);
  await stage.clock.advance(10 * second);
  expect([...stage.world.accepted.values()]).toEqual(['deletion']);
  expect(status(stage)?.conditions?.find(({ type }) => type === 'Drained')?.status).toBe('True');
  await stage.stop();
});

test('Fail: a minute after the budget was seen', async () => {
  const stage = await live('Fail');
  await stage.clock.advance(10 * second);
  expect(status(stage)?.phase).toBe('Failed');
  expect(causes(stage)).toEqual(['UnsatisfiablePodDisruptionBudget']);
  expect(stage.world.accepted.size).toBe(0);
  await stage.stop();
});

test('Wait: named for as long as it lasts, and evicted when the budget is relaxed', async () => {
  const stage = await live('Wait');
  await stage.clock.advance(10 * second);
  expect(causes(stage)).toEqual(['UnsatisfiablePodDisruptionBudget']);
  setBudget(stage, 'web', 0);
  await stage.clock.advance(5 * second);
  expect([...stage.world.accepted.values()]).toEqual(['eviction']);
  await stage.stop();
});

test('a new leader gives the budget another minute', async () => {
  const stage = await live('Delete');
  await happen(stage, { is: 'kill' });
  await stage.clock.advance(55 * second);
  expect(stage.world.accepted.size).toBe(0);
  await stage.clock.advance(10 * second);
  expect([...stage.world.accepted.values()]).toEqual(['deletion']);
  await stage.stop();
});
