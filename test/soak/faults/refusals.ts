/** Answers that do not come from where they should: what proxies, overload and lost leaders say. */
import type { ServerResponse } from 'node:http';

const REASONS = {
  409: 'Conflict',
  410: 'Expired',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
} as const;

export type RefusalCode = keyof typeof REASONS;

export function statusOf(code: RefusalCode): object {
  const message = `fault injection answered ${code}`;
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason: REASONS[code], message };
}

/** As the API server says it; priority and fairness and load balancers do not answer in JSON. */
export function refuse(outgoing: ServerResponse, code: RefusalCode, retryAfterSeconds?: number): void {
  const isPlain = code === 429 || code === 503;
  outgoing.writeHead(code, {
    'content-type': isPlain ? 'text/plain; charset=utf-8' : 'application/json',
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  });
  outgoing.end(isPlain ? `${REASONS[code]}\n` : JSON.stringify(statusOf(code)));
}
