import { describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { parseSelector } from '../../../src/api/selector.ts';
import { BudgetIndex } from '../../../src/drain/budget-index.ts';
import { Store } from '../../../src/kube/store.ts';
import type { LabelSelector, PodDisruptionBudget } from '../../../src/kube/types.ts';
import { nullLogger } from '../../../src/runtime/logger.ts';
import { budget, pod } from '../../fixtures/objects.ts';

function withSelector(
  name: string,
  selector: LabelSelector | undefined,
  more: { namespace?: string; generation?: number; resourceVersion?: string } = {},
): PodDisruptionBudget {
  const made = budget(name, more);
  return { ...made, spec: selector ? { selector } : {} };
}

function indexOf(...budgets: readonly PodDisruptionBudget[]) {
  const store = new Store<PodDisruptionBudget>({ logger: nullLogger });
  const index = new BudgetIndex(store);
  store.replace(budgets);
  return { store, index };
}

const names = (budgets: readonly PodDisruptionBudget[]) =>
  budgets.map(({ metadata }) => metadata.name).toSorted();

describe('the budgets of a pod', () => {
  test('are those of its namespace that select it, by whatever kind of selector', () => {
    const { index } = indexOf(
      withSelector('by-label', { matchLabels: { app: 'web' } }),
      withSelector('by-two', { matchLabels: { app: 'web', tier: 'front' } }),
      withSelector('by-other-two', { matchLabels: { app: 'web', tier: 'back' } }),
      withSelector('by-one-value', { matchExpressions: [{ key: 'app', operator: 'In', values: ['web'] }] }),
      withSelector('by-values', {
        matchExpressions: [{ key: 'app', operator: 'In', values: ['web', 'api'] }],
      }),
      withSelector('by-absence', { matchExpressions: [{ key: 'canary', operator: 'DoesNotExist' }] }),
      withSelector('all', {}),
      withSelector('none', undefined),
      withSelector('elsewhere', { matchLabels: { app: 'web' } }, { namespace: 'other' }),
      withSelector('unreadable', { matchLabels: { app: 'web', 'a b': 'c' } }),
    );
    const found = index.select(pod('web-1', { labels: { app: 'web', tier: 'front' } }));
    expect(names(found)).toEqual(['all', 'by-absence', 'by-label', 'by-one-value', 'by-two', 'by-values']);
  });

  test('follow an edit of a selector, and are gone with their budget', () => {
    const { store, index } = indexOf(withSelector('b', { matchLabels: { app: 'web' } }));
    const web = pod('web-1', { labels: { app: 'web' } });
    const api = pod('api-1', { labels: { app: 'api' } });
    store.put(withSelector('b', { matchLabels: { app: 'api' } }, { generation: 2, resourceVersion: '101' }));
    expect([names(index.select(web)), names(index.select(api))]).toEqual([[], ['b']]);
    store.remove(
      withSelector('b', { matchLabels: { app: 'api' } }, { generation: 2, resourceVersion: '102' }),
    );
    expect(index.select(api)).toEqual([]);
  });

  test('are the newest versions, although only a new generation moves them', () => {
    const { store, index } = indexOf(withSelector('b', { matchLabels: { app: 'web' } }));
    store.put(withSelector('b', { matchLabels: { app: 'web' } }, { resourceVersion: '101' }));
    const [found] = index.select(pod('web-1', { labels: { app: 'web' } }));
    expect(found?.metadata.resourceVersion).toBe('101');
  });

  test('are found in no more than a few tries among thousands that share a label', () => {
    const shared = { 'app.kubernetes.io/managed-by': 'Helm' };
    const budgets = Array.from({ length: 5_000 }, (_, number) =>
      withSelector(`b${number}`, { matchLabels: { ...shared, app: `app-${number}` } }),
    );
    const { store, index } = indexOf(...budgets);
    index.select(pod('first', { labels: shared }));
    const looks = jest.spyOn(store, 'get');
    expect(names(index.select(pod('p', { labels: { ...shared, app: 'app-77' } })))).toEqual(['b77']);
    expect(looks.mock.calls.length).toBeLessThan(5);
  });
});

test('are the same as those that a look at every budget finds', () => {
  const label = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2'));
  const labels = fc.array(label, { maxLength: 3 }).map((pairs) => Object.fromEntries(pairs));
  const expression = fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    operator: fc.constantFrom('In', 'NotIn'),
    values: fc.array(fc.constantFrom('1', '2'), { minLength: 1, maxLength: 2 }),
  });
  const selector = fc.record({
    matchLabels: labels,
    matchExpressions: fc.array(expression, { maxLength: 2 }),
  });
  const step = fc.record({ name: fc.constantFrom('x', 'y', 'z'), selector, gone: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), fc.nat(12), labels, (steps, asked, podLabels) => {
      const { store, index } = indexOf();
      for (const [number, { name, selector: wanted, gone }] of steps.entries()) {
        const made = withSelector(name, wanted, { generation: number, resourceVersion: String(number + 1) });
        if (number === asked) index.select(pod('p'));
        if (gone) store.remove(made);
        else store.put(made);
      }
      const expected = [...store.values()].filter(({ spec }) => {
        const parsed = parseSelector(spec.selector, 'nothing');
        return parsed.kind === 'ok' && parsed.matches(podLabels);
      });
      expect(names(index.select(pod('p', { labels: podLabels })))).toEqual(names(expected));
    }),
  );
});
