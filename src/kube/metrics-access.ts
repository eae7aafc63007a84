import { createHash } from 'node:crypto';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Client } from './client.ts';

/** `unknown`: the API server could not be asked. */
export type Verdict = 'allowed' | 'unauthenticated' | 'forbidden' | 'unknown';

export interface MetricsAccessOptions {
  readonly client: Pick<Client, 'create'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
}

interface TokenReview {
  readonly status?: { readonly authenticated?: boolean; readonly user?: User };
}

interface User {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

interface SubjectAccessReview {
  readonly status?: { readonly allowed?: boolean };
}

const tokenReviews = '/apis/authentication.k8s.io/v1/tokenreviews';
const accessReviews = '/apis/authorization.k8s.io/v1/subjectaccessreviews';

// A permission that is taken away, and a token that is revoked, end within a minute.
const rememberedMs = { allowed: 60_000, refused: 10_000 } as const;
const mostRemembered = 1_000;
// Strangers with invented tokens must not make the operator a burden for the API server.
const mostAtOnce = 8;
const timeoutMs = 5_000;

interface Memory {
  readonly verdict: Promise<Verdict>;
  until: number;
  isAllowed: boolean;
}

/** Who may read /metrics: whom the API server knows by the bearer token, and lets GET the non-resource URL /metrics. */
export class MetricsAccess {
  readonly #options: MetricsAccessOptions;
  /** By a hash: a token is a secret, and is not kept. */
  readonly #remembered = new Map<string, Memory>();
  #asking = 0;

  constructor(options: MetricsAccessOptions) {
    this.#options = options;
  }

  /** `authorization` is the header of that name. */
  async check(authorization: string | undefined): Promise<Verdict> {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) return 'unauthenticated';
    const key = createHash('sha256').update(token).digest('base64');
    const known = this.#remembered.get(key);
    if (known && this.#options.clock.monotonic() < known.until) return known.verdict;
    // Who may read goes on reading while strangers try.
    const wasAllowed = known?.isAllowed ?? false;
    if (this.#asking >= mostAtOnce && !wasAllowed) return 'unknown';
    const until = Number.POSITIVE_INFINITY;
    const memory: Memory = { verdict: this.#ask(token), until, isAllowed: wasAllowed };
    this.#remember(key, memory);
    const verdict = await memory.verdict;
    if (verdict === 'unknown') {
      // Asked about again at once; who was allowed keeps the precedence, and no more.
      if (memory.isAllowed) memory.until = 0;
      else this.#remembered.delete(key);
      return verdict;
    }
    memory.isAllowed = verdict === 'allowed';
    memory.until =
      this.#options.clock.monotonic() + (memory.isAllowed ? rememberedMs.allowed : rememberedMs.refused);
    return verdict;
  }

  async #ask(token: string): Promise<Verdict> {
    this.#asking++;
    try {
      return await this.#review(token);
    } finally {
      this.#asking--;
    }
  }

  async #review(token: string): Promise<Verdict> {
    const { client } = this.#options;
    const who = await client.create<TokenReview>(
      tokenReviews,
      review('authentication.k8s.io', 'TokenReview', { token }),
      {
        timeoutMs,
      },
    );
    if (who.kind !== 'ok') return this.#unanswered('who reads /metrics', who.message);
    const { authenticated = false, user = {} } = who.object.status ?? {};
    if (!authenticated) return 'unauthenticated';
    const { username, uid, groups, extra } = user;
    const spec = {
      ...(username === undefined ? {} : { user: username }),
      ...(uid === undefined ? {} : { uid }),
      ...(groups === undefined ? {} : { groups }),
      ...(extra === undefined ? {} : { extra }),
      nonResourceAttributes: { path: '/metrics', verb: 'get' },
    };
    const may = await client.create<SubjectAccessReview>(
      accessReviews,
      review('authorization.k8s.io', 'SubjectAccessReview', spec),
      { timeoutMs },
    );
    if (may.kind !== 'ok') return this.#unanswered('who may read /metrics', may.message);
    return may.object.status?.allowed === true ? 'allowed' : 'forbidden';
  }

  #unanswered(question: string, message: string): Verdict {
    this.#options.logger.warn(`the API server does not say ${question}`, { error: message });
    return 'unknown';
  }

  /** Where there are too many, the oldest goes that is not allowed: one that is forgotten is asked about again. */
  #remember(key: string, memory: Memory): void {
    this.#remembered.delete(key);
    this.#remembered.set(key, memory);
    if (this.#remembered.size <= mostRemembered) return;
    for (const [oldest, { isAllowed }] of this.#remembered) {
      if (isAllowed) continue;
      this.#remembered.delete(oldest);
      return;
    }
  }
}

function review(apiGroup: string, kind: string, spec: object): object {
  return { apiVersion: `${apiGroup}/v1`, kind, spec };
}
