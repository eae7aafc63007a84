/** Milliseconds since the epoch as a MicroTime of the API: RFC 3339 in UTC with exactly six digits of a second. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
