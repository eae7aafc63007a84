/** JSON merge patch (RFC 7386), as the API server applies it. */
export function applyMergePatch<T>(target: T, patch: unknown): T {
  // What a patch of a T gives is a T: the API server applies it in the same way and checks the result.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return merge(target, patch) as T;
}

function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merge(result[key], value);
  }
  return result;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
