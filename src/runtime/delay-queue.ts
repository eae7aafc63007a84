interface Entry {
  readonly key: string;
  dueMs: number;
  /** Among equal times the one that was set first comes out first. */
  order: number;
  index: number;
}

/**
 * Keys with the time at which each is due: a binary heap that knows where every key is, so that a time can be moved
 * forward in place and nothing stale is left behind. All operations take logarithmic time.
 */
export class DelayQueue {
  readonly #heap: Entry[] = [];
  readonly #entries = new Map<string, Entry>();
  #order = 0;

  get size(): number {
    return this.#heap.length;
  }

  /** The earliest time that is set. */
  get nextDueMs(): number | undefined {
    return this.#heap[0]?.dueMs;
  }

  /** Sets the time of `key`, unless an earlier one is set already. */
  set(key: string, dueMs: number): void {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      if (dueMs >= known.dueMs) return;
      known.dueMs = dueMs;
      known.order = this.#order++;
      this.#up(known);
      return;
    }
    const entry = { key, dueMs, order: this.#order++, index: this.#heap.length };
    this.#entries.set(key, entry);
    this.#heap.push(entry);
    this.#up(entry);
  }

  /** Takes out the earliest key if it is due at `nowMs`. */
  takeDue(nowMs: number): string | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.dueMs > nowMs) return undefined;
    this.#entries.delete(first.key);
    const last = this.#heap.pop();
    if (last !== undefined && last !== first) {
      this.#put(last, 0);
      this.#down(last);
    }
    return first.key;
  }

  clear(): void {
    this.#heap.length = 0;
    this.#entries.clear();
  }

  #put(entry: Entry, index: number): void {
    this.#heap[index] = entry;
    entry.index = index;
  }

  #up(entry: Entry): void {
    while (entry.index > 0) {
      const parent = this.#heap[(entry.index - 1) >> 1];
      if (parent === undefined || !isBefore(entry, parent)) return;
      this.#swap(entry, parent);
    }
  }

  #down(entry: Entry): void {
    for (;;) {
      const left = this.#heap[2 * entry.index + 1];
      const right = this.#heap[2 * entry.index + 2];
      const child = right !== undefined && left !== undefined && isBefore(right, left) ? right : left;
      if (child === undefined || !isBefore(child, entry)) return;
      this.#swap(entry, child);
    }
  }

  #swap(a: Entry, b: Entry): void {
    const { index } = a;
    this.#put(a, b.index);
    this.#put(b, index);
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}
