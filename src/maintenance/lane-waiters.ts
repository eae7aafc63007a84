/** Which nodes wait for which budgets: a change of a budget wakes these and no others. */
export class LaneWaiters {
  readonly #nodes = new Map<string, Set<string>>();

  /** All that the node waits for from now on. */
  waitFor(nodeName: string, lanes: ReadonlySet<string>): void {
    for (const [key, nodeNames] of this.#nodes) {
      if (!lanes.has(key) && nodeNames.delete(nodeName) && nodeNames.size === 0) this.#nodes.delete(key);
    }
    for (const key of lanes) {
      const nodeNames = this.#nodes.get(key) ?? new Set<string>();
      this.#nodes.set(key, nodeNames.add(nodeName));
    }
  }

  of(key: string): Iterable<string> {
    return this.#nodes.get(key) ?? [];
  }
}
