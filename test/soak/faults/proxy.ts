/**
 * Stands between the operator and the API server, ends TLS, and does to requests and watches what a schedule says. It
 * speaks HTTP/1.1, as the operator does.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Agent, createServer, request, type Server } from 'node:https';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import { listenInFront, proxyIdentity, type Upstream } from '../../e2e/support/in-front.ts';
import { Ambush, type Fault, type RequestHarm, type Strike, type StreamHarm } from './faults.ts';
import { isWatch, requestName, resourceOf } from './request-name.ts';
import { refuse, statusOf } from './refusals.ts';

const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'host']);

export class FaultProxy {
  /** For the operator: its own kubeconfig with this proxy for a server. */
  readonly kubeconfig: string;
  readonly #server: Server;
  readonly #upstream: URL;
  readonly #agent: Agent;
  readonly #sockets = new Set<Socket>();
  #ambush = new Ambush([]);

  /** Resolves when it listens. `dir` gets the kubeconfig. */
  static async start(operatorKubeconfig: string, dir: string): Promise<FaultProxy> {
    const identity = proxyIdentity('fault-proxy');
    const { cert, key } = identity;
    // Connections that are idle stay: when the operator gives one up is its own affair.
    const server = createServer({ cert, key, keepAliveTimeout: 0, requestTimeout: 0 });
    const upstream = await listenInFront(server, identity, operatorKubeconfig, dir, 'fault-proxy');
    return new FaultProxy(server, upstream);
  }

  private constructor(server: Server, { kubeconfig, url, agent }: Upstream) {
    this.kubeconfig = kubeconfig;
    this.#server = server;
    this.#upstream = url;
    this.#agent = agent;
    // Also those whose handshake has not come to its end.
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
    });
    server.on('secureConnection', (socket: Socket) => socket.on('error', () => undefined));
    server.on('request', (incoming, outgoing) => void this.#serve(incoming, outgoing));
  }

  /** From now on these happen, each once; requests and events are counted anew. */
  arm(faults: readonly Fault[]): void {
    this.#ambush = new Ambush(faults);
  }

  /** Nothing more happens; what has happened stays known. */
  disarm(): void {
    this.#ambush.disarm();
  }

  /** What has happened since `arm`. */
  get strikes(): readonly Strike[] {
    return this.#ambush.strikes;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#agent.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const gone = new AbortController();
    outgoing.on('error', () => undefined);
    outgoing.once('close', () => gone.abort());
    try {
      const body = await read(incoming);
      const { method = '', url = '' } = incoming;
      const harm = this.#ambush.request(requestName(method, url), `${method} ${url}`);
      await this.#play(harm, { incoming, outgoing, body, gone: gone.signal });
    } catch {
      // One side has gone away: so does the other.
      outgoing.destroy();
    }
  }

  async #play(harm: RequestHarm | undefined, exchange: Exchange): Promise<void> {
    const { outgoing, gone } = exchange;
    switch (harm?.does) {
      case undefined:
        return this.#pass(exchange);
      case 'delay':
        await sleep(harm.ms, undefined, { signal: gone });
        return this.#pass(exchange);
      case 'lose request':
        await passed(harm.ms, gone);
        outgoing.destroy();
        return;
      case 'lose answer': {
        const answer = await this.#forward(exchange);
        if (isWatch(exchange.incoming.url)) answer.destroy();
        else await read(answer);
        await passed(harm.ms, gone);
        outgoing.destroy();
        return;
      }
      case 'cut answer':
      case 'tear answer':
        return this.#shorten(harm, exchange);
      case 'answer':
        if (harm.carriedOut) await read(await this.#forward(exchange));
        refuse(outgoing, harm.code, harm.retryAfterSeconds);
    }
  }

  /** A part of the answer, with or without the lie that it is whole. */
  async #shorten(
    { does, share }: Extract<RequestHarm, { does: 'cut answer' | 'tear answer' }>,
    exchange: Exchange,
  ): Promise<void> {
    const { incoming, outgoing } = exchange;
    const answer = await this.#forward(exchange);
    const head = headersOf(answer);
    if (isWatch(incoming.url)) {
      // Its body is cut or torn by what happens to events; here it is accepted, and that is all.
      answer.destroy();
      outgoing.writeHead(answer.statusCode ?? 502, head);
      outgoing.flushHeaders();
      if (does === 'cut answer') outgoing.destroy();
      else outgoing.end('{"type":"ADD');
      return;
    }
    const body = await read(answer);
    const part = body.subarray(0, Math.floor(body.length * share));
    const length = does === 'cut answer' ? body.length : part.length;
    outgoing.writeHead(answer.statusCode ?? 502, { ...head, 'content-length': String(length) });
    if (does === 'tear answer') outgoing.end(part);
    else outgoing.write(part, () => outgoing.destroy());
  }

  async #pass(exchange: Exchange): Promise<void> {
    const { incoming, outgoing } = exchange;
    const answer = await this.#forward(exchange);
    if (isWatch(incoming.url) && answer.statusCode === 200) return this.#passEvents(answer, exchange);
    const body = await read(answer);
    outgoing.writeHead(answer.statusCode ?? 502, {
      ...headersOf(answer),
      'content-length': String(body.length),
    });
    outgoing.end(body);
  }

  async #passEvents(answer: IncomingMessage, { incoming, outgoing, gone }: Exchange): Promise<void> {
    const resource = resourceOf(incoming.url ?? '');
    outgoing.writeHead(200, headersOf(answer));
    outgoing.flushHeaders();
    for await (const line of linesOf(answer)) {
      const harm = this.#ambush.event(resource);
      if (harm !== undefined && (await spoil(harm, line, outgoing, gone)) === 'over') {
        answer.destroy();
        return;
      }
      if (harm?.does !== 'tear') outgoing.write(`${line}\n`);
    }
    outgoing.end();
  }

  /** Resolves to the head of the API server's answer. */
  #forward({ incoming, body, gone }: Exchange): Promise<IncomingMessage> {
    const { method = 'GET', url = '' } = incoming;
    const headers = { ...headersOf(incoming), host: this.#upstream.host };
    // A write that is on its way is carried out, so that it has either happened or not: an eviction that the API server
    // is cut off in has spent its budget and evicted nobody, which takes the disruption controller two minutes to see.
    const signal = method === 'GET' ? { signal: gone } : {};
    return new Promise((resolve, reject) => {
      const upstream = request(
        new URL(url, this.#upstream),
        { method, agent: this.#agent, headers: { ...headers, 'content-length': body.length }, ...signal },
        resolve,
      );
      upstream.on('error', reject);
      upstream.end(body);
    });
  }
}

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly body: Buffer;
  /** Aborted when the operator's side is closed. */
  readonly gone: AbortSignal;
}

