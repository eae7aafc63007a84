import { PassThrough } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { createLogger, nullLogger } from '../../../src/runtime/logger.ts';
import type { Logger, LogLevel } from '../../../src/runtime/logger.ts';

function logged(level: LogLevel, write: (logger: Logger) => void): Record<string, unknown>[] {
  const stream = new PassThrough();
  write(createLogger({ level, stream }));
  const text = String(stream.read() ?? '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const jwt = `eyJ${'hbGciOiJS'.repeat(3)}.${'eyJpc3Mi'.repeat(20)}.${'c2lnbmF0dXJl'.repeat(10)}`;

describe('createLogger', () => {
  test('prints one JSON object a line, with timestamp, level, message and fields', () => {
    const lines = logged('info', (log) => {
      log.info('evicted', { node: 'worker-1', pods: 3 });
      log.error('failed');
    });
    expect(lines).toHaveLength(2);
    expect(lines[0]).toEqual({
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      level: 'info',
      message: 'evicted',
      node: 'worker-1',
      pods: 3,
    });
  });

  test.each([
    ['error', 1],
    ['warn', 2],
    ['info', 3],
    ['debug', 4],
  ] as const)('at level %s prints %d of the four levels', (level, count) => {
    const lines = logged(level, (log) => {
      log.error('e');
      log.warn('w');
      log.info('i');
      log.debug('d');
    });
    expect(lines).toHaveLength(count);
  });

  test('adds the fields of a child, and the line wins over them', () => {
    const lines = logged('info', (log) => {
      log.child({ node: 'a', part: 'drain' }).child({ pod: 'p' }).info('x', { node: 'b' });
    });
    expect(lines[0]).toMatchObject({ node: 'b', part: 'drain', pod: 'p' });
  });

  test('keeps level and message when a field has such a name', () => {
    const [line] = logged('info', (log) => log.info('text', { message: 'other', level: 'loud' }));
    expect(line).toMatchObject({
      level: 'info',
      message: 'text',
      field_message: 'other',
      field_level: 'loud',
    });
  });

  test.each<[string, Record<string, unknown>]>([
    ['a bearer header in a text', { detail: `Authorization: Bearer ${jwt}` }],
    ['an opaque bearer token', { detail: `sent Bearer abcdef${'0123456789'.repeat(3)}` }],
    ['a JSON Web Token alone', { detail: `got ${jwt} back` }],
    ['a key that names a token', { user: { token: 'abcdef0123456789' } }],
    ['a key that names a header', { headers: { Authorization: ['abcdef0123456789'] } }],
    ['a key of a kubeconfig', { user: { 'client-key-data': 'abcdef0123456789' } }],
    ['a token in a body', { body: '{"access_token":"abcdef0123456789"}' }],
    ['a token that a program prints', { detail: 'token=abcdef0123456789' }],
    ['a key in a body', { body: '{"api-key": "abcdef0123456789"}' }],
    ['a password in an address', { proxy: 'http://me:abcdef0123456789@proxy:3128' }],
    [
      'a private key',
      { pem: '-----BEGIN RSA PRIVATE KEY-----\nabcdef0123456789\n-----END RSA PRIVATE KEY-----' },
    ],
    ['an error', { error: new Error(`refused: Bearer abcdef${'0123456789'.repeat(3)}`) }],
    ['a token at the cut', { detail: `${'x'.repeat(2_025)} Bearer abcdef${'0123456789'.repeat(300)}` }],
  ])('hides %s', (_, fields) => {
    const text = JSON.stringify(logged('info', (log) => log.info('x', fields)));
    expect(text).not.toContain('abcdef');
    expect(text).not.toContain(jwt.slice(0, 20));
    expect(text).toContain('[redacted]');
  });

  test('hides a token in the message and in the fields of a child', () => {
    const text = JSON.stringify(
      logged('info', (log) => log.child({ token: 'abcdef' }).info(`Bearer ${jwt}`)),
    );
    expect(text).not.toContain('abcdef');
    expect(text).not.toContain(jwt.slice(0, 20));
  });

  test('nothing that somebody wrote begins a line, moves the cursor or hides', () => {
    const stream = new PassThrough();
    const hostile = 'a\n{"level":"info"}\r\u001b[2J\u009b2J\u2028\u202e\u200b\u0000\ud800';
    createLogger({ level: 'debug', stream }).warn(hostile, { [hostile]: hostile, list: [hostile] });
    const text = String(stream.read());
    expect(text).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+\n$/u);
    expect(JSON.parse(text)).toMatchObject({ level: 'warn', message: hostile, list: [hostile] });
  });

  test('cuts strings at 2,048 characters', () => {
    const [line] = logged('info', (log) => log.info('x', { body: 'y'.repeat(100_000) }));
    expect(line?.['body']).toBe(`${'y'.repeat(2_048)}... (97952 more)`);
  });

  test('prints errors without the answer that an API client put into them', () => {
    const error = Object.assign(new Error('HTTP-Code: 500\nMessage: no\nBody: {"a":1}\nHeaders: {"b":2}'), {
      code: 500,
      body: '{"a":1}',
      headers: { b: '2' },
    });
    const [line] = logged('info', (log) => log.info('x', { error: new Error('outer', { cause: error }) }));
    expect(line?.['error']).toEqual({
      name: 'Error',
      message: 'outer',
      stack: expect.stringContaining('at '),
      cause: { name: 'Error', message: 'HTTP-Code: 500\nMessage: no', stack: expect.any(String), code: 500 },
    });
    expect(JSON.stringify(line)).not.toContain('Body');
  });

  test('prints what JSON cannot: cycles, big numbers, maps, sets, dates, functions', () => {
    const cycle: Record<string, unknown> = { n: 1n, map: new Map([['k', 1]]), set: new Set([1]) };
    cycle['self'] = cycle;
    cycle['date'] = new Date(0);
    cycle['bad'] = new Date(Number.NaN);
    cycle['fn'] = createLogger;
    const [line] = logged('info', (log) =>
      log.info('x', { cycle, list: Array.from({ length: 100 }, (_, i) => i) }),
    );
    expect(line?.['cycle']).toMatchObject({
      n: '1',
      map: { k: 1 },
      set: [1],
      date: '1970-01-01T00:00:00.000Z',
      bad: 'Invalid Date',
      fn: '[function createLogger]',
    });
    expect(line?.['list']).toHaveLength(65);
  });

  test('escapes control characters, so that a value cannot forge a line', () => {
    const lines = logged('info', (log) => log.info('x', { reason: 'a\n{"level":"error"}\u001b[31m' }));
    expect(lines).toHaveLength(1);
    expect(lines[0]?.['reason']).toBe('a\n{"level":"error"}\u001b[31m');
  });
});

test('nullLogger and its children accept everything', () => {
  expect(() => nullLogger.child({ a: 1 }).error('x', { error: new Error('y') })).not.toThrow();
});
