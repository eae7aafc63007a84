import { WaitingLine } from '../runtime/waiting-line.ts';

/** A limit on how many exchanges run at once; the others wait in the order they came. */
export class InFlight {
  readonly #limit: number;
  readonly #waiting = new WaitingLine();
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Resolves when a place is free (to be given back with `leave`); rejects with the signal's reason on its abort. */
  async enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#running < this.#limit) {
      this.#running += 1;
      return;
    }
    await this.#waiting.wait(signal);
  }

  leave(): void {
    // The place passes on without becoming free in between.
    if (!this.#waiting.admit()) this.#running -= 1;
  }
}
