import type { Dispatcher } from 'undici';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Answer } from './answer.ts';
import { NotSent, beforeSending } from './before-sending.ts';
import { classifyNetworkError, isAboutCertificates } from './classify.ts';
import type { Client, ListPage, RequestOptions, WatchEnd, WatchOptions } from './client.ts';
import { Connection, type KubeAccess, type Session } from './connection.ts';
import { Deadline } from './deadline.ts';
import { type AnswerHead, answerOf, refusalOf } from './decode.ts';
import { InFlight } from './in-flight.ts';
import { resourceOf, withQuery } from './paths.ts';
import { WatchStream } from './watch-stream.ts';

/** One finished request, for metrics. */
export interface RequestReport {
  readonly verb: 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete';
  /** Without names: `pods`, `pods/eviction`. */
  readonly resource: string;
  /** The HTTP status; undefined where no answer came. */
  readonly code: number | undefined;
  /** The kind of the Answer, or `aborted` by the caller, be it before it was sent. */
  readonly kind: Answer['kind'] | 'aborted';
  /** Of a watch: until the server accepted or refused it. */
  readonly seconds: number;
}

export interface KubeClientOptions {
  readonly access: KubeAccess;
  /** The version of haulout, for the User-Agent. */
  readonly version: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onRequest?: (report: RequestReport) => void;
  /** The Date header of each answer, with the monotonic times before the request left and after the answer came. */
  readonly onDate?: (date: string, sentMs: number, receivedMs: number) => void;
  /** Requests, and so connections, at once; watches are not counted. Default 150: evictions take 100 at most. */
  readonly maxInFlight?: number;
  /** Watches that wait to be accepted at once. Default 16. */
  readonly maxOpening?: number;
}

interface Exchange {
  readonly verb: RequestReport['verb'];
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
  readonly contentType?: string;
}

interface Sending {
  readonly deadline: Deadline;
  readonly accept: string | undefined;
  readonly check?: RequestOptions['beforeSending'];
}

const defaultTimeoutMs = 30_000;
const defaultIdleTimeoutMs = 90_000;
const json = 'application/json';
const patchTypes = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;

/** The Client over HTTPS. A second KubeClient shares no connection with the first. */
export class KubeClient implements Client {
  readonly #connection: Connection;
  readonly #inFlight: InFlight;
  readonly #opening: InFlight;
  readonly #options: KubeClientOptions;

  constructor(options: KubeClientOptions) {
    this.#options = options;
    this.#connection = new Connection(options.access, options.clock, options.logger);
    this.#inFlight = new InFlight(options.maxInFlight ?? 150);
    this.#opening = new InFlight(options.maxOpening ?? 16);
  }

  get<T>(path: string, options?: RequestOptions): Promise<Answer<T>> {
    return this.#request({ verb: 'get', method: 'GET', path }, options);
  }

  create<T>(path: string, body: object, options?: RequestOptions): Promise<Answer<T>> {
    return this.#request({ verb: 'create', method: 'POST', path: owned(path), body }, options);
  }

  patch<T>(
    path: string,
    type: 'merge' | 'strategic',
    body: object,
    options?: RequestOptions,
  ): Promise<Answer<T>> {
    const contentType = patchTypes[type];
    return this.#request({ verb: 'patch', method: 'PATCH', path: owned(path), body, contentType }, options);
  }

  update<T>(path: string, body: object, options?: RequestOptions): Promise<Answer<T>> {
    return this.#request({ verb: 'update', method: 'PUT', path: owned(path), body }, options);
  }

  delete<T>(path: string, body: object, options?: RequestOptions): Promise<Answer<T>> {
    return this.#request({ verb: 'delete', method: 'DELETE', path, body }, options);
  }

  list<T>(
    path: string,
    query: Readonly<Record<string, string>>,
    options?: RequestOptions,
  ): Promise<Answer<ListPage<T>>> {
    return this.#request({ verb: 'list', method: 'GET', path: withQuery(path, query) }, options);
  }

  async watch<T>(
    path: string,
    query: Readonly<Record<string, string>>,
    options: WatchOptions<T>,
  ): Promise<WatchEnd> {
    const { signal, openTimeoutMs = defaultTimeoutMs, idleTimeoutMs = defaultIdleTimeoutMs } = options;
    signal?.throwIfAborted();
    const report = this.#reporter('watch', path);
    const deadline = new Deadline(this.#options.clock, signal);
    const stream = new WatchStream(options);
    let opened = false;
    try {
      const response = await this.#open(
        withQuery(path, { ...query, watch: 'true' }),
        { deadline, accept: options.accept },
        openTimeoutMs,
      );
      if (response.statusCode !== 200) {
        const refusal = refusalOf(headOf(response), await response.body.text());
        report(refusal.kind, response.statusCode);
        return refusal;
      }
      opened = true;
      report('ok', response.statusCode);
      deadline.limit(idleTimeoutMs, 'the watch was silent');
      options.onOpen?.();
      return await stream.consume(response.body, () => {
        deadline.touch();
      });
    } catch (error) {
      signal?.throwIfAborted();
      if (stream.failed) {
        throw error;
      }
      const refusal = classifyNetworkError(deadline.signal.reason ?? error);
      if (!opened) {
        report(refusal.kind);
      }
      return refusal;
    } finally {
      deadline.abort();
      if (!opened && signal?.aborted === true) {
        report('aborted');
      }
    }
  }

