interface Waiting {
  readonly group: Group;
  readonly admit: () => void;
  readonly giveUp: () => void;
}

interface Group {
  readonly members: Set<Waiting>;
  /** Forgets the group, of which nobody waits any more. */
  readonly leave: () => void;
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
      const group = this.#groupOf(signal);
      const one = { group, admit: resolve, giveUp: () => reject(signal.reason) };
      this.#line.add(one);
      group.members.add(one);
    });
  }

  /** Lets the first one in; false where nobody waits. */
  admit(): boolean {
    const [first] = this.#line;
    if (first === undefined) return false;
    const { members, leave } = first.group;
    this.#line.delete(first);
    members.delete(first);
    if (members.size === 0) leave();
    first.admit();
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
    const leave = (): void => {
      signal.removeEventListener('abort', onAbort);
      this.#groups.delete(signal);
    };
    const group = { members, leave };
    this.#groups.set(signal, group);
    return group;
  }
}
