import { describe, expect, test } from '@jest/globals';
import { type Candidate, type EvictionPlan, planEvictions } from '../../../src/drain/evictions.ts';
import { type Claim, LiveDrainMemory } from '../../../src/drain/memory.ts';
import type { Refusal } from '../../../src/kube/answer.ts';
import { type BudgetOptions, type PodOptions, budget, pod } from '../../fixtures/objects.ts';

const lane = 'shop/web';
const now = 1_000_000;

function candidate(name: string, options: PodOptions = {}): Candidate {
  return {
    pod: pod(name, options),
    gracePeriodSeconds: undefined,
    mayBeDeleted: false,
    retryIntervalMs: 20_000,
    heldUpBefore: false,
  };
}

/** The plan of a node, which the memory takes note of. */
function planFor(
  nodeName: string,
  age: string,
  candidates: readonly Candidate[],
  options: BudgetOptions,
  memory = new LiveDrainMemory(),
): EvictionPlan {
  const web = budget('web', options);
  const plan = planEvictions({ nodeName, age, candidates, budgetsOf: () => [web], memory, now });
  memory.claim(nodeName, plan.claims);
  return plan;
}

const posted = ({ posts }: EvictionPlan) => posts.map((post) => post.pod.metadata.name);

describe('among the pods of a node', () => {
  const mixed = [candidate('a'), candidate('b', { ready: false }), candidate('c')];

  test('those that are not ready are asked first', () => {
    // A budget that needs nobody lets no pod pass for not being ready: all are counted.
    expect(posted(planFor('n1', '1', mixed, { allowed: 2, needs: 0 }))).toEqual(['b', 'a']);
  });

  test('one that is not ready is the first probe of a closed budget', () => {
    expect(posted(planFor('n1', '1', mixed, { allowed: 0, needs: 2, healthy: 1 }))).toEqual(['b']);
  });
});

describe('between nodes', () => {
  const two = [candidate('a'), candidate('b')];
  const others = [candidate('x'), candidate('y')];

  /** After the older node n2 has planned with a closed budget. */
  function waiting(age = '1'): LiveDrainMemory {
    const memory = new LiveDrainMemory();
    planFor('n2', age, others, {}, memory);
    memory.lane(lane).probe = undefined;
    return memory;
  }

  test.each<[number, readonly string[]]>([
    [1, []],
    [2, []],
    [3, ['a']],
    [4, ['a', 'b']],
  ])('with %d allowed, the younger one leaves two to the older one', (allowed, expected) => {
    const plan = planFor('n1', '2', two, { allowed }, waiting());
    expect(posted(plan)).toEqual(expected);
    // It waits for the same events as the older one.
    expect([...plan.waitsFor]).toEqual([lane]);
  });

  test('the younger one leaves the probe of a closed budget to the older one', () => {
    const memory = waiting();
    expect(posted(planFor('n1', '2', two, {}, memory))).toEqual([]);
    expect(posted(planFor('n2', '1', others, {}, memory))).toEqual(['x']);
  });

  test('the younger one has its pod refused nevertheless where it may be deleted then', () => {
    const doomed = two.map((each) => ({ ...each, mayBeDeleted: true }));
    expect(posted(planFor('n1', '2', doomed, {}, waiting()))).toEqual(['a']);
  });

  test('the older one leaves nothing to the younger one', () => {
    expect(posted(planFor('n1', '1', two, { allowed: 1 }, waiting('2')))).toEqual(['a']);
  });

  test('what the older one posts is not claimed twice', () => {
    const memory = waiting();
    const plan = planFor('n2', '1', others, { allowed: 1 }, memory);
    expect(posted(plan)).toEqual(['x']);
    expect([...plan.claims]).toEqual([[lane, { age: '1', pods: 1 }]]);
  });

  test('an older one that cannot post its pods now is not waited for', () => {
    const memory = waiting();
    const refusal: Refusal = { kind: 'admission', message: 'not now' };
    const attempt = { refusal, at: now, notBefore: now + 20_000, uncertain: false };
    for (const { pod: each } of others) memory.attempts.set(each.metadata.uid, attempt);
    planFor('n2', '1', others, { allowed: 1 }, memory);
    expect(posted(planFor('n1', '2', two, { allowed: 1 }, memory))).toEqual(['a']);
  });

  test('nobody waits for a node that wants nothing any more', () => {
    const memory = waiting();
    expect(memory.claim('n2', new Map<string, Claim>())).toEqual([lane]);
    expect(posted(planFor('n1', '2', two, { allowed: 1 }, memory))).toEqual(['a']);
  });

  test('one of both always goes, whoever plans first', () => {
    for (const order of [
      ['n1', 'n2'],
      ['n2', 'n1'],
    ]) {
      const memory = new LiveDrainMemory();
      const ages = { n1: '2', n2: '1' } as const;
      const plan = (name: string) =>
        planFor(name, ages[name as 'n1' | 'n2'], name === 'n1' ? two : others, { allowed: 1 }, memory);
      for (const name of order)
        planFor(name, ages[name as 'n1' | 'n2'], name === 'n1' ? two : others, {}, memory);
      expect(order.flatMap((name) => posted(plan(name)))).toContain('x');
    }
  });
});
