import type { IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import type { SecureMetricsOptions } from './cli/flags.ts';
import type { Client } from './kube/client.ts';
import { MetricsAccess, type Verdict } from './kube/metrics-access.ts';
import { CertificateFiles } from './runtime/certificate-files.ts';
import { createAuthority, createCertificate } from './runtime/certificates.ts';
import type { Clock } from './runtime/clock.ts';
import { type HttpAnswer, HttpListener, pathOf } from './runtime/http-listener.ts';
import { type MetricsSource, metricsAnswer } from './runtime/http-server.ts';
import type { Logger } from './runtime/logger.ts';

export interface SecureMetricsServerOptions {
  readonly settings: SecureMetricsOptions;
  readonly metrics: MetricsSource;
  readonly client: Pick<Client, 'create'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const refusals: Readonly<Record<Exclude<Verdict, 'allowed'>, HttpAnswer>> = {
  unauthenticated: {
    status: 401,
    body: 'a bearer token of this cluster is needed\n',
    headers: { 'WWW-Authenticate': 'Bearer' },
  },
  forbidden: { status: 403, body: 'this user may not get the non-resource URL /metrics\n' },
  unknown: {
    status: 503,
    body: 'the API server could not be asked who may read this\n',
    headers: { 'Retry-After': '5' },
  },
};

/** Serves /metrics over TLS to those whom the API server lets read it. Probes stay where they are, for kubelets. */
export class SecureMetricsServer {
  readonly #options: SecureMetricsServerOptions;
  readonly #access: MetricsAccess;
  readonly #files: CertificateFiles | undefined;
  readonly #listener: HttpListener;

  /** Throws a StartError where the given certificate cannot be read. */
  constructor(options: SecureMetricsServerOptions) {
    this.#options = options;
    const { settings, clock, logger, client } = options;
    this.#access = new MetricsAccess({ client, clock, logger });
    const { certDir: directory } = settings;
    this.#files =
      directory === undefined
        ? undefined
        : new CertificateFiles({ directory, clock, logger, onChange: (pair) => this.#listener.renew(pair) });
    this.#listener = new HttpListener({
      answer: (request) => this.#answer(request),
      flag: 'metrics-address',
      certificate: this.#files?.current ?? selfMade(),
      logger,
    });
  }

  async start(): Promise<void> {
    const { host, port } = this.#options.settings.address;
    const metricsPort = await this.#listener.start(host, port);
    this.#files?.start();
    this.#options.logger.info('serving /metrics over TLS', { host, metricsPort });
  }

  async stop(): Promise<void> {
    this.#files?.stop();
    await this.#listener.stop();
  }

  async #answer(request: IncomingMessage): Promise<HttpAnswer> {
    const asked = pathOf(request, ['/metrics']);
    if ('status' in asked) return asked;
    const verdict = await this.#access.check(request.headers.authorization);
    return verdict === 'allowed' ? metricsAnswer(this.#options.metrics) : refusals[verdict];
  }
}

/** Keeps listeners out; it proves nothing about who serves. Another one for each process. */
function selfMade() {
  return createCertificate(createAuthority('haulout'), { commonName: 'haulout', dnsNames: [hostname()] });
}
