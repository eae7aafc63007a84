interface Waiting {
  readonly signal: AbortSignal;
  readonly admit: () => void;
  readonly giveUp: () => void;
}

interface Group {
  readonly members: Set<Waiting>;
  readonly onAbort: () => void;
}

/**
 * Callers that wait for their turn, in the order they came. Each can give up by its signal; there is one listener for
 * each signal and not for each caller, as Node.js goes through all listeners of a signal to add one: ten thousand
 * evictions that wait under the signal of one term took seconds.
 */
export class WaitingLine {
  readonly #line = new Set<Waiting>();
  readonly #groups = new Map<AbortSignal, Group>();

  get length(): number {
    return this.#line.size;
  }

  /** Resolves when it is the caller's turn. Rejects with the reason of `signal` when that is aborted first. */
  async wait(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const one = { signal, admit: resolve, giveUp: () => reject(signal.reason) };
      this.#line.add(one);
      this.#groupOf(signal).members.add(one);
    });
  }

  /** Lets the first one in; false where nobody waits. */
  admit(): boolean {
    const [first] = this.#line;
    if (first === undefined) return false;
    const { signal, admit } = first;
    this.#line.delete(first);
    const group = this.#groupOf(signal);
    group.members.delete(first);
    if (group.members.size === 0) {
      signal.removeEventListener('abort', group.onAbort);
      this.#groups.delete(signal);
    }
    admit();
    return true;
  }

  #groupOf(signal: AbortSignal): Group {
    const known = this.#groups.get(signal);
    if (known !== undefined) return known;
    const members = new Set<Waiting>();
    const onAbort = (): void => {
      this.#groups.delete(signal);
      for (const one of members) {
        this.#line.delete(one);
        one.giveUp();
      }
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const group = { members, onAbort };
    this.#groups.set(signal, group);
    return group;
  }
}
