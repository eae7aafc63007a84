import type { Clock } from '../runtime/clock.ts';

/**
 * The time limit of one exchange and the caller's signal as one AbortSignal. `done()` must be called at the end: it
 * stops the timer and lets go of the caller's signal, which may live as long as the process.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  readonly #onAbort: () => void;
  readonly #caller: AbortSignal | undefined;
  #cancel: () => void = () => {};
  #limitMs = 0;
  #what = '';
  #lastMs = 0;
  #isMeant: () => boolean = always;

  constructor(clock: Clock, caller: AbortSignal | undefined) {
    this.#clock = clock;
    this.#caller = caller;
    this.#onAbort = () => {
      this.#controller.abort(caller?.reason);
    };
    caller?.addEventListener('abort', this.#onAbort, { once: true });
    if (caller?.aborted === true) {
      this.#onAbort();
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /**
   * Aborts with an Error "`what` for N ms" unless `limit` or `touch` is called again within `ms` milliseconds, or
   * `isMeant` says no then: in that case they begin anew.
   */
  limit(ms: number, what: string, isMeant: () => boolean = always): void {
    this.#cancel();
    this.#limitMs = ms;
    this.#what = what;
    this.#isMeant = isMeant;
    this.#lastMs = this.#clock.monotonic();
    this.#wait(ms);
  }

  /** Starts the time limit anew. Cheap, as it comes with every chunk: the timer looks when it fires. */
  touch(): void {
    this.#lastMs = this.#clock.monotonic();
  }

  done(): void {
    this.#cancel();
    this.#caller?.removeEventListener('abort', this.#onAbort);
  }

  /** Aborts what still uses the signal, without waiting for a time limit. */
  abort(): void {
    this.done();
    this.#controller.abort(new Error('finished'));
  }

  /** `promise`, or a rejection with the signal's reason if that comes first. */
  async race<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this;
    const aborted = Promise.withResolvers<never>();
    const onAbort = (): void => {
      aborted.reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) {
      onAbort();
    }
    try {
      return await Promise.race([promise, aborted.promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #wait(ms: number): void {
    this.#cancel = this.#clock.after(ms, () => {
      const left = this.#lastMs + this.#limitMs - this.#clock.monotonic();
      if (left > 0) {
        this.#wait(left);
      } else if (!this.#isMeant()) {
        this.touch();
        this.#wait(this.#limitMs);
      } else {
        this.#controller.abort(new Error(`${this.#what} for ${this.#limitMs} ms`));
      }
    });
  }
}

const always = (): boolean => true;
