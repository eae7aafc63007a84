const decimal = /^(?:0|[1-9][0-9]*)$/;

/**
 * Orders two resourceVersions of one resource type: negative when `a` is older, 0 when equal, positive when newer.
 * They are decimal integers of any length, so neither a string comparison nor a JavaScript number is right. A value
 * that is no such integer (other storages may send one) counts as older than every integer.
 */
export function compareResourceVersions(a: string, b: string): number {
  if (a === b) {
    return 0;
  }
  const aIsNumber = decimal.test(a);
  const bIsNumber = decimal.test(b);
  if (!aIsNumber || !bIsNumber) {
    return Number(aIsNumber) - Number(bIsNumber);
  }
  if (a.length !== b.length) {
    return a.length - b.length;
  }
  return a < b ? -1 : 1;
}
