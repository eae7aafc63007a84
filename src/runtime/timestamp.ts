/** RFC 3339 in whole seconds, as metav1.Time prints it. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
