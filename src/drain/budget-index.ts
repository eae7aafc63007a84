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
  /** Keys of budgets; most have but one, for which an array is much smaller than a set. */
  readonly #buckets = new Map<string, string[]>();
  readonly #bucketOf = new Map<string, string>();
  /** Namespaces that somebody has asked about: the budgets of others lie in no bucket. */
  readonly #sorted = new Set<string>();

  constructor(budgets: Store<PodDisruptionBudget>) {
    this.#budgets = budgets.index('namespace', ({ metadata }) => metadata.namespace);
    budgets.onChange((old, now) => {
      if (!this.#sorted.has((now ?? old)?.metadata.namespace ?? '')) return;
      if (old && now && old.metadata.generation === now.metadata.generation) return;
      if (old) this.#remove(old);
      if (now) this.#put(now);
    });
  }

  select({ metadata }: Pod): PodDisruptionBudget[] {
    const { namespace = '', labels = {} } = metadata;
    this.#sort(namespace);
    const names = [
      namespace,
      ...Object.entries(labels).map(([key, value]) => bucketName(namespace, key, value)),
    ];
    return names
      .flatMap((name) => this.#buckets.get(name) ?? [])
      .map((key) => this.#budgets.get(key))
      .filter((budget) => budget !== undefined)
      .filter((budget) => this.#matcher(budget)(labels));
  }

  #sort(namespace: string): void {
    if (this.#sorted.has(namespace)) return;
    this.#sorted.add(namespace);
    for (const budget of this.#budgets.byIndex('namespace', namespace)) this.#put(budget);
  }

  /** Into the emptiest of its buckets: a label that all budgets of a release share says little. */
  #put(budget: PodDisruptionBudget): void {
    const { namespace = '' } = budget.metadata;
    let name = namespace;
    let fewest = Infinity;
    for (const [key, value] of requiredLabels(budget.spec.selector)) {
      const choice = bucketName(namespace, key, value);
      const size = this.#buckets.get(choice)?.length ?? 0;
      if (size < fewest) [name, fewest] = [choice, size];
    }
    const bucket = this.#buckets.get(name);
    if (bucket) bucket.push(keyOf(budget));
    else this.#buckets.set(name, [keyOf(budget)]);
    this.#bucketOf.set(keyOf(budget), name);
  }

  #remove(budget: PodDisruptionBudget): void {
    const key = keyOf(budget);
    const name = this.#bucketOf.get(key) ?? '';
    this.#bucketOf.delete(key);
    const left = (this.#buckets.get(name) ?? []).filter((one) => one !== key);
    if (left.length > 0) this.#buckets.set(name, left);
    else this.#buckets.delete(name);
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
