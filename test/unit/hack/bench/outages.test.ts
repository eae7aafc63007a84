import { describe, expect, test } from '@jest/globals';
import { figuresOf } from '../../../../hack/bench/volumes/outages.ts';
import type { DriverEvent } from '../../../../hack/cluster/lib/volumes/driver-log.ts';

function event(at: number, what: 'asked' | 'ended' | 'gaveUp', volume: string): DriverEvent {
  return { at, what, operation: 'detach', volume, node: 'a', exclusive: true };
}

describe('figures of a drain', () => {
  test('outages run from the eviction until the successor is Ready', () => {
    const figures = figuresOf({
      startedAt: 1000,
      endedAt: 21_000,
      moved: [
        { evictedAt: 1000, readyAt: 11_000 },
        { evictedAt: 2000, readyAt: 26_000 },
      ],
      events: [],
    });
    expect(figures).toMatchObject({
      drain: 20,
      wallClock: 25,
      outageMean: 17,
      outageMost: 24,
      podSeconds: 34,
      mostDown: 2,
    });
  });

  test('a pod that goes when another is back is not down together with it', () => {
    const moved = [
      { evictedAt: 2000, readyAt: 3000 },
      { evictedAt: 1000, readyAt: 2000 },
    ];
    expect(figuresOf({ startedAt: 1000, endedAt: 3000, moved, events: [] }).mostDown).toBe(1);
  });

  test('what the driver did before the drain does not count', () => {
    const events = [
      event(100, 'asked', 'v1'),
      event(150, 'asked', 'v2'),
      event(160, 'asked', 'v3'),
      event(200, 'gaveUp', 'v1'),
      event(900, 'ended', 'v1'),
      event(1100, 'asked', 'v1'),
      event(1200, 'asked', 'v2'),
      event(1300, 'gaveUp', 'v2'),
      event(1400, 'ended', 'v1'),
      event(1500, 'asked', 'v3'),
    ];
    const moved = [{ evictedAt: 1000, readyAt: 2000 }];
    expect(figuresOf({ startedAt: 1000, endedAt: 2000, moved, events })).toMatchObject({
      mostMoving: 2,
      timeouts: 1,
    });
  });

  test('a pod of which nothing is known makes no good figure', () => {
    const moved = [{ evictedAt: Number.NaN, readyAt: 2000 }];
    expect(figuresOf({ startedAt: 0, endedAt: 1, moved, events: [] }).podSeconds).toBeNaN();
  });
});
