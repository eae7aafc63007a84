/** Three at most, so that a line stays a line. */
export function names(all: readonly string[]): string {
  const shown = all.toSorted().slice(0, 3).join(', ');
  return all.length > 3 ? `${shown} and ${all.length - 3} more` : shown;
}

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
