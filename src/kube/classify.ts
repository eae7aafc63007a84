import { cleanMessage } from '../runtime/plain-text.ts';
import { redactText } from '../runtime/redact.ts';
import type { Refusal } from './answer.ts';
import type { ApiStatus } from './types.ts';

/** The headers of an answer that its cause can depend on, as received. */
export interface AnswerHeaders {
  readonly retryAfter?: string;
  /** The server's own Date: a Retry-After given as a date is measured from it, so that clock skew does no harm. */
  readonly date?: string;
}

const longestRetryAfterSeconds = 600;
/** What the eviction API itself sends for a budget that is being processed. */
const budgetRetrySeconds = 10;

const webhookDenial = /^admission webhook "/;
const dryRunUnsupported = /^admission webhook "[^"]*" does not support dry run/;
const policyDenial = /policy '[^']+' (?:with binding '[^']+' )?denied request/i;
const budgetName = /^The disruption budget (\S+) /;
const budgetCounts = / needs (\d+) healthy pods and has (\d+) currently/;
const quotedName = /"([^"]+)"/;
const budgetConflict = /^Operation cannot be fulfilled on poddisruptionbudgets\b/;
const budgetUpdateTimeout = /couldn't update PodDisruptionBudget/;
const budgetUnusable = /DisruptedPods map too big|pdb disruptions allowed is negative/;
const versionTooLarge = /too large resource version/i;

/**
 * Turns an error answer into its cause.
 *
 * `code` is the HTTP status (or the code of a Status object that came in a watch or with a 2xx); `body` the decoded
 * metav1.Status, undefined when the answer had none (priority and fairness, proxies and unknown paths answer in plain
 * text). Order matters: admission comes first, because a webhook may answer with any code, reason and cause.
 */
export function classify(code: number, body: ApiStatus | undefined, headers: AnswerHeaders): Refusal {
  const raw = body?.message ?? '';
  const message = wordsOf(raw === '' ? `the API server answered ${code}` : raw);
  if (webhookDenial.test(raw) || policyDenial.test(raw)) {
    return { kind: 'admission', message };
  }
  return (
    classifyEviction(code, body, raw, message, headers) ??
    classifyVersion(code, body, raw, message) ??
    classifyCode(code, body, message, headers)
  );
}

/** What others said, as it may go into logs, events and status: a webhook may quote whatever it was sent. */
function wordsOf(text: string): string {
  return cleanMessage(redactText(text));
}

/** Whether a dry run was refused only because a webhook cannot be asked without side effects. */
export function cannotBeRehearsed({ kind, message }: Refusal): boolean {
  return kind === 'admission' && dryRunUnsupported.test(message);
}

/** The answers that only the eviction subresource gives. */
function classifyEviction(
  code: number,
  body: ApiStatus | undefined,
  raw: string,
  message: string,
  headers: AnswerHeaders,
): Refusal | undefined {
  const stale = (budget: string | undefined, why: string): Refusal => ({
    kind: 'budgetStale',
    budget,
    retryAfterSeconds: retryAfterSeconds(body, headers) ?? budgetRetrySeconds,
    message: why,
  });
  if (code === 429) {
    const cause = causeOf(body, 'DisruptionBudget');
    if (cause === undefined && !raw.includes("violate the pod's disruption budget")) {
      return undefined;
    }
    const text = cause?.message ?? '';
    const why = text === '' ? message : wordsOf(text);
    const budget = budgetName.exec(text)?.[1];
    if (text.includes('still being processed') || (body?.details?.retryAfterSeconds ?? 0) > 0) {
      return stale(budget, why);
    }
    const counts = budgetCounts.exec(text);
    return {
      kind: 'budget',
      budget,
      needs: counts === null ? undefined : Number(counts[1]),
      has: counts === null ? undefined : Number(counts[2]),
      message: why,
    };
  }
  if (code === 500 && raw.includes('more than one PodDisruptionBudget')) {
    return { kind: 'multipleBudgets', message };
  }
  // The server gives up after 20 conflicting writes of the budget's status; by release it says so as 504 or passes the
  // conflict on. Nobody but the eviction API writes budgets for us, so a conflict about one is never about the pod.
  const lostRace =
    (code === 504 && budgetUpdateTimeout.test(raw)) || (code === 409 && budgetConflict.test(raw));
  if (lostRace || (code === 403 && budgetUnusable.test(raw))) {
    return stale(quotedName.exec(raw)?.[1], message);
  }
  return undefined;
}

