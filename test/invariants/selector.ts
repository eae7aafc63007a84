/** Label selectors, read once more: the operator's own reading is under test. */
export interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[] | null;
  }[];
}

/** No selector selects nothing, an empty one everything (policy/v1). */
export function selects(selector: Selector | undefined, labels: Readonly<Record<string, string>>): boolean {
  if (!selector) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  // A label may be called like what every object has: constructor, toString.
  const has = new Map(Object.entries(labels));
  return (
    Object.entries(matchLabels).every(([key, value]) => has.get(key) === value) &&
    matchExpressions.every(({ key, operator, values }) => {
      const value = has.get(key);
      if (operator === 'Exists') return value !== undefined;
      if (operator === 'DoesNotExist') return value === undefined;
      const isAmong = value !== undefined && (values ?? []).includes(value);
      return operator === 'In' ? isAmong : !isAmong;
    })
  );
}
