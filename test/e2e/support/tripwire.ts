/**
 * A reverse proxy before the API server that stops at a chosen write: the operator can be killed or stopped exactly
 * there, with the write not sent, carried out and never answered, just answered, or held up until somebody lets it go.
 */
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import type { IncomingMessage } from 'node:http';
import { type Agent, request } from 'node:https';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import { listenInFront, proxyIdentity, type Upstream } from './in-front.ts';

/**
 * `before`: the write never reaches the API server. `after`: it is carried out, and its answer never arrives.
 * `answered`: its answer is on its way. `held`: it waits until it is released.
 */
export type TripMoment = 'before' | 'after' | 'answered' | 'held';

export interface Trip {
  readonly moment: TripMoment;
  /** The write that it stopped at, as `METHOD path`. */
  readonly write: string;
  /** Lets a write that is held go on; resolves to the status code that the API server answers with. */
  readonly release: () => Promise<number>;
}

interface Armed {
  /** How many more writes pass. */
  left: number;
  readonly moment: TripMoment;
  readonly about: string;
  readonly tripped: (trip: Trip) => void;
}

const WRITES = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
/** The Lease and events are no part of the work that a restart goes on with. */
const ASIDE = /^\/apis\/(coordination\.k8s\.io|events\.k8s\.io)\//;
/** Of HTTP/1.1 connections; HTTP/2 has no such headers. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'proxy-connection']);

export class Tripwire {
  /** For the operator: its own kubeconfig with this proxy for a server. */
  readonly kubeconfig: string;
  readonly #server: Http2SecureServer;
  readonly #upstream: URL;
  readonly #agent: Agent;
  #armed: Armed | undefined;
  #seen: string[] = [];

  /** Resolves when it listens. `dir` gets the kubeconfig, `NAME.kubeconfig`. */
  static async start(operatorKubeconfig: string, dir: string, name = 'tripwire'): Promise<Tripwire> {
    const identity = proxyIdentity('tripwire');
    const server = createSecureServer({ cert: identity.cert, key: identity.key, allowHTTP1: true });
    return new Tripwire(server, await listenInFront(server, identity, operatorKubeconfig, dir, name));
  }

  private constructor(server: Http2SecureServer, { kubeconfig, url, agent }: Upstream) {
    this.kubeconfig = kubeconfig;
    this.#server = server;
    this.#upstream = url;
    this.#agent = agent;
    server.on('request', (incoming, outgoing) => this.#serve(incoming, outgoing));
  }

  /** Trips at the `nth` write from now on whose path has `about` in it; at most one trip is armed at a time. */
  async trip(nth: number, moment: TripMoment, about = ''): Promise<Trip> {
    return new Promise((tripped) => {
      this.#armed = { left: nth - 1, moment, about, tripped };
    });
  }

  disarm(): void {
    this.#armed = undefined;
  }

  /** The writes that have come since the last call, as `METHOD path`. */
  takeWrites(): readonly string[] {
    const seen = this.#seen;
    this.#seen = [];
    return seen;
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    this.#server.close();
    return Promise.resolve();
  }

  #serve(incoming: Http2ServerRequest, outgoing: Http2ServerResponse): void {
    const trip = this.#decide(incoming);
    const write = `${incoming.method} ${incoming.url}`;
    const chunks: Buffer[] = [];
    incoming.on('error', () => undefined);
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body = Buffer.concat(chunks);
      const release = async (): Promise<number> => this.#forward(incoming, body, outgoing, 'pass');
      const tripped = (): void => trip?.tripped({ moment: trip.moment, write, release });
      if (trip?.moment === 'before' || trip?.moment === 'held') tripped();
      else if (trip?.moment === 'after') void this.#forward(incoming, body, outgoing, 'keep').then(tripped);
      else {
        if (trip) outgoing.once('finish', tripped);
        void release();
      }
    });
  }

  /** The trip that this request sets off. */
  #decide({ method, url }: Http2ServerRequest): Armed | undefined {
    const armed = this.#armed;
    if (!WRITES.has(method) || ASIDE.test(url)) return undefined;
    this.#seen.push(`${method} ${url}`);
    if (!armed || !url.includes(armed.about)) return undefined;
    if (armed.left-- > 0) return undefined;
    this.#armed = undefined;
    return armed;
  }

  /** Resolves to the status code when the whole answer is there; `keep`: nobody else gets it. */
  async #forward(
    incoming: Http2ServerRequest,
    body: Buffer,
    outgoing: Http2ServerResponse,
    what: 'pass' | 'keep',
  ): Promise<number> {
    const headers = Object.fromEntries(
      Object.entries(incoming.headers).filter(([name]) => !name.startsWith(':') && !HOP_BY_HOP.has(name)),
    );
    return new Promise((resolve) => {
      const upstream = request(
        new URL(incoming.url, this.#upstream),
        { method: incoming.method, headers: { ...headers, host: this.#upstream.host }, agent: this.#agent },
        (answer) => {
          if (what === 'pass') this.#answer(answer, outgoing);
          else answer.resume();
          answer.once('end', () => resolve(answer.statusCode ?? 502));
        },
      );
      upstream.on('error', () => outgoing.destroy());
      // A watch whose client has died must not go on at the API server. Writes on the wire do, so that each has either
      // happened or not: one that is cut off in the middle of an eviction has spent the budget and evicted nobody, and
      // the disruption controller takes two minutes to notice.
      outgoing.on('close', () => {
        if (!outgoing.writableEnded && !WRITES.has(incoming.method)) upstream.destroy();
      });
      upstream.end(body);
    });
  }

  #answer(answer: IncomingMessage, outgoing: Http2ServerResponse): void {
    const headers = Object.entries(answer.headers).filter(([name]) => !HOP_BY_HOP.has(name));
    // The client may be gone; what it asked for is done, and read to its end.
    if (outgoing.destroyed) {
      answer.resume();
      return;
    }
    outgoing.writeHead(answer.statusCode ?? 502, as<Record<string, string>>(Object.fromEntries(headers)));
    answer.pipe(outgoing);
    answer.on('error', () => outgoing.destroy());
  }
}
