/** Label selectors, read once more: the operator's own reading is under test. */
export interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** No selector selects nothing, an empty one everything (policy/v1). */
export function selects(selector: Selector | undefined, labels: Readonly<Record<string, string>>): boolean {
  if (!selector) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === 'Exists') return value !== undefined;
      if (operator === 'DoesNotExist') return value === undefined;
      if (operator === 'In') return value !== undefined && values.includes(value);
      return value === undefined || !values.includes(value); // NotIn
    })
  );
}
