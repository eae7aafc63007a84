import { parseSelector } from '../api/selector.ts';
import type { Store } from '../kube/store.ts';
import type { Pod, PodDisruptionBudget } from '../kube/types.ts';

type Matcher = (labels: Readonly<Record<string, string>> | undefined) => boolean;

/** Finds the budgets that select a pod. Selectors are parsed once per version of a budget. */
export class BudgetIndex {
  readonly #budgets: Store<PodDisruptionBudget>;
  readonly #matchers = new WeakMap<PodDisruptionBudget, Matcher>();

  constructor(budgets: Store<PodDisruptionBudget>) {
    this.#budgets = budgets.index('namespace', ({ metadata }) => metadata.namespace);
  }

  select({ metadata }: Pod): PodDisruptionBudget[] {
    return this.#budgets
      .byIndex('namespace', metadata.namespace ?? '')
      .filter((budget) => this.#matcher(budget)(metadata.labels));
  }

  #matcher(budget: PodDisruptionBudget): Matcher {
    let matcher = this.#matchers.get(budget);
    if (!matcher) {
      const parsed = parseSelector(budget.spec.selector, 'nothing');
      // A selector that the server stored and cannot parse selects nothing there either.
      matcher = parsed.kind === 'ok' ? parsed.matches : () => false;
      this.#matchers.set(budget, matcher);
    }
    return matcher;
  }
}
