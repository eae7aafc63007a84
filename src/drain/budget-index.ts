import { parseSelector } from '../api/selector.ts';
import { keyOf, type Store } from '../kube/store.ts';
import type { LabelSelector, Pod, PodDisruptionBudget } from '../kube/types.ts';

type Matcher = (labels: Readonly<Record<string, string>> | undefined) => boolean;

/**
 * Finds the budgets that select a pod. Each budget lies in one bucket: of one label that a pod must have to be selected,
 * or of its namespace where there is no such label. So a pod's labels lead to few budgets, however many there are.
 */
export class BudgetIndex {
  readonly #budgets: Store<PodDisruptionBudget>;
  /** Selectors are parsed once per version of a budget. */
  readonly #matchers = new WeakMap<PodDisruptionBudget, Matcher>();
  /** Keys of budgets. */
  readonly #buckets = new Map<string, Set<string>>();
  readonly #bucketOf = new Map<string, string>();

  constructor(budgets: Store<PodDisruptionBudget>) {
    this.#budgets = budgets;
    for (const budget of budgets.values()) this.#put(budget);
    budgets.onChange((old, now) => {
      if (old && now && old.metadata.generation === now.metadata.generation) return;
      if (old) this.#remove(old);
      if (now) this.#put(now);
    });
  }

  select({ metadata }: Pod): PodDisruptionBudget[] {
    const { namespace = '', labels = {} } = metadata;
    const names = [
      namespace,
      ...Object.entries(labels).map(([key, value]) => bucketName(namespace, key, value)),
    ];
    return names
      .flatMap((name) => [...(this.#buckets.get(name) ?? [])])
      .map((key) => this.#budgets.get(key))
      .filter((budget) => budget !== undefined)
      .filter((budget) => this.#matcher(budget)(labels));
  }

  /** Into the emptiest of its buckets: a label that all budgets of a release share says little. */
  #put(budget: PodDisruptionBudget): void {
    const { namespace = '' } = budget.metadata;
    const choices = requiredLabels(budget.spec.selector).map(([key, value]) =>
      bucketName(namespace, key, value),
    );
    const size = (name: string): number => this.#buckets.get(name)?.size ?? 0;
    const [name = namespace] = choices.toSorted((a, b) => size(a) - size(b));
    const bucket = this.#buckets.get(name) ?? new Set<string>();
    this.#buckets.set(name, bucket.add(keyOf(budget)));
    this.#bucketOf.set(keyOf(budget), name);
  }

  #remove(budget: PodDisruptionBudget): void {
    const key = keyOf(budget);
    const name = this.#bucketOf.get(key) ?? '';
    this.#bucketOf.delete(key);
    const bucket = this.#buckets.get(name);
    bucket?.delete(key);
    if (bucket?.size === 0) this.#buckets.delete(name);
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

/** Without each of these labels a pod is not selected, whatever else the selector asks for. */
function requiredLabels({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}): [string, string][] {
  const alone = matchExpressions.flatMap(({ key, operator, values = [] }): [string, string][] => {
    const [value, ...others] = values;
    return operator === 'In' && value !== undefined && others.length === 0 ? [[key, value]] : [];
  });
  return [...Object.entries(matchLabels), ...alone];
}

/** Neither a namespace nor a label's key holds a line end. */
function bucketName(namespace: string, key: string, value: string): string {
  return `${namespace}\n${key}\n${value}`;
}
