import { budgetKey, isStale } from '../drain/budgets.ts';
import { looksUnsatisfiable } from '../drain/unsatisfiable.ts';
import type { PodDisruptionBudget } from '../kube/types.ts';
import { compareText } from '../runtime/compare.ts';
import type { Leaver } from './outlook.ts';
import type { BudgetForecast } from './preview.ts';

/** What each budget that has a say would do, by what its status says now. */
export function forecastBudgets(leavers: readonly Leaver[]): BudgetForecast[] {
  const counts = new Map<string, { budget: PodDisruptionBudget; pods: number; several: boolean }>();
  for (const { gate } of leavers) {
    if (gate.kind === 'free') continue;
    for (const budget of gate.kind === 'counted' ? [gate.budget] : gate.budgets) {
      const known = counts.get(budgetKey(budget));
      counts.set(budgetKey(budget), {
        budget,
        pods: (known?.pods ?? 0) + 1,
        several: gate.kind === 'several' || (known?.several ?? false),
      });
    }
  }
  return [...counts]
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([, { budget, pods, several }]) => {
      const { disruptionsAllowed = 0, desiredHealthy = 0, currentHealthy = 0 } = budget.status ?? {};
      return {
        namespace: budget.metadata.namespace ?? '',
        name: budget.metadata.name,
        pods,
        disruptionsAllowed,
        desiredHealthy,
        currentHealthy,
        verdict: several ? 'several' : verdictOf(budget, pods, disruptionsAllowed),
      };
    });
}

function verdictOf(budget: PodDisruptionBudget, pods: number, allowed: number): BudgetForecast['verdict'] {
  if (looksUnsatisfiable(budget)) return 'never';
  if (isStale(budget) || allowed <= 0) return 'closed';
  return allowed < pods ? 'inTurn' : 'open';
}
