/**
 * Makes any value fit for a log line: plain JSON data without secrets, without bodies of HTTP answers and of bounded
 * size. Pure; never throws.
 */

const longestString = 2_048;
// Strings are cut to this before the patterns run, so that a huge one costs little. Longer than `longestString`, so
// that a token that starts inside the printed part is still seen whole.
const longestScanned = 32_768;
const deepest = 6;
const mostEntries = 64;

const hidden = '[redacted]';

const secretKey =
  /^(authorization|proxy-authorization|cookie|set-cookie|password|passwd|secret|bearer|client[-_]?secret|client[-_]?key([-_]?data)?|private[-_]?key|.*token(data|-data|_data)?)$/i;

const secretPatterns: readonly (readonly [RegExp, string])[] = [
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, `$1 ${hidden}`],
  // JSON Web Tokens: service account and OIDC tokens, also without the word Bearer.
  [/(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?/g, hidden],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, hidden],
  [
    /\b((?:access|refresh|id)_token|client_secret|password)(["']?\s*[:=]\s*["']?)[^\s"'&,}]+/gi,
    `$1$2${hidden}`,
  ],
  // Not `secret: nginx-tls`, which is a name.
  [
    /\b((?:\w+[-_])?(?:token|secret|passwd|api[-_]?key))(["']?\s*=\s*["']?|["']\s*:\s*["'])[^\s"'&,}]{8,}/gi,
    `$1$2${hidden}`,
  ],
  [/(:\/\/)[^\s/@:]+:[^\s/@]+@/g, `$1${hidden}@`],
];

/** `text` without what looks like a credential, and at most 2,048 characters long. */
export function redactText(text: string): string {
  let result = text.length > longestScanned ? text.slice(0, longestScanned) : text;
  for (const [pattern, replacement] of secretPatterns) result = result.replace(pattern, replacement);
  const left = text.length - longestString;
  return result.length > longestString ? `${result.slice(0, longestString)}... (${left} more)` : result;
}

/** Data that JSON can print: secrets hidden, strings and lists cut, errors as {name, message, stack}. */
export function redactValue(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint' || typeof value === 'symbol') return value.toString();
  if (typeof value === 'function') return `[function ${value.name}]`;
  return typeof value === 'object' && value !== null ? redactObject(value, depth) : value;
}

/** As redactValue, for the fields of a log line. */
export function redactFields(fields: Readonly<Record<string, unknown>>, depth = 0): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  let left = mostEntries;
  for (const key of Object.keys(fields)) {
    if (left-- === 0) {
      result['...'] = 'more';
      break;
    }
    result[key] =
      secretKey.test(key) && holdsText(fields[key]) ? hidden : redactValue(fields[key], depth + 1);
  }
  return result;
}

// `token: true` or `tokens: 3` say something useful and reveal nothing.
function holdsText(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'object' && value !== null);
}

function redactObject(value: object, depth: number): unknown {
  if (value instanceof Error) return redactError(value, depth);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (depth >= deepest) return '[deeper]';
  if (Array.isArray(value) || value instanceof Set) {
    const list: unknown[] = [...value];
    const head = list.slice(0, mostEntries).map((item) => redactValue(item, depth + 1));
    return list.length > mostEntries ? [...head, `${list.length - mostEntries} more`] : head;
  }
  const entries: Iterable<[unknown, unknown]> = value instanceof Map ? value : Object.entries(value);
  return redactFields(Object.fromEntries([...entries].map(([key, item]) => [String(key), item])), depth);
}

function redactError(error: Error, depth: number): Record<string, unknown> {
  // Clients of HTTP APIs append the whole answer to the message ("Body: ... Headers: ..."): all of it is cut off. The
  // stack repeats the message, therefore only its frames are kept.
  const message = error.message.replace(/\n\s*(Body|Headers): [^]*$/, '');
  const frames = (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at '));
  const result: Record<string, unknown> = {
    name: error.name,
    message: redactText(message),
    stack: redactText(frames.map((line) => line.trim()).join('\n')),
  };
  if ('code' in error) result['code'] = redactValue(error.code, depth + 1);
  if (error.cause !== undefined && depth < deepest) result['cause'] = redactValue(error.cause, depth + 1);
  return result;
}
