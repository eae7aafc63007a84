import type { IncomingMessage } from 'node:http';
import { type HttpAnswer, HttpListener, pathOf } from './http-listener.ts';
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
  /** Undefined: they are not served here. */
  readonly metrics: MetricsSource | undefined;
  readonly logger: Logger;
}

/** Serves /healthz, /readyz (both with ?verbose) and /metrics. */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #listener: HttpListener;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#listener = new HttpListener({
      answer: (request) => this.#answer(request),
      flag: 'http-address',
      logger: options.logger,
    });
  }

  /** As HttpListener.start. */
  start(host: string, port: number): Promise<number> {
    return this.#listener.start(host, port);
  }

  stop(): Promise<void> {
    return this.#listener.stop();
  }

  async #answer(request: IncomingMessage): Promise<HttpAnswer> {
    const { metrics, healthChecks, readyChecks } = this.#options;
    const asked = pathOf(request, ['/healthz', '/readyz', ...(metrics ? ['/metrics'] : [])]);
    if ('status' in asked) return asked;
    if (asked.path === '/metrics' && metrics) return metricsAnswer(metrics);
    const checks = asked.path === '/healthz' ? healthChecks : readyChecks;
    return report(asked.path.slice(1), checks, new URLSearchParams(asked.query).has('verbose'));
  }
}

export async function metricsAnswer(metrics: MetricsSource): Promise<HttpAnswer> {
  return { status: 200, body: await metrics.metrics(), headers: { 'Content-Type': metrics.contentType } };
}

// The form of the API server's own /readyz?verbose.
function report(name: string, checks: readonly Check[], verbose: boolean): HttpAnswer {
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
