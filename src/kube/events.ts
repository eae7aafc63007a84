import { randomBytes } from 'node:crypto';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { cleanMessage } from '../runtime/plain-text.ts';
import { TokenBucket } from '../runtime/token-bucket.ts';
import type { Answer } from './answer.ts';
import type { Client } from './client.ts';
import { microTime } from './micro-time.ts';
import { pause } from './pause.ts';

export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Missing for cluster-scoped objects. */
  readonly namespace?: string;
  readonly uid?: string;
}

export interface EventDetails {
  readonly regarding: ObjectReference;
  readonly related?: ObjectReference;
  readonly type: 'Normal' | 'Warning';
  /** Why, CamelCase: one for each kind of cause. */
  readonly reason: string;
  /** What was done, CamelCase. */
  readonly action: string;
  /** For people; cut to 1,024 bytes. */
  readonly note: string;
}

export interface EventRecorderOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Which process: the identity of the election. Cut to 128 characters. */
  readonly reportingInstance: string;
  /** Called for every event that was given up: `refused` by the server, or held back as `spam`. */
  readonly onDropped?: (why: 'refused' | 'spam' | 'queue') => void;
}

/** One Event object and what is still to be written of it. */
interface Series {
  readonly key: string;
  readonly details: EventDetails;
  readonly collection: string;
  readonly name: string;
  readonly firstMs: number;
  count: number;
  lastMs: number;
  /** Of the last occurrence, monotonic. */
  lastSeenMs: number;
  /** The count that the server has; 0 while the object does not exist. */
  written: number;
  cancelWrite: (() => void) | undefined;
}

// As client-go: a repetition within six minutes continues a series.
const seriesWindowMs = 6 * 60_000;
// The first repetition shows soon, a long series costs a request a minute.
const firstPatchMs = 5_000;
const patchMs = 60_000;
// For one reason about one object, as client-go's spam filter (which counts all reasons of an object together, so that
// a noisy one would silence the rest).
const spam = { burst: 25, ratePerSecond: 1 / 300 } as const;
const mostRemembered = 2_000;
const mostQueued = 1_000;
const mostInFlight = 4;
const tries = 3;
const timeoutMs = 10_000;
const reportingController = 'haulout.dev/haulout';

