/** What can go wrong between the operator and the API server, as plain data. */
import type { RefusalCode } from './refusals.ts';

/**
 * Of one request. Where milliseconds are said, the connection is cut after them, unless the request goes on. What is lost
 * without them is lost in silence: the connection stays open until the operator gives it up.
 */
export type RequestHarm =
  /** It arrives later. */
  | { readonly does: 'delay'; readonly ms: number }
  /** It never arrives, and nobody says so before the connection is cut. */
  | { readonly does: 'lose request'; readonly ms?: number }
  /** It is carried out; its answer never arrives. */
  | { readonly does: 'lose answer'; readonly ms?: number }
  /** The connection is cut after this share of the answer's body. */
  | { readonly does: 'cut answer'; readonly share: number }
  /** The body ends after this share of it, as if it were whole: JSON that is none. */
  | { readonly does: 'tear answer'; readonly share: number }
  /** Somebody else answers; `carriedOut`: after the API server has done what was asked. */
  | {
      readonly does: 'answer';
      readonly code: RefusalCode;
      readonly carriedOut: boolean;
      readonly retryAfterSeconds?: number;
    };

/** Of a watch, when one of its events comes. */
export type StreamHarm =
  /** In good order, before the event. */
  | { readonly does: 'end' }
  /** In the middle of the event's line. */
  | { readonly does: 'cut' }
  /** The line ends in its middle, and the next one follows. */
  | { readonly does: 'tear' }
  /** A line that is no JSON comes before the event. */
  | { readonly does: 'garble' }
  /** An ERROR event with this code comes instead. */
  | { readonly does: 'error'; readonly code: 410 | 500 }
  /** Nothing comes any more, and the connection stays; after `ms`, where it is said, it goes on. */
  | { readonly does: 'stall'; readonly ms?: number };

export type Fault =
  /**
   * The `nth` request (from 1) of this name, such as `create pods/eviction`, of those with `about` in their path where it
   * is given; `any` are all requests.
   */
  | { readonly request: string; readonly about?: string; readonly nth: number; readonly harm: RequestHarm }
  /** The `nth` event of all watches of this resource. */
  | { readonly eventOf: string; readonly nth: number; readonly harm: StreamHarm };

/** A fault that has happened. */
export interface Strike {
  readonly fault: Fault;
  /** `METHOD path`, or the watch. */
  readonly on: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Counts requests and events, and says what happens to each. */
export class Ambush {
  readonly strikes: Strike[] = [];
  /** With how many more of its requests or events pass. */
  readonly #waiting: Map<Fault, number>;

  constructor(faults: readonly Fault[]) {
    this.#waiting = new Map(faults.map((fault) => [fault, fault.nth]));
  }

  disarm(): void {
    this.#waiting.clear();
  }

  request(name: string, on: string): RequestHarm | undefined {
    const fault = this.#next(
      on,
      (each) =>
        'request' in each &&
        (each.request === name || each.request === 'any') &&
        on.includes(each.about ?? ''),
    );
    return fault && 'request' in fault ? fault.harm : undefined;
  }

  event(resource: string): StreamHarm | undefined {
    const fault = this.#next(`watch ${resource}`, (each) => 'eventOf' in each && each.eventOf === resource);
    return fault && 'eventOf' in fault ? fault.harm : undefined;
  }

  /** Counts for all that wait for such a one; of several whose turn it is, the first strikes. */
  #next(on: string, isMeant: (fault: Fault) => boolean): Fault | undefined {
    const meant = [...this.#waiting].filter(([fault]) => isMeant(fault));
    for (const [fault, left] of meant) this.#waiting.set(fault, left - 1);
    const [fault] = meant.find(([, left]) => left === 1) ?? [];
    if (!fault) return undefined;
    this.#waiting.delete(fault);
    this.strikes.push({ fault, on, at: Date.now() });
    return fault;
  }
}
