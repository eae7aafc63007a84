import type { Clock } from '../runtime/clock.ts';
import { Deadline } from './deadline.ts';

/** After three watches that were begun anew in vain, the server's bookmarks have to do. */
const patienceMs = [10_000, 20_000, 40_000] as const;

/**
 * A connection may be dead and nobody knows: its watch says nothing, as it does where nothing happens. Where a change is
 * due, so much silence is not believed. A watch that goes on where the last one was costs the server little.
 */
export class Doubt {
  readonly #clock: Clock;
  readonly #isChangeDue: () => boolean;
  #times = 0;
  #deadline: Deadline | undefined;

  constructor(clock: Clock, isChangeDue: () => boolean) {
    this.#clock = clock;
    this.#isChangeDue = isChangeDue;
  }

  /** What `watch` resolves to; `doubted` when its signal was aborted because of its silence. */
  async over<T>(
    caller: AbortSignal,
    watch: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | { readonly kind: 'doubted' }> {
    const deadline = new Deadline(this.#clock, caller);
    this.#deadline = deadline;
    try {
      return await watch(deadline.signal);
    } catch (error) {
      if (caller.aborted || !deadline.signal.aborted) throw error;
      this.#times += 1;
      return { kind: 'doubted' };
    } finally {
      deadline.done();
    }
  }

  /** The server has accepted the watch. */
  opened(): void {
    const ms = patienceMs[this.#times];
    if (ms !== undefined) this.#deadline?.limit(ms, 'no change came', this.#isChangeDue);
  }

  /** The watch has brought a change; a bookmark is none. */
  heard(): void {
    if (this.#times === 0) return this.#deadline?.touch();
    this.#times = 0;
    this.opened();
  }
}
