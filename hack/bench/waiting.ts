/** Waiting for what watches show: every test is run anew whenever somebody says that something has changed. */
export interface WaitOptions {
  readonly timeoutMs: number;
  /** Added to the message when it takes too long. */
  readonly explain: () => string;
}

export class Waiting {
  readonly #listeners = new Set<() => void>();

  /** Something has changed. */
  tell(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Resolves in the moment in which `test` is true. */
  async until(what: string, test: () => boolean, { timeoutMs, explain }: WaitOptions): Promise<void> {
    if (test()) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const listener = (): void => {
      if (test()) resolve();
    };
    const late = (): void => reject(new Error(`not within ${timeoutMs / 1000} s: ${what}\n${explain()}`));
    const timer = setTimeout(late, timeoutMs);
    this.#listeners.add(listener);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#listeners.delete(listener);
    }
  }
}