  /** Ends every connection. What runs is answered with `network`. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  /** Few at once: each takes a connection of its own, and hundreds of handshakes together hold up everything else. */
  async #open(path: string, sending: Sending, timeoutMs: number): Promise<Dispatcher.ResponseData> {
    const { deadline } = sending;
    await this.#opening.enter(deadline.signal);
    try {
      deadline.limit(timeoutMs, 'the watch was not accepted');
      return await this.#send({ verb: 'watch', method: 'GET', path }, sending);
    } finally {
      this.#opening.leave();
    }
  }

  async #request<T>(exchange: Exchange, options: RequestOptions = {}): Promise<Answer<T>> {
    const { signal, timeoutMs = defaultTimeoutMs, accept, beforeSending: check } = options;
    signal?.throwIfAborted();
    const report = this.#reporter(exchange.verb, exchange.path);
    const deadline = new Deadline(this.#options.clock, signal);
    deadline.limit(timeoutMs, 'no answer');
    try {
      await this.#inFlight.enter(deadline.signal);
      try {
        const response = await this.#send(exchange, { deadline, accept, check });
        const answer = answerOf<T>(headOf(response), await response.body.text());
        report(answer.kind, response.statusCode);
        return answer;
      } finally {
        this.#inFlight.leave();
      }
    } catch (error) {
      if (signal?.aborted === true) {
        report('aborted');
        throw signal.reason;
      }
      if (error instanceof NotSent) {
        report('aborted');
        throw error.reason;
      }
      const refusal = classifyNetworkError(deadline.signal.reason ?? error);
      report(refusal.kind);
      return refusal;
    } finally {
      deadline.done();
    }
  }

  /** Sends, and after a 401 once more with credentials that were read anew. */
  async #send(exchange: Exchange, sending: Sending): Promise<Dispatcher.ResponseData> {
    const session = await sending.deadline.race(this.#connection.session());
    const response = await this.#dispatch(session, exchange, sending);
    if (response.statusCode !== 401) {
      return response;
    }
    const renewed = await sending.deadline.race(this.#connection.after401(session));
    if (renewed === undefined) {
      return response;
    }
    await response.body.dump();
    return this.#dispatch(renewed, exchange, sending);
  }

  async #dispatch(session: Session, exchange: Exchange, sending: Sending): Promise<Dispatcher.ResponseData> {
    try {
      return await this.#exchange(session, exchange, sending);
    } catch (error) {
      if (isAboutCertificates(error)) this.#connection.doubt(session);
      throw error;
    }
  }

  async #exchange(session: Session, exchange: Exchange, sending: Sending): Promise<Dispatcher.ResponseData> {
    const { clock, onDate } = this.#options;
    const sentMs = clock.monotonic();
    const { check } = sending;
    const agent = check === undefined ? session.agent : beforeSending(session.agent, check);
    const response = await agent.request({
      origin: this.#connection.origin,
      path: this.#connection.basePath + exchange.path,
      method: exchange.method,
      headers: {
        ...session.headers,
        accept: sending.accept ?? json,
        'user-agent': `haulout/${this.#options.version}`,
        ...(exchange.body === undefined ? {} : { 'content-type': exchange.contentType ?? json }),
      },
      body: exchange.body === undefined ? null : JSON.stringify(exchange.body),
      signal: sending.deadline.signal,
    });
    const { date } = response.headers;
    if (typeof date === 'string') onDate?.(date, sentMs, clock.monotonic());
    return response;
  }

  #reporter(verb: RequestReport['verb'], path: string) {
    const { clock, onRequest } = this.#options;
    const started = clock.monotonic();
    return (kind: RequestReport['kind'], code?: number): void => {
      const seconds = (clock.monotonic() - started) / 1_000;
      onRequest?.({ verb, resource: resourceOf(path), code, kind, seconds });
    };
  }
}

/** Name of the field manager on everything that we write. */
function owned(path: string): string {
  return withQuery(path, { fieldManager: 'haulout' });
}

function headOf({ statusCode, headers }: Dispatcher.ResponseData): AnswerHead {
  const { date } = headers;
  const retryAfter = headers['retry-after'];
  return {
    code: statusCode,
    plain: String(headers['content-type'] ?? '').startsWith('text/plain'),
    ...(typeof retryAfter === 'string' ? { retryAfter } : {}),
    ...(typeof date === 'string' ? { date } : {}),
  };
}
