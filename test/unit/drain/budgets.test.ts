import { describe, expect, test } from '@jest/globals';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import { budgetGate, budgetMessage, isStale } from '../../../src/drain/budgets.ts';
import { type BudgetOptions, type PodOptions, budget, pod } from '../../fixtures/objects.ts';

// The order of checks is the server's: pkg/registry/core/pod/storage/eviction.go.
describe('what the server asks before it evicts', () => {
  const allows = 'AlwaysAllow';
  test.each<[string, PodOptions, BudgetOptions[], string]>([
    ['no budget', {}, [], 'free'],
    ['one budget', {}, [{}], 'counted'],
    ['one budget that allows something', {}, [{ allowed: 3 }], 'counted'],
    ['two budgets', {}, [{}, { allowed: 3 }], 'several'],
    ['a pending pod', { phase: 'Pending', ready: false }, [{}], 'free'],
    ['a pending pod of two budgets', { phase: 'Pending' }, [{}, {}], 'free'],
    ['a finished pod', { phase: 'Succeeded' }, [{}], 'free'],
    ['a failed pod of two budgets', { phase: 'Failed' }, [{}, {}], 'free'],
    ['a pod in phase Unknown', { phase: 'Unknown', ready: false }, [{ healthy: 1 }], 'counted'],
    ['not ready, enough others healthy', { ready: false }, [{ needs: 2, healthy: 2 }], 'free'],
    ['not ready, more than enough', { ready: false }, [{ needs: 2, healthy: 3 }], 'free'],
    ['not ready, too few', { ready: false }, [{ needs: 2, healthy: 1 }], 'counted'],
    ['not ready, nothing desired', { ready: false }, [{ needs: 0, healthy: 0 }], 'counted'],
    ['not ready, two budgets with enough', { ready: false }, [{ healthy: 5 }, { healthy: 5 }], 'several'],
    ['ready, enough others healthy', {}, [{ needs: 2, healthy: 5 }], 'counted'],
    [
      'not ready, too few, AlwaysAllow',
      { ready: false },
      [{ healthy: 0, unhealthyPodEvictionPolicy: allows }],
      'free',
    ],
    [
      'not ready, nothing desired, AlwaysAllow',
      { ready: false },
      [{ needs: 0, unhealthyPodEvictionPolicy: allows }],
      'free',
    ],
    ['ready, AlwaysAllow', {}, [{ unhealthyPodEvictionPolicy: allows }], 'counted'],
    [
      'not ready, too few, IfHealthyBudget',
      { ready: false },
      [{ healthy: 1, unhealthyPodEvictionPolicy: 'IfHealthyBudget' }],
      'counted',
    ],
    [
      'not ready, stale budget with enough',
      { ready: false },
      [{ healthy: 2, generation: 2, observedGeneration: 1 }],
      'free',
    ],
  ])('%s', (_, options, budgets, expected) => {
    expect(
      budgetGate(
        pod('p', options),
        budgets.map((each, index) => budget(`b${index}`, each)),
      ).kind,
    ).toBe(expected);
  });

  test('a pod without a Ready condition counts as not ready', () => {
    const { status: _, ...bare } = pod('p');
    expect(budgetGate(bare, [budget('b', { needs: 2, healthy: 2 })]).kind).toBe('free');
    expect(budgetGate(bare, [budget('b', { needs: 2, healthy: 1 })]).kind).toBe('counted');
  });

  test('a budget without a status lets no pod by', () => {
    const { status: _, ...fresh } = budget('b');
    expect(budgetGate(pod('p', { ready: false }), [fresh]).kind).toBe('counted');
    expect(isStale(fresh)).toBe(true);
  });
});

describe('what people read', () => {
  test.each<[string, BudgetOptions, string]>([
    ['several', { needs: 2, healthy: 2 }, 'budget shop/web needs 2 healthy pods and has 2'],
    ['one', { needs: 1, healthy: 0 }, 'budget shop/web needs 1 healthy pod and has 0'],
    [
      'stale',
      { generation: 2, observedGeneration: 1 },
      'budget shop/web is being processed by the disruption controller',
    ],
  ])('%s', (_, options, expected) => {
    expect(budgetMessage(budget('web', options))).toBe(expected);
  });

  test('a pod that is here and counts as evicted, because its eviction was cut off', () => {
    const spent = budget('web', { needs: 5, healthy: 5, disruptedPods: ['web-1', 'gone'] });
    const counts = 'budget shop/web needs 5 healthy pods and has 5';
    expect(budgetMessage(spent, [pod('web-0')])).toBe(counts);
    // It was counted at 12:00:00, and the disruption controller waits for two minutes.
    expect(budgetMessage(spent, [pod('web-0'), pod('web-1')])).toBe(
      `${counts}; pod web-1 counts as evicted until 2026-01-01T12:02:00Z, as an eviction of it was cut off`,
    );
    const undated = {
      ...spent,
      status: { ...spent.status, disruptedPods: as<Readonly<Record<string, string>>>({ 'web-1': null }) },
    };
    expect(budgetMessage(undated, [pod('web-1')])).toBe(counts);
  });
});
