import { describe, expect, test } from '@jest/globals';
import { deletionRequestedAt, parseDelay, stopsAt } from '../../../../hack/cluster/lib/pod-stop.ts';

const NOON = Date.parse('2026-01-01T12:00:00Z');

/** A pod asked to go at noon. */
function metadata(graceSeconds: number, delay?: string) {
  return {
    name: 'p',
    uid: 'u',
    deletionTimestamp: new Date(NOON + graceSeconds * 1000).toISOString(),
    deletionGracePeriodSeconds: graceSeconds,
    ...(delay === undefined ? {} : { annotations: { 'pod-delete.stage.kwok.x-k8s.io/delay': delay } }),
  };
}

describe('parseDelay', () => {
  test.each([
    ['0', 0],
    ['10s', 10_000],
    ['1m30s', 90_000],
    ['250ms', 250],
    ['1.5s', 1500],
    ['1h', 3_600_000],
  ])('%s is %d ms', (text, expected) => {
    expect(parseDelay(text)).toBe(expected);
  });

  test.each([[''], ['10'], ['s'], ['-1s'], ['10s later'], ['1 s']])('%p is no duration', (text) => {
    expect(parseDelay(text)).toBeUndefined();
  });
});

describe('deletionRequestedAt', () => {
  test('a pod that nobody asked to go', () => {
    expect(deletionRequestedAt({ name: 'p', uid: 'u' }, NOON)).toBeUndefined();
  });

  test('the event says it to the millisecond within the second that the timestamp names', () => {
    expect(deletionRequestedAt(metadata(30), NOON + 640)).toBe(NOON + 640);
  });

  test('an event that came late says no more than the second', () => {
    expect(deletionRequestedAt(metadata(30), NOON + 60_000)).toBe(NOON + 999);
  });

  test('a clock that is behind does not make it earlier', () => {
    expect(deletionRequestedAt(metadata(30), NOON - 5000)).toBe(NOON);
  });
});

describe('stopsAt', () => {
  test.each([
    ['one second when the pod does not say', metadata(30), 1000],
    ['as long as the pod says', metadata(30, '10s'), 10_000],
    ['but not longer than the grace period', metadata(5, '10s'), 5000],
    ['one second where the annotation is no duration', metadata(30, 'soon'), 1000],
    ['at once without a grace period', metadata(0, '10s'), 0],
  ])('%s', (_name, pod, afterMs) => {
    expect(stopsAt(pod, NOON, NOON)).toBe(NOON + afterMs);
  });

  test('a second deletion shortens the grace period but does not start the delay anew', () => {
    expect(stopsAt(metadata(2, '10s'), NOON, NOON + 3000)).toBe(NOON + 5000);
    expect(stopsAt(metadata(20, '10s'), NOON, NOON + 3000)).toBe(NOON + 10_000);
  });
});
