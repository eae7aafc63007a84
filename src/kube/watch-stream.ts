import type { Refusal } from './answer.ts';
import { classify } from './classify.ts';
import type { WatchEnd, WatchEvent, WatchOptions } from './client.ts';
import { isStatus, parseJson } from './decode.ts';
import { LineSplitter } from './line-splitter.ts';

/** Turns the bytes of a watch into events, until the stream or an ERROR event ends it. */
export class WatchStream<T> {
  readonly #options: WatchOptions<T>;
  #failed = false;

  constructor(options: WatchOptions<T>) {
    this.#options = options;
  }

  /** The caller's `onEvent` threw (and `consume` with it). */
  get failed(): boolean {
    return this.#failed;
  }

  /** Reads `body` to its end. `onChunk` is called for every chunk. Throws what `body` and `onEvent` throw. */
  async consume(body: AsyncIterable<Uint8Array>, onChunk: () => void): Promise<WatchEnd> {
    const lines = new LineSplitter();
    for await (const chunk of body) {
      onChunk();
      for (const line of lines.push(chunk)) {
        const end = this.#take(line);
        if (end !== undefined) {
          return end;
        }
      }
    }
    return lines.pending === 0
      ? { kind: 'ended' }
      : { kind: 'network', message: 'the watch ended in the middle of an event' };
  }

  #take(line: string): Refusal | undefined {
    const { signal, onEvent } = this.#options;
    // The chunk that is being read may have arrived before the abort.
    signal?.throwIfAborted();
    const event = parseJson(line);
    if (isError(event)) {
      const status = isStatus(event.object) ? event.object : undefined;
      return classify(status?.code ?? 500, status, {});
    }
    if (!this.#isEvent(event)) {
      return { kind: 'invalid', message: 'the watch sent a line that is no event' };
    }
    try {
      onEvent(event);
    } catch (error) {
      this.#failed = true;
      throw error;
    }
    return undefined;
  }

  #isEvent(value: unknown): value is WatchEvent<T> {
    return hasType(value) && eventTypes.has(value.type) && hasMetadata(value.object);
  }
}

const eventTypes = new Set<unknown>(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']);

function hasType(value: unknown): value is { readonly type: unknown; readonly object: unknown } {
  return typeof value === 'object' && value !== null && 'type' in value && 'object' in value;
}

function isError(value: unknown): value is { readonly object: unknown } {
  return hasType(value) && value.type === 'ERROR';
}

function hasMetadata(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    'metadata' in value &&
    typeof value.metadata === 'object' &&
    value.metadata !== null
  );
}
