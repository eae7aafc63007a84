/** The candidate that `word` most likely was meant to be, or undefined when none is near. Pure. */
export function closest(word: string, candidates: readonly string[]): string | undefined {
  const wanted = word.toLowerCase().replaceAll('_', '-');
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, candidate);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  // Somebody who knows half of a long name.
  return best ?? (wanted.length < 3 ? undefined : candidates.find((candidate) => candidate.includes(wanted)));
}

// Levenshtein's distance, one row of the table at a time.
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
