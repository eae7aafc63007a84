import { backoffMs } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Refusal } from './answer.ts';
import type { Client, WatchEnd, WatchEvent } from './client.ts';
import { Doubt } from './doubt.ts';
import { listAll } from './list-all.ts';
import { pause } from './pause.ts';
import type { Store } from './store.ts';
import type { KubeObject } from './types.ts';

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: Client;
  /** The collection: `/api/v1/nodes`, `/apis/policy/v1/namespaces/x/poddisruptionbudgets`. */
  readonly path: string;
  /** `fieldSelector`, `labelSelector`. */
  readonly query?: Readonly<Record<string, string>>;
  /** Asks for metadata only (PartialObjectMetadata); `T` must then read nothing else. */
  readonly metadataOnly?: boolean;
  /** As in listAll. */
  readonly pageSize?: number;
  /** Written by this reflector alone. */
  readonly store: Store<T>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A change has to come soon: a watch that is silent for seconds then is begun anew. */
  readonly isChangeDue?: () => boolean;
  /** Numbers from 0 up to 1. Default Math.random. */
  readonly random?: () => number;
  /** A list was taken into the store; `first` of this run. */
  readonly onList?: (list: {
    readonly first: boolean;
    readonly objects: number;
    readonly seconds: number;
  }) => void;
  /** A watch ended (also in good order, as `ended`); another follows. */
  readonly onWatchEnd?: (kind: WatchEnd['kind']) => void;
}

export interface ReflectorState {
  readonly phase: 'stopped' | 'listing' | 'watching' | 'waiting';
  /** Why the last list or watch failed; undefined while all is well. */
  readonly error: Refusal | undefined;
  /** Wall-clock milliseconds of the last list, event or bookmark: how old the store may be. */
  readonly lastSeenMs: number | undefined;
}

// A watch that held so long was healthy: the next failure is a new one.
const healthyMs = 60_000;
// The server ends a watch that it cannot serve at once; resuming it without a pause would spin.
const shortestWatchMs = 1_000;
const firstRetryMs = 100;
const retry = { baseMs: 800, maxMs: 10_000, factor: 2, jitter: 0.5 } as const;
const watchSeconds = { least: 300, spread: 300 } as const;

/**
 * Keeps a Store equal to a collection of the API server: lists, watches, resumes, and lists again where events may
 * have been missed. It never gives up; what keeps it from working is in `state`.
 */