/** What happens to a watch at an event; `over`: nothing follows. */
async function spoil(
  harm: StreamHarm,
  line: string,
  outgoing: ServerResponse,
  gone: AbortSignal,
): Promise<'over' | 'on'> {
  const half = line.slice(0, Math.floor(line.length / 2));
  switch (harm.does) {
    case 'end':
      outgoing.end();
      return 'over';
    case 'cut':
      outgoing.write(half, () => outgoing.destroy());
      return 'over';
    case 'tear':
      outgoing.write(`${half}\n`);
      return 'on';
    case 'garble':
      outgoing.write('\u0000\ufffd<html>}{\n');
      return 'on';
    case 'error':
      outgoing.end(`${JSON.stringify({ type: 'ERROR', object: statusOf(harm.code) })}\n`);
      return 'over';
    case 'stall':
      await passed(harm.ms, gone);
      return 'on';
  }
}

/** So many milliseconds; where none are said, until the operator gives the connection up. */
async function passed(ms: number | undefined, gone: AbortSignal): Promise<void> {
  if (ms !== undefined) await sleep(ms, undefined, { signal: gone });
  else if (!gone.aborted) await once(gone, 'abort');
}

/** Not by the operator's own splitter: a bug in it would be at both ends, and nobody would see it. */
async function* linesOf(message: IncomingMessage): AsyncGenerator<string> {
  let rest = Buffer.alloc(0);
  for await (const chunk of message) {
    rest = Buffer.concat([rest, as<Buffer>(chunk)]);
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n')) {
      yield rest.toString('utf8', 0, end);
      rest = rest.subarray(end + 1);
    }
  }
}

async function read(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(as<Buffer>(chunk));
  return Buffer.concat(chunks);
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return as<Record<string, string>>(
    Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name))),
  );
}