/** Answers that mean: the resourceVersion or continue token cannot be served, begin the list or watch again. */
function classifyVersion(
  code: number,
  body: ApiStatus | undefined,
  raw: string,
  message: string,
): Refusal | undefined {
  const tooLarge =
    (code === 400 || code === 504) &&
    (causeOf(body, 'ResourceVersionTooLarge') !== undefined || versionTooLarge.test(raw));
  return code === 410 || tooLarge ? { kind: 'expired', message } : undefined;
}

function classifyCode(
  code: number,
  body: ApiStatus | undefined,
  message: string,
  headers: AnswerHeaders,
): Refusal {
  if (code === 401) {
    return { kind: 'forbidden', message };
  }
  if (code === 403) {
    const terminating = causeOf(body, 'NamespaceTerminating') !== undefined;
    return { kind: terminating ? 'namespaceTerminating' : 'forbidden', message };
  }
  if (code === 404) {
    // A missing object is named in details; a path that nothing serves is answered in plain text or without a name.
    const named = body?.reason === 'NotFound' && (body.details?.name ?? '') !== '';
    return { kind: named ? 'notFound' : 'notServed', message };
  }
  if (code === 409) {
    return { kind: 'conflict', message };
  }
  if (code === 429) {
    return { kind: 'throttled', retryAfterSeconds: retryAfterSeconds(body, headers) ?? 1, message };
  }
  // 408: the server gave up waiting for the request; like a 5xx, whether it took effect is not known.
  if (code >= 400 && code < 500 && code !== 408) {
    return { kind: 'invalid', message };
  }
  return { kind: 'serverError', code, message };
}

/**
 * Turns what a failed request threw (undici, TLS, DNS, sockets, our own time-out) into a `network` refusal with one
 * line of explanation. Never contains headers or bodies.
 */
export function classifyNetworkError(error: unknown): Refusal {
  return { kind: 'network', message: wordsOf(describe(error, 0)) };
}

/** OpenSSL's verdicts on a server's certificate, and the alerts by which a server refuses a client's. */
const certificateCode =
  /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY|DECRYPT|DECODE)|INVALID_CA|ERR_TLS_CERT|ALERT_(BAD_CERTIFICATE|CERTIFICATE|UNKNOWN_CA|HANDSHAKE)/;

/** Whether a request failed because one side did not believe the other's certificate. */
export function isAboutCertificates(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, cause }: ErrorFields = error;
  return (typeof code === 'string' && certificateCode.test(code)) || isAboutCertificates(cause);
}

function describe(error: unknown, depth: number): string {
  if (typeof error !== 'object' || error === null) {
    return typeof error === 'string' ? error : 'request failed';
  }
  // By its fields, not by instanceof: an error of another realm (a test's VM context) is one as well.
  const { message, name, code, cause, errors }: ErrorFields = error;
  // Happy eyeballs fails with an AggregateError without a message of its own.
  if (Array.isArray(errors) && errors.length > 0 && depth < 3) {
    return [...new Set(errors.map((inner) => describe(inner, depth + 1)))].join('; ');
  }
  const own = [message, name].find((text) => typeof text === 'string' && text !== '');
  const text = typeof own === 'string' ? own : 'request failed';
  const coded = typeof code !== 'string' || text.includes(code) ? text : `${text} (${code})`;
  return cause === undefined || depth >= 3 ? coded : `${coded}: ${describe(cause, depth + 1)}`;
}

interface ErrorFields {
  readonly message?: unknown;
  readonly name?: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
}

function causeOf(body: ApiStatus | undefined, reason: string): { readonly message?: string } | undefined {
  return body?.details?.causes?.find((cause) => cause.reason === reason);
}

/** Seconds from the body or the header (seconds or HTTP date), 1 to 600; undefined when neither says so. */
function retryAfterSeconds(body: ApiStatus | undefined, headers: AnswerHeaders): number | undefined {
  const fromBody = body?.details?.retryAfterSeconds ?? 0;
  const seconds = fromBody > 0 ? fromBody : headerSeconds(headers);
  return seconds === undefined
    ? undefined
    : Math.min(Math.max(1, Math.ceil(seconds)), longestRetryAfterSeconds);
}

function headerSeconds({ retryAfter, date }: AnswerHeaders): number | undefined {
  const text = retryAfter?.trim() ?? '';
  if (/^\d+$/.test(text)) {
    return Number(text);
  }
  const seconds = (Date.parse(text) - Date.parse(date ?? '')) / 1_000;
  return Number.isNaN(seconds) ? undefined : seconds;
}