export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #random: () => number;
  readonly #doubt: Doubt;
  readonly #synced = Promise.withResolvers<void>();
  #hasSynced = false;
  #phase: ReflectorState['phase'] = 'stopped';
  #error: Refusal | undefined;
  #lastSeenMs: number | undefined;
  #run: { readonly controller: AbortController; readonly ended: Promise<void> } | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#doubt = new Doubt(options.clock, options.isChangeDue ?? (() => false));
  }

  /** The store has held a whole list at least once. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Resolves with the first whole list. Stays pending when the reflector is stopped before. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  get state(): ReflectorState {
    return { phase: this.#phase, error: this.#error, lastSeenMs: this.#lastSeenMs };
  }

  /** Begins a run. Throws when one is under way. */
  start(): void {
    if (this.#run !== undefined) {
      throw new Error(`the reflector of ${this.#options.path} is running`);
    }
    const controller = new AbortController();
    this.#run = { controller, ended: this.#loop(controller.signal) };
  }

  /** Ends the run. When the promise resolves, no listener of the store is called any more. */
  async stop(): Promise<void> {
    const run = this.#run;
    if (run === undefined) {
      return;
    }
    run.controller.abort(new Error('the reflector is stopped'));
    await run.ended;
    this.#options.store.forgetMissed();
    if (this.#run === run) {
      this.#run = undefined;
      this.#phase = 'stopped';
    }
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const cycle: Cycle = { version: undefined, fresh: false, failures: 0, first: true };
    while (!signal.aborted) {
      let trouble: Refusal | 'brief' | undefined;
      try {
        trouble =
          cycle.version === undefined ? await this.#list(cycle, signal) : await this.#watch(cycle, signal);
      } catch (error) {
        if (signal.aborted) {
          return;
        }
        // Ours: `trim` met an object that it cannot read, or a bug. What it left half done is listed again.
        this.#options.logger.error('a reflector failed', {
          path: this.#options.path,
          error: error instanceof Error ? (error.stack ?? error.message) : String(error),
        });
        cycle.version = undefined;
        trouble = { kind: 'invalid', message: 'an object could not be read' };
      }
      if (trouble !== undefined) {
        await this.#pause(cycle, trouble, signal);
      }
    }
  }

  async #list(cycle: Cycle, signal: AbortSignal): Promise<Refusal | undefined> {
    const { client, path, query = {}, metadataOnly, pageSize, store, clock, onList } = this.#options;
    this.#phase = 'listing';
    const started = clock.monotonic();
    store.beginList();
    const answer = await listAll<T>(client, path, {
      query,
      signal,
      ...(metadataOnly === true ? { accept: metadataAccept('PartialObjectMetadataList') } : {}),
      ...(pageSize === undefined ? {} : { pageSize }),
      map: (object) => store.trim(object),
    });
    signal.throwIfAborted();
    if (answer.kind !== 'ok') {
      return answer;
    }
    const { items, resourceVersion } = answer.object;
    store.replace(items);
    cycle.version = resourceVersion;
    cycle.fresh = true;
    this.#lastSeenMs = clock.now();
    this.#error = undefined;
    onList?.({ first: cycle.first, objects: items.length, seconds: (clock.monotonic() - started) / 1_000 });
    cycle.first = false;
    if (!this.#hasSynced) {
      this.#hasSynced = true;
      this.#synced.resolve();
    }
    return undefined;
  }

  async #watch(cycle: Cycle, signal: AbortSignal): Promise<Refusal | 'brief' | undefined> {
    const { client, path, query = {}, metadataOnly, clock, logger, onWatchEnd } = this.#options;
    let openedMs: number | undefined;
    let events = 0;
    const { fresh } = cycle;
    cycle.fresh = false;
    const seconds = watchSeconds.least + Math.floor(this.#random() * watchSeconds.spread);
    const accept = metadataOnly === true ? { accept: metadataAccept('PartialObjectMetadata') } : {};
    const resourceVersion = cycle.version ?? '';
    const end = await this.#doubt.over(signal, async (trusted) =>
      client.watch<T>(
        path,
        { ...query, resourceVersion, allowWatchBookmarks: 'true', timeoutSeconds: String(seconds) },
        {
          signal: trusted,
          ...accept,
          onOpen: () => {
            openedMs = clock.monotonic();
            this.#phase = 'watching';
            this.#error = undefined;
            this.#doubt.opened();
          },
          onEvent: (event) => {
            events += 1;
            this.#apply(event, cycle);
          },
        },
      ),
    );
    signal.throwIfAborted();
    if (end.kind === 'doubted') {
      logger.info('a change is due and nothing comes, watching anew', { path });
      onWatchEnd?.('network');
      return undefined;
    }
    const lastedMs = openedMs === undefined ? 0 : clock.monotonic() - openedMs;
    // A server that has just started sends no bookmarks for what has never changed: silence is no failure. But one whose
    // data went back in time (a restored backup) accepts a version that it has not reached yet and then says nothing
    // either: resuming such a watch would never end, so it is listed again.
    const silent = lastedMs >= healthyMs && events === 0;
    onWatchEnd?.(silent ? 'ended' : end.kind);
    if (lastedMs >= healthyMs) {
      cycle.failures = 0;
    }
    if (silent) {
      cycle.version = undefined;
      return undefined;
    }
    if (relistAfter.has(end.kind)) {
      cycle.version = undefined;
    }
    // The server works again after an outage and has forgotten what was before it: what is missing is listed at once.
    if (end.kind === 'expired' && !fresh) {
      return undefined;
    }
    if (end.kind === 'ended') {
      return lastedMs < shortestWatchMs ? 'brief' : undefined;
    }
    return end;
  }

  #apply(event: WatchEvent<T>, cycle: Cycle): void {
    const { store, clock } = this.#options;
    switch (event.type) {
      case 'ADDED':
      case 'MODIFIED':
        store.put(event.object);
        break;
      case 'DELETED':
        store.remove(event.object);
        break;
      case 'BOOKMARK':
        break;
    }
    if (event.type !== 'BOOKMARK') this.#doubt.heard();
    // Only now: an event that could not be applied must not be skipped.
    cycle.version = event.object.metadata.resourceVersion;
    this.#lastSeenMs = clock.now();
  }

  /** Waits before the next try: hardly after the first failure, then longer each time. */
  async #pause(cycle: Cycle, trouble: Refusal | 'brief', signal: AbortSignal): Promise<void> {
    const { clock, logger, path } = this.#options;
    cycle.failures += 1;
    let delayMs =
      cycle.failures === 1
        ? firstRetryMs * this.#random()
        : backoffMs(cycle.failures - 1, retry, this.#random);
    if (trouble !== 'brief') {
      const known = this.#error?.kind === trouble.kind;
      this.#error = trouble;
      if (trouble.kind === 'throttled') {
        delayMs = Math.max(delayMs, trouble.retryAfterSeconds * 1_000);
      }
      // An outage is one line, not one a try; a watch that is simply too old is everyday life.
      const level = known || trouble.kind === 'expired' ? 'debug' : 'warn';
      logger[level]('list or watch failed, trying again', {
        path,
        cause: trouble.kind,
        error: trouble.message,
        delayMs: Math.round(delayMs),
      });
    }
    this.#phase = 'waiting';
    await pause(clock, delayMs, signal);
  }
}

interface Cycle {
  /** The resourceVersion up to which the store is right; undefined: list first. */
  version: string | undefined;
  /** `version` is that of a list, and no watch has begun from it yet. */
  fresh: boolean;
  /** Failures in a row. */
  failures: number;
  /** Nothing was listed in this run yet. */
  first: boolean;
}

/**
 * Ends after which events may be missing, so that resuming is no use. `notServed`: the CRD was removed, and its objects
 * with it. Everything else (no connection, overload, permissions taken away) leaves the version good.
 */
const relistAfter: ReadonlySet<WatchEnd['kind']> = new Set(['expired', 'invalid', 'notServed', 'notFound']);

function metadataAccept(as: string): string {
  return `application/json;as=${as};g=meta.k8s.io;v=v1,application/json`;
}
