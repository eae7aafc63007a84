/** The one place where what comes from outside gets a type: files that we wrote, answers of the API server. */

/** Says what the value is; nothing checks it. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function as<T>(value: unknown): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return value as T;
}

/** The code of a system error, e.g. "EEXIST". Not by instanceof: below jest such an error is of another realm. */
export function errorCode(error: unknown): string | undefined {
  return field(error, 'code');
}

export function errorMessage(error: unknown): string {
  return field(error, 'message') ?? String(error);
}

function field(error: unknown, name: 'code' | 'message'): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const value: unknown = Reflect.get(error, name);
  return typeof value === 'string' ? value : undefined;
}
