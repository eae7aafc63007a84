import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { KubeObject } from './types.ts';

/** `old` is undefined for an object that appeared, `now` for one that went (then `old` is the last known state). */
export type ChangeListener<T> = (old: T | undefined, now: T | undefined) => void;

export interface ListenersOptions {
  readonly logger?: Logger;
  /** Called after a listener threw; the error is logged, and the other listeners hear of the change. */
  readonly onListenerError?: () => void;
  /** Without one, whoever threw hears of the object again only when it changes. */
  readonly clock?: Pick<Clock, 'after'>;
}

/** As long as the longest pause of a node that fails. */
const retryMs = 30_000;

/**
 * Who hears of changes. What a listener threw at is told it again, as one change from what it knew of the object to what
 * there is by then: whatever it had to do is late, not lost.
 */
export class Listeners<T extends KubeObject> {
  readonly #options: ListenersOptions;
  readonly #current: (key: string) => T | undefined;
  /** Of each listener the objects that it is behind with, by key, as it knew them. */
  readonly #behind = new Map<ChangeListener<T>, Map<string, T | undefined>>();
  #cancelRetry: (() => void) | undefined;

  constructor(options: ListenersOptions, current: (key: string) => T | undefined) {
    this.#options = options;
    this.#current = current;
  }

  /** The returned function ends it. */
  add(listener: ChangeListener<T>): () => void {
    this.#behind.set(listener, new Map());
    return () => {
      this.#behind.delete(listener);
    };
  }

  tell(key: string, old: T | undefined, now: T | undefined): void {
    for (const [listener, behind] of this.#behind)
      this.#tell(listener, behind, key, behind.has(key) ? behind.get(key) : old, now);
  }

  /** Nobody is told again what was missed until now. */
  forgetMissed(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    for (const behind of this.#behind.values()) behind.clear();
  }

  #tell(
    listener: ChangeListener<T>,
    behind: Map<string, T | undefined>,
    key: string,
    known: T | undefined,
    now: T | undefined,
  ): void {
    behind.delete(key);
    // Another object under the same name: its predecessor's end is a change of its own.
    const isAnother = known !== undefined && now !== undefined && known.metadata.uid !== now.metadata.uid;
    const changes = isAnother
      ? ([
          [known, undefined],
          [undefined, now],
        ] as const)
      : ([[known, now]] as const);
    for (const [from, to] of changes) {
      if (from === to) continue; // it came and went while the listener was behind
      try {
        listener(from, to);
      } catch (error) {
        behind.set(key, from);
        this.#failed(key, error);
        return;
      }
    }
  }

  #failed(key: string, error: unknown): void {
    const { clock, logger, onListenerError } = this.#options;
    this.#cancelRetry ??= clock?.after(retryMs, () => {
      this.#cancelRetry = undefined;
      this.#tellAgain();
    });
    logger?.error('a store listener failed', {
      key,
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
    onListenerError?.();
  }

  #tellAgain(): void {
    for (const [listener, behind] of this.#behind) {
      const missed = [...behind]; // what is missed again is for the next time
      for (const [key, known] of missed) this.#tell(listener, behind, key, known, this.#current(key));
    }
  }
}
