import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { StartError } from '../cli/exit.ts';
import type { Logger } from './logger.ts';

/** One thing that must be right. */
export interface Check {
  readonly name: string;
  /** What is wrong, in a few words, or undefined. One that throws has failed. */
  readonly check: () => string | undefined;
}

/** The part of a prom-client registry that is served. */
export interface MetricsSource {
  readonly contentType: string;
  metrics(): Promise<string>;
}

export interface HttpServerOptions {
  /** /healthz: the process is alive. One that fails makes the kubelet start the container again. */
  readonly healthChecks: readonly Check[];
  /** /readyz: the process can do its work, or could at once if it were the leader. */
  readonly readyChecks: readonly Check[];
  readonly metrics: MetricsSource;
  readonly logger: Logger;
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

// Nobody who asks here sends a body or needs long for a few headers.
const requestTimeoutMs = 10_000;

/** Serves /healthz, /readyz (both with ?verbose) and /metrics. */
export class HttpServer {
  readonly #options: HttpServerOptions;
  #server: Server | undefined;

  constructor(options: HttpServerOptions) {
    this.#options = options;
  }

  /**
   * Listens and resolves to the port, the real one when `port` is 0. Rejects with a StartError that names the flag
   * when the address cannot be used.
   */
  async start(host: string, port: number): Promise<number> {
    const server = createServer((request, response) => {
      void this.#serve(request, response);
    });
    server.requestTimeout = requestTimeoutMs;
    server.headersTimeout = requestTimeoutMs;
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => {
        reject(listenError(error, host, port));
      });
      server.listen(port, host, resolve);
    });
    server.removeAllListeners('error');
    server.on('error', (error) => {
      this.#options.logger.error('http server failed', { error });
    });
    this.#server = server;
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : port;
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
    let answer: Answer;
    try {
      answer = await this.#answer(request);
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

  async #answer(request: IncomingMessage): Promise<Answer> {
    const [path = '', query = ''] = (request.url ?? '').split('?');
    if (!['/healthz', '/readyz', '/metrics'].includes(path)) return { status: 404, body: 'not found\n' };
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return { status: 405, body: 'method not allowed\n', headers: { Allow: 'GET, HEAD' } };
    }
    if (path === '/metrics') {
      const { metrics } = this.#options;
      return { status: 200, body: await metrics.metrics(), headers: { 'Content-Type': metrics.contentType } };
    }
    const checks = path === '/healthz' ? this.#options.healthChecks : this.#options.readyChecks;
    return report(path.slice(1), checks, new URLSearchParams(query).has('verbose'));
  }
}

// The form of the API server's own /readyz?verbose.
function report(name: string, checks: readonly Check[], verbose: boolean): Answer {
  const problems = checks.map((check) => ({ name: check.name, problem: run(check) }));
  const failed = problems.some(({ problem }) => problem !== undefined);
  if (!failed && !verbose) return { status: 200, body: 'ok\n' };
  const lines = problems.map((one) =>
    one.problem === undefined ? `[+]${one.name} ok` : `[-]${one.name} failed: ${one.problem}`,
  );
  lines.push(`${name} check ${failed ? 'failed' : 'passed'}`);
  return { status: failed ? 503 : 200, body: `${lines.join('\n')}\n` };
}

function run({ check }: Check): string | undefined {
  try {
    return check();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): StartError {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'another process listens there',
    EACCES: 'this user may not listen there',
    EADDRNOTAVAIL: 'this machine has no such address',
    ENOTFOUND: 'no such host is known',
  };
  const reason = reasons[error.code ?? ''] ?? error.message;
  const shown = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  return new StartError(`cannot listen on ${shown}: ${reason}; choose another address with --http-address`, {
    cause: error,
  });
}
