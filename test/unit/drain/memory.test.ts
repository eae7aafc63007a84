import { expect, test } from '@jest/globals';
import { budgetKey } from '../../../src/drain/budgets.ts';
import { type Claim, LiveDrainMemory } from '../../../src/drain/memory.ts';
import { budget, pod } from '../../fixtures/objects.ts';

const one = budget('one', { allowed: 0 });
const two = budget('two', { allowed: 0 });
const key = budgetKey(one);
const both = [key, budgetKey(two)].join(' ');
const nothing = new Map<string, Claim>();

function withClaim(): LiveDrainMemory {
  const memory = new LiveDrainMemory();
  memory.claim('n1', new Map([[key, { age: 'a', pods: 2 }]]));
  return memory;
}

test('a lane of which nothing is left to know is forgotten with the last claim', () => {
  const memory = withClaim();
  expect(memory.lanes).toBe(1);
  expect(memory.claim('n1', nothing)).toEqual([key]);
  expect(memory.lanes).toBe(0);
});

test.each<[string, (memory: LiveDrainMemory) => void]>([
  ['is busy', (memory) => (memory.lane(key).busy = 'n2')],
  ['has an eviction that no status shows yet', (memory) => memory.reserve(key, pod('web-1'), 0)],
  ['was refused at the present version', (memory) => (memory.lane(key).refusedVersion = '100')],
  ['waits for its next probe', (memory) => memory.postponeProbe(key, 0, 1000)],
  ['is claimed by another node', (memory) => memory.claim('n2', new Map([[key, { age: 'b', pods: 1 }]]))],
])('a lane that %s stays', (_, happens) => {
  const memory = withClaim();
  happens(memory);
  memory.claim('n1', nothing);
  expect(memory.lanes).toBe(1);
});

test('a refusal counts for the version that was refused, and is forgotten with it', () => {
  const memory = new LiveDrainMemory();
  memory.lane(key).refusedVersion = '100';
  memory.budgetChanged({ ...one, metadata: { ...one.metadata, resourceVersion: '100' } });
  expect(memory.lane(key).refusedVersion).toBe('100');
  memory.budgetChanged({ ...one, metadata: { ...one.metadata, resourceVersion: '101' } });
  expect(memory.lane(key).refusedVersion).toBeUndefined();
});

test('lanes of several budgets go with any of them', () => {
  const memory = new LiveDrainMemory();
  memory.postponeProbe(key, 0, 1000);
  memory.postponeProbe(both, 0, 1000);
  memory.budgetGone(two);
  expect(memory.lanes).toBe(1);
  expect(memory.lane(key).probe).toBeDefined();
});

test('when budgets are not watched any more, only what is on the wire is remembered', () => {
  const memory = new LiveDrainMemory();
  memory.postponeProbe(key, 0, 1000);
  memory.postponeProbe(both, 0, 1000);
  memory.lane(budgetKey(two)).busy = 'n1';
  memory.budgetsUnwatched();
  expect(memory.lanes).toBe(1);
  expect(memory.lane(budgetKey(two)).busy).toBe('n1');
});
