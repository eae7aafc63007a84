import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Server as SecureServer } from 'node:https';
import { StartError } from '../cli/exit.ts';
import type { Certificate } from './certificates.ts';
import type { Logger } from './logger.ts';

/** What a request gets. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HttpListenerOptions {
  /** One that throws makes 500, and a line in the log. */
  readonly answer: (request: IncomingMessage) => Promise<HttpAnswer>;
  /** The flag that the address comes from, for the message where it cannot be used. */
  readonly flag: string;
  /** TLS with it; plain HTTP without. */
  readonly certificate?: Certificate;
  readonly logger: Logger;
}

// Nobody who asks here sends a body or needs long for a few headers.
const requestTimeoutMs = 10_000;

/** A port, and what is common to all answers that are given there. */
export class HttpListener {
  readonly #options: HttpListenerOptions;
  #server: Server | SecureServer | undefined;

  constructor(options: HttpListenerOptions) {
    this.#options = options;
  }

  /**
   * Listens and resolves to the port, the real one when `port` is 0. Rejects with a StartError that names the flag
   * when the address cannot be used.
   */
  async start(host: string, port: number): Promise<number> {
    const { certificate, flag, logger } = this.#options;
    const serve = (request: IncomingMessage, response: ServerResponse) => {
      void this.#serve(request, response);
    };
    const server = certificate ? createSecureServer(tlsOptions(certificate), serve) : createServer(serve);
    server.requestTimeout = requestTimeoutMs;
    server.headersTimeout = requestTimeoutMs;
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => {
        reject(listenError(error, host, port, flag));
      });
      server.listen(port, host, resolve);
    });
    server.removeAllListeners('error');
    server.on('error', (error) => {
      logger.error('http server failed', { error });
    });
    this.#server = server;
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : port;
  }

  /** Another certificate for connections from now on. Throws where it cannot be used, and keeps the one before. */
  renew(certificate: Certificate): void {
    if (this.#server && 'setSecureContext' in this.#server)
      this.#server.setSecureContext(tlsOptions(certificate));
  }

  /** Stops listening, cuts what is still open and resolves when all is closed. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    await new Promise<void>((resolve) => {
      server.close(() => {
        resolve();
      });
      server.closeAllConnections();
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let answer: HttpAnswer;
    try {
      answer = await this.#options.answer(request);
    } catch (error) {
      this.#options.logger.error('http request failed', { path: request.url, error });
      answer = { status: 500, body: 'internal error\n' };
    }
    response.writeHead(answer.status, {
      'Content-Type': 'text/plain; charset=utf-8',
      'Content-Length': Buffer.byteLength(answer.body),
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      ...answer.headers,
    });
    // Node leaves the body out of answers to HEAD.
    response.end(answer.body);
  }
}

/** The path and the query of a request for one of the paths, or the answer to any other one. */
export function pathOf(
  request: IncomingMessage,
  paths: readonly string[],
): { readonly path: string; readonly query: string } | HttpAnswer {
  const [path = '', query = ''] = (request.url ?? '').split('?');
  if (!paths.includes(path)) return { status: 404, body: 'not found\n' };
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return { status: 405, body: 'method not allowed\n', headers: { Allow: 'GET, HEAD' } };
  }
  return { path, query };
}

function tlsOptions({ certificate, key }: Certificate) {
  return { cert: certificate, key, minVersion: 'TLSv1.2' } as const;
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number, flag: string): StartError {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'another process listens there',
    EACCES: 'this user may not listen there',
    EADDRNOTAVAIL: 'this machine has no such address',
    ENOTFOUND: 'no such host is known',
  };
  const reason = reasons[error.code ?? ''] ?? error.message;
  const shown = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  return new StartError(`cannot listen on ${shown}: ${reason}; choose another address with --${flag}`, {
    cause: error,
  });
}
