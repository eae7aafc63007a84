import { describe, expect, test } from '@jest/globals';
import {
  type DriverEvent,
  parseDriverLog,
  summaryOf,
} from '../../../../../hack/cluster/lib/volumes/driver-log.ts';

const event = (
  what: Exclude<DriverEvent['what'], 'refused'>,
  operation: DriverEvent['operation'],
  volume: string,
  node: string,
  exclusive = operation === 'attach',
): DriverEvent => ({ at: 0, what, operation, volume, node, exclusive });

const line = (rest: object): string =>
  JSON.stringify({ time: '2026-11-21T13:51:05.68196522Z', level: 'INFO', ...rest });

describe('parseDriverLog', () => {
  test('reads whole lines', () => {
    const asked = { operation: 'attach', volume: 'v', node: 'a', exclusive: true };
    const text = `${line({ msg: 'asked', ...asked })}\n${line({ msg: 'star' }).slice(0, -5)}`;
    expect(parseDriverLog(text)).toEqual([
      { at: Date.parse('2026-11-21T13:51:05.681Z'), what: 'asked', ...asked },
    ]);
    expect(parseDriverLog('')).toEqual([]);
  });

  test('throws what the driver complains about', () => {
    expect(() => parseDriverLog(`${line({ level: 'ERROR', msg: 'settings', error: 'no' })}\n`)).toThrow(
      'settings',
    );
    expect(() => parseDriverLog('panic: oh\n')).toThrow('the driver says: panic: oh');
  });
});

describe('summaryOf', () => {
  test('knows what is attached, what goes on and how much of it at a time', () => {
    const summary = summaryOf([
      event('asked', 'attach', 'v', 'a'),
      event('asked', 'attach', 'w', 'a'),
      event('started', 'attach', 'v', 'a'),
      event('ended', 'attach', 'v', 'a'),
      event('started', 'attach', 'w', 'a'),
      event('gaveUp', 'attach', 'w', 'a'),
      event('failed', 'attach', 'w', 'a'),
      event('asked', 'detach', 'v', 'a'),
    ]);
    expect(summary).toMatchObject({ mostPending: 2, mostRunning: 1, timeouts: 1, failures: 1 });
    expect(summary.attached).toEqual(
      new Map([
        ['v', new Set(['a'])],
        ['w', new Set()],
      ]),
    );
    expect(summary.pending).toEqual([event('asked', 'detach', 'v', 'a')]);
  });

  test('only an exclusive volume on two nodes is a violation', () => {
    const on = (node: string, exclusive: boolean): DriverEvent =>
      event('ended', 'attach', 'v', node, exclusive);
    expect(summaryOf([on('a', false), on('b', false)]).violations).toEqual([]);
    expect(summaryOf([on('a', true), on('b', true)]).violations).toEqual([on('b', true)]);
    expect(summaryOf([on('a', true), event('ended', 'detach', 'v', 'a'), on('b', true)]).violations).toEqual(
      [],
    );
  });

  test('a refusal is not an operation', () => {
    const refused = {
      ...event('asked', 'attach', 'v', 'b'),
      what: 'refused',
      reason: 'attachedElsewhere',
    } as const;
    expect(summaryOf([refused])).toMatchObject({ refusals: [refused], violations: [], mostPending: 0 });
  });
});
