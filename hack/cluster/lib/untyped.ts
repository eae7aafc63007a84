/** The one place where what comes from outside gets a type: files that we wrote, answers of the API server. */

/** Says what the value is; nothing checks it. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function as<T>(value: unknown): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return value as T;
}

/** The code of a system error, e.g. "EEXIST". */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
