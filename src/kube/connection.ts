import { createSecureContext } from 'node:tls';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';

/** How to prove who we are, as read at one moment. */
export interface Credentials {
  readonly tls: {
    readonly ca?: string | Buffer;
    readonly cert?: string | Buffer;
    readonly key?: string | Buffer;
    readonly rejectUnauthorized?: boolean;
    readonly servername?: string;
  };
  /** Authorization and impersonation. Never to be logged. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Where the API server is and how to get in; made by `loadKubeConfig`. */
export interface KubeAccess {
  /** The URL of the API server, possibly with a base path. */
  readonly server: string;
  /** An http or https proxy on the way. */
  readonly proxyUrl?: string;
  /** `fresh`: what was read before is not good any more (401), read the configuration from its origin again. */
  credentials(fresh: boolean): Promise<Credentials>;
}

export interface Session {
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: Dispatcher;
  readonly tls: string;
  readonly readAt: number;
}

// Tokens of service accounts are replaced in their file well before they expire; client-go reads them once a minute.
const reuseMs = 60_000;
const shortestRefreshMs = 5_000;
// Below the 90 s after which the API server closes an idle connection, so that no request meets the closing.
const idleConnectionMs = 30_000;

/** Credentials and connections to the API server; renews both without a restart. */
export class Connection {
  readonly origin: string;
  /** Prefix of every path; empty for most servers. */
  readonly basePath: string;
  readonly #access: KubeAccess;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #agents = new Set<Dispatcher>();
  #session: Session | undefined;
  #refreshing: Promise<Session> | undefined;
  #forcedAt = Number.NEGATIVE_INFINITY;
  /** What was read last was not believed, or did not believe the server: it is read from its origin. */
  #isDoubted = false;
  #closed = false;

  constructor(access: KubeAccess, clock: Clock, logger: Logger) {
    const url = new URL(access.server);
    this.origin = url.origin;
    this.basePath = url.pathname.replace(/\/+$/, '');
    this.#access = access;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Credentials not older than a minute, with connections that use them. Throws when there are none. */
  async session(): Promise<Session> {
    const session = this.#session;
    if (session !== undefined && this.#clock.monotonic() - session.readAt < reuseMs) {
      return session;
    }
    return this.#refresh(this.#isDoubted);
  }

  /** The server's certificate was not believed, or ours was not: what there is now is read soon, not in a minute. */
  doubt(used: Session): void {
    if (this.#session?.tls !== used.tls) return;
    const readAt = Math.min(used.readAt, this.#clock.monotonic() - reuseMs + shortestRefreshMs);
    this.#session = { ...this.#session, readAt };
    this.#isDoubted = true;
  }

  /** What to try after a 401 to `used`; undefined when there is nothing newer to try. */
  async after401(used: Session): Promise<Session | undefined> {
    if (this.#session !== undefined && this.#session.headers !== used.headers) {
      return this.#session;
    }
    // Credentials that are refused for good must not run an exec plugin for every request.
    if (this.#clock.monotonic() - this.#forcedAt < shortestRefreshMs) {
      return undefined;
    }
    this.#forcedAt = this.#clock.monotonic();
    return this.#refresh(true);
  }

  /** Ends every connection; running requests fail. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#session = undefined;
    const reason = new Error('the client is closed');
    await Promise.all([...this.#agents].map(async (agent) => agent.destroy(reason)));
    this.#agents.clear();
  }

  #refresh(fresh: boolean): Promise<Session> {
    this.#refreshing ??= this.#read(fresh).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #read(fresh: boolean): Promise<Session> {
    const readAt = this.#clock.monotonic();
    const old = this.#session;
    let credentials: Credentials;
    try {
      credentials = await this.#access.credentials(fresh);
    } catch (error) {
      return this.#keep(old, readAt, error);
    }
    if (this.#closed) {
      throw new Error('the client is closed');
    }
    if (fresh) this.#isDoubted = false;
    const tls = fingerprint(credentials);
    if (old !== undefined && old.tls === tls) {
      this.#session = { ...old, headers: credentials.headers, readAt };
      return this.#session;
    }
    let agent: Dispatcher;
    try {
      agent = this.#newAgent(credentials);
    } catch (error) {
      return this.#keep(old, readAt, error);
    }
    const session: Session = { headers: credentials.headers, agent, tls, readAt };
    this.#session = session;
    if (old !== undefined) {
      this.#logger.info('the certificates for the API server changed, using new connections');
      // Close lets what runs finish: watches end by themselves within ten minutes.
      this.#retire(old.agent);
    }
    return session;
  }

  /**
   * What is read while it is being replaced may be missing for a moment, or be a certificate whose key is still the old
   * one; what we have is most likely still good.
   */
  #keep(old: Session | undefined, readAt: number, error: unknown): Session {
    if (old === undefined) {
      throw new Error('cannot get credentials', { cause: error });
    }
    this.#logger.warn('cannot renew the credentials, the old ones stay in use', {
      error: error instanceof Error ? error.message : String(error),
    });
    this.#session = { ...old, readAt: readAt - reuseMs + shortestRefreshMs };
    return this.#session;
  }

  #newAgent({ tls }: Credentials): Dispatcher {
    const { ca, cert, key, ...rest } = tls;
    // Made once: reading the certificates anew takes more time than all the rest of a connection's beginning.
    const forTls = { ...rest, secureContext: createSecureContext({ ca, cert, key }) };
    const options: Agent.Options = {
      // HTTP/1.1: with Node's HTTP/2 an aborted request whose body is still queued spins in native code and fills the
      // memory (nghttp2 sends empty DATA frames for ever), and a GOAWAY with an error code after an aborted stream is
      // an uncaught exception. A connection for each running request and watch costs less than a leader that hangs.
      allowH2: false,
      // Every exchange has its own time limits (deadline.ts).
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: idleConnectionMs,
      connect: { ...forTls, keepAlive: true, keepAliveInitialDelay: 30_000 },
    };
    const { proxyUrl } = this.#access;
    const agent =
      proxyUrl === undefined
        ? new Agent(options)
        : new ProxyAgent({ ...options, uri: proxyUrl, requestTls: forTls });
    this.#agents.add(agent);
    return agent;
  }

  #retire(agent: Dispatcher): void {
    agent
      .close()
      .catch(() => {})
      .finally(() => this.#agents.delete(agent));
  }
}

function fingerprint({ tls }: Credentials): string {
  return JSON.stringify([
    tls.ca?.toString(),
    tls.cert?.toString(),
    tls.key?.toString(),
    tls.rejectUnauthorized,
    tls.servername,
  ]);
}
