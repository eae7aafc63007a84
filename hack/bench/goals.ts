/** What issue and table promise, and whether it was kept. */

export interface Goal {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly limit: number;
  /** The limit itself is already too much. */
  readonly under?: boolean;
}

export function isMet({ value, limit, under = false }: Goal): boolean {
  // A figure that could not be taken is not a kept promise.
  if (!Number.isFinite(value)) return false;
  return under ? value < limit : value <= limit;
}

export function describeGoal({ limit, unit, under = false }: Goal): string {
  return `${under ? 'under' : 'at most'} ${withUnit(limit, unit)}`;
}

export function describeMiss(goal: Goal): string {
  return `${goal.what}: ${withUnit(goal.value, goal.unit)}, the goal is ${describeGoal(goal)}`;
}

/** `10.9 s`, `1,977 requests`; seconds with as many digits as say something. */
export function withUnit(value: number, unit: string): string {
  return `${unit === 's' ? seconds(value) : value.toLocaleString('en-US')} ${unit}`;
}

export function seconds(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return value.toFixed(value < 1 ? 3 : value < 100 ? 1 : 0);
}
