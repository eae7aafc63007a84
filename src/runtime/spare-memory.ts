import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from './clock.ts';

/** V8's own gc(): this flavour of it gives the pages that it frees back to the system. */
type Collect = (options: {
  readonly type: 'major';
  readonly execution: 'async';
  readonly flavor: 'last-resort';
}) => Promise<void>;

// Connections that nothing uses any more end after 30 s (kube/connection.ts), and their buffers are part of it.
const restMs = 40_000;

/**
 * Gives memory back when a large piece of work is over. V8 collects as memory is asked for: a process that has nothing
 * to do any more keeps for hours what it needed last.
 */
export class SpareMemory {
  readonly #clock: Clock;
  readonly #collect: Collect;
  #cancel: () => void = () => {};

  constructor(clock: Clock, collect: Collect = v8Collect()) {
    this.#clock = clock;
    this.#collect = collect;
  }

  /** Nothing is given back for now: work begins, or the process ends. */
  readonly keep = (): void => this.#cancel();

  /** Work is over. Unless more of it begins within 40 s, what it needed is given back, in some 50 ms. */
  readonly giveBackSoon = (): void => {
    this.#cancel();
    this.#cancel = this.#clock.after(restMs, () => {
      void this.#collect({ type: 'major', execution: 'async', flavor: 'last-resort' });
    });
  };
}

/** The flag counts for contexts that are made after it: nobody else sees gc(). */
function v8Collect(): Collect {
  setFlagsFromString('--expose-gc');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the shape is V8's
  const gc = runInNewContext('gc') as Collect;
  setFlagsFromString('--no-expose-gc');
  return gc;
}
