import type { Logger } from '../runtime/logger.ts';

export interface TermCallbacks {
  /** Called when the Lease is held; `signal` is aborted when the work has to end. Its errors are logged. */
  readonly onStartedLeading: (signal: AbortSignal) => void | Promise<void>;
  /** Called after `signal` was aborted. The Lease is neither released nor taken again before its promise resolves. */
  readonly onStoppedLeading: () => void | Promise<void>;
}

/** The work of a leader, from taking the Lease to the end of the work. */
export class Term {
  readonly #callbacks: TermCallbacks;
  readonly #logger: Logger;
  readonly #work = new AbortController();
  #ended: Promise<void> | undefined;
  /** Monotonic time at which the Lease was lost under it. */
  lostMs: number | undefined;

  constructor(callbacks: TermCallbacks, logger: Logger) {
    this.#callbacks = callbacks;
    this.#logger = logger;
  }

  start(): void {
    void this.#call(() => this.#callbacks.onStartedLeading(this.#work.signal));
  }

  /** Tells the work to end, without waiting. */
  abort(reason: Error): void {
    this.#work.abort(reason);
  }

  /** Resolves when the work has ended; called again it waits for the same end. */
  end(): Promise<void> {
    this.abort(new Error('this process does not lead any more'));
    this.#ended ??= this.#call(() => this.#callbacks.onStoppedLeading());
    return this.#ended;
  }

  async #call(callback: () => void | Promise<void>): Promise<void> {
    try {
      await callback();
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#logger.error('the work of the leader failed', { error: text });
    }
  }
}