/** Writes events.k8s.io/v1 Events, in the background: nothing waits for them, and no failure is passed on. */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #reportingInstance: string;
  readonly #series = new Map<string, Series>();
  readonly #buckets = new Map<string, TokenBucket>();
  readonly #queue = new Set<Series>();
  readonly #idle = new Set<() => void>();
  readonly #hurry = new AbortController();
  #inFlight = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#reportingInstance = cleanMessage(options.reportingInstance).slice(0, 128);
  }

  /** Records one occurrence. The same details again within six minutes count up the Event that is there. */
  emit(details: EventDetails): void {
    const { clock } = this.#options;
    const key = keyOf(details);
    const known = this.#series.get(key);
    if (known !== undefined && clock.monotonic() - known.lastSeenMs <= seriesWindowMs) {
      known.count += 1;
      known.lastMs = clock.now();
      known.lastSeenMs = clock.monotonic();
      remember(this.#series, key, known);
      this.#schedule(known);
      return;
    }
    if (!this.#bucket(details).tryTake()) {
      this.#drop('spam', details);
      return;
    }
    const series: Series = {
      key,
      details,
      collection: `/apis/events.k8s.io/v1/namespaces/${details.regarding.namespace ?? 'default'}/events`,
      name: `${details.regarding.name.slice(0, 200).replace(/[-.]+$/, '')}.${randomBytes(8).toString('hex')}`,
      firstMs: clock.now(),
      count: 1,
      lastMs: clock.now(),
      lastSeenMs: clock.monotonic(),
      written: 0,
      cancelWrite: undefined,
    };
    remember(this.#series, key, series);
    this.#enqueue(series);
  }

  /** For the end of the process: writes what is pending, without retries, and waits at most `ms` for it. */
  async flush(ms: number): Promise<void> {
    this.#hurry.abort();
    for (const series of this.#series.values()) {
      if (series.cancelWrite !== undefined) {
        this.#enqueue(series);
      }
    }
    if (this.#inFlight > 0) {
      await pause(this.#options.clock, ms, new AbortController().signal, this.#idle);
    }
  }

  #bucket({ regarding, reason }: EventDetails): TokenBucket {
    const key = JSON.stringify([regarding.uid ?? '', regarding.namespace ?? '', regarding.name, reason]);
    const bucket = this.#buckets.get(key) ?? new TokenBucket({ clock: this.#options.clock, ...spam });
    remember(this.#buckets, key, bucket);
    return bucket;
  }

  /** Has a repetition written later, together with those that follow until then. */
  #schedule(series: Series): void {
    if (series.cancelWrite !== undefined || this.#queue.has(series) || this.#hurry.signal.aborted) {
      return;
    }
    const delayMs = series.written < 2 ? firstPatchMs : patchMs;
    series.cancelWrite = this.#options.clock.after(delayMs, () => {
      this.#enqueue(series);
    });
  }

  #enqueue(series: Series): void {
    series.cancelWrite?.();
    series.cancelWrite = undefined;
    if (this.#queue.size >= mostQueued) {
      this.#forget(series);
      this.#drop('queue', series.details);
      return;
    }
    this.#queue.add(series);
    this.#work();
  }

  #work(): void {
    while (this.#inFlight < mostInFlight) {
      const [series] = this.#queue;
      if (series === undefined) {
        break;
      }
      this.#queue.delete(series);
      this.#inFlight += 1;
      void this.#write(series).finally(() => {
        this.#inFlight -= 1;
        this.#work();
        if (this.#inFlight === 0) {
          for (const wakeUp of this.#idle) {
            wakeUp();
          }
        }
      });
    }
  }

  async #write(series: Series): Promise<void> {
    const { clock, logger } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const { count } = series;
      const answer = await this.#send(series);
      // A conflict on creation: an earlier try arrived, only its answer did not.
      if (answer.kind === 'ok' || (answer.kind === 'conflict' && series.written === 0)) {
        series.written = answer.kind === 'ok' ? count : 1;
        if (series.count > series.written) {
          this.#schedule(series);
        }
        return;
      }
      const gone = answer.kind === 'notFound' && series.written > 0;
      if (gone) {
        // The Event expired or was deleted while its series went on.
        series.written = 0;
      }
      const again = gone || transient.has(answer.kind);
      if (!again || attempt >= tries || (this.#hurry.signal.aborted && !gone)) {
        this.#forget(series);
        const { reason, regarding } = series.details;
        logger.debug('an event was not written', {
          reason,
          regarding: regarding.name,
          cause: answer.kind,
          error: answer.message,
        });
        this.#options.onDropped?.('refused');
        return;
      }
      if (!gone) {
        const waitMs = answer.kind === 'throttled' ? answer.retryAfterSeconds * 1_000 : 2_000 * attempt;
        await pause(clock, waitMs, this.#hurry.signal);
      }
    }
  }

  /** Creates the Event, or brings its count up to date. Never rejects. */
  #send(series: Series): Promise<Answer> {
    const { client } = this.#options;
    const progress =
      series.count < 2 ? {} : { series: { count: series.count, lastObservedTime: microTime(series.lastMs) } };
    const { collection, name } = series;
    return series.written > 0
      ? client.patch(`${collection}/${name}`, 'merge', progress, { timeoutMs })
      : client.create(collection, { ...this.#eventOf(series), ...progress }, { timeoutMs });
  }

  #eventOf({ details, name, firstMs }: Series): object {
    const { regarding, related, type, reason, action, note } = details;
    return {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name, namespace: regarding.namespace ?? 'default' },
      eventTime: microTime(firstMs),
      reportingController,
      reportingInstance: this.#reportingInstance,
      type,
      reason: reason.slice(0, 128),
      action: action.slice(0, 128),
      note: cutBytes(cleanMessage(note), 1_024),
      regarding,
      ...(related === undefined ? {} : { related }),
    };
  }

  #forget(series: Series): void {
    if (this.#series.get(series.key) === series) {
      this.#series.delete(series.key);
    }
  }

  #drop(why: 'spam' | 'queue', { reason, regarding }: EventDetails): void {
    this.#options.logger.debug('an event was held back', { why, reason, regarding: regarding.name });
    this.#options.onDropped?.(why);
  }
}

const transient: ReadonlySet<Answer['kind']> = new Set(['network', 'serverError', 'throttled']);

function keyOf({ regarding, related, type, reason, action, note }: EventDetails): string {
  const { kind, namespace = '', name, uid = '' } = regarding;
  return JSON.stringify([kind, namespace, name, uid, related?.name ?? '', type, reason, action, note]);
}

/** Puts the entry last and keeps the map small by its oldest entries. */
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > mostRemembered) {
    const [oldest] = map.keys();
    if (oldest !== undefined) {
      map.delete(oldest);
    }
  }
}

/** The longest beginning of at most `most` bytes of UTF-8 that does not cut a character. */
function cutBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) {
    return text;
  }
  // A decoder that is told that more follows leaves out the character that the cut went through.
  return new TextDecoder().decode(bytes.subarray(0, most), { stream: true });
}
