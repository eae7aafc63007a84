/** The little of a Kubernetes client that the test bed needs: one shared connection pool, JSON, one watch loop. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import { parse } from 'yaml';
import { as } from './untyped.ts';

export interface KubeObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly namespace?: string;
    readonly resourceVersion?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
  };
}

export interface Answer {
  readonly status: number;
  /** The parsed body; any JSON, so the caller says what it is. */
  readonly body: unknown;
}

export interface RequestOptions {
  readonly body?: unknown;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubeObject;
}

interface KubeconfigFile {
  clusters: {
    cluster: {
      server: string;
      'certificate-authority-data'?: string;
      'insecure-skip-tls-verify'?: boolean;
    };
  }[];
  users: { user: { 'client-certificate-data'?: string; 'client-key-data'?: string; token?: string } }[];
}

const decode = (text: string | undefined): Buffer | undefined =>
  text === undefined ? undefined : Buffer.from(text, 'base64');

export class KubeClient {
  readonly server: string;
  readonly #agent: Agent;
  readonly #headers: Readonly<Record<string, string>>;

  /** The kubeconfig must hold one cluster and one user with its client certificate or its token inside. */
  constructor(kubeconfig: string, userAgent: string) {
    const file = as<KubeconfigFile>(parse(readFileSync(kubeconfig, 'utf8')));
    const cluster = file.clusters[0]?.cluster;
    const user = file.users[0]?.user;
    if (!cluster || !user) throw new Error(`${kubeconfig} names no cluster and user`);
    if (user.token === undefined && user['client-certificate-data'] === undefined)
      throw new Error(`${kubeconfig}: its user has neither a client certificate nor a token`);
    this.server = cluster.server;
    this.#headers = {
      accept: 'application/json',
      'user-agent': userAgent,
      ...(user.token === undefined ? {} : { authorization: `Bearer ${user.token}` }),
    };
    this.#agent = new Agent({
      connect: {
        timeout: 3000,
        ca: decode(cluster['certificate-authority-data']),
        cert: decode(user['client-certificate-data']),
        key: decode(user['client-key-data']),
        rejectUnauthorized: cluster['insecure-skip-tls-verify'] !== true,
      },
      headersTimeout: 30_000,
      bodyTimeout: 120_000,
    });
  }

  /** Any HTTP status is an answer; only a failed connection throws. */
  async request(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    options: RequestOptions = {},
  ): Promise<Answer> {
    const response = await request(this.server + path, {
      method,
      dispatcher: this.#agent,
      headers: {
        ...this.#headers,
        ...(options.body === undefined ? {} : { 'content-type': options.contentType ?? 'application/json' }),
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    const text = await response.body.text();
    return { status: response.statusCode, body: parseJson(text) };
  }

  /** As `request`, for callers to whom any other status than 2xx is a failure. */
  async must(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    options: RequestOptions = {},
  ): Promise<unknown> {
    const { status, body } = await this.request(method, path, options);
    if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  /** Yields the events of one watch until the server ends it; the path may carry a query. */
  async *watch(path: string, resourceVersion: string, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const query = `watch=true&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=${resourceVersion}`;
    const response = await request(`${this.server}${path}${path.includes('?') ? '&' : '?'}${query}`, {
      dispatcher: this.#agent,
      headers: this.#headers,
      signal,
    });
    if (response.statusCode !== 200) {
      throw new Error(`watch ${path}: ${response.statusCode} ${await response.body.text()}`);
    }
    let rest = '';
    for await (const chunk of response.body.setEncoding('utf8')) {
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield as<WatchEvent>(JSON.parse(line));
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
