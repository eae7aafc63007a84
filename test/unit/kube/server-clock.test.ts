import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ServerClock } from '../../../src/kube/server-clock.ts';
import { FakeClock } from '../../fixtures/fake-clock.ts';
import { propertyRuns } from '../../fixtures/property-runs.ts';

const HOUR_MS = 3_600_000;
/** The server's time when ours begins; ours is a minute wrong. */
const START = Date.UTC(2026, 0, 1, 12, 0, 0, 400);

class World {
  readonly system = new FakeClock(START + 60_000);
  readonly sets: number[] = [];
  readonly clock = new ServerClock(this.system, (byMs) => this.sets.push(byMs));
  /** How much the server's clock is ahead of what it was at the start, beside the time that passed. */
  aheadMs = 0;

  get serverMs(): number {
    return START + this.system.monotonic() + this.aheadMs;
  }

  /** An answer that took so long, written after so much of it. */
  async exchange(beforeMs = 0, afterMs = 0): Promise<void> {
    const sentMs = this.system.monotonic();
    await this.system.advance(beforeMs);
    const date = new Date(this.serverMs).toUTCString();
    await this.system.advance(afterMs);
    this.clock.heard(date, sentMs, this.system.monotonic());
  }
}

describe('the time of the API server', () => {
  test('is our own before the first answer, and after one that has no time in it', () => {
    const { clock, system } = new World();
    expect(clock.now()).toBe(system.now());
    clock.heard('yesterday', 0, 0);
    clock.heard('', 0, 0);
    expect(clock.now()).toBe(system.now());
  });

  test('is what the first answer says at least', async () => {
    const world = new World();
    await world.exchange();
    expect(world.clock.now()).toBe(START - 400);
  });

  test('gets closer with every answer and never goes back', async () => {
    const world = new World();
    const times: number[] = [];
    const behind: number[] = [];
    for (let answer = 0; answer < 10; answer++) {
      await world.exchange();
      times.push(world.clock.now());
      behind.push(world.serverMs - world.clock.now());
      await world.system.advance(310);
    }
    expect(behind[0]).toBe(400);
    expect(behind.at(-1)).toBeLessThan(60);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  test.each([HOUR_MS, -HOUR_MS])('does not care that our clock is set by %i ms', async (jump) => {
    const world = new World();
    await world.exchange();
    const before = world.clock.now();
    world.system.setWallClock(world.system.now() + jump);
    expect(world.clock.now()).toBe(before);
    await world.system.advance(5000);
    await world.exchange();
    expect(world.serverMs - world.clock.now()).toBeGreaterThanOrEqual(0);
    expect(world.serverMs - world.clock.now()).toBeLessThan(1000);
    expect(world.sets).toEqual([]);
  });

  test.each([HOUR_MS, -HOUR_MS, 3000, -3000])(
    'follows the server when its clock is set by %i ms, after ten seconds without a word for the old time',
    async (jump) => {
      const world = new World();
      await world.exchange();
      world.aheadMs = jump;
      for (let answer = 0; answer < 5; answer++) {
        await world.exchange();
        expect(world.serverMs - jump - world.clock.now()).toBeLessThan(1000);
        expect(world.sets).toEqual([]);
        await world.system.advance(2000);
      }
      await world.exchange();
      expect(world.serverMs - world.clock.now()).toBeGreaterThanOrEqual(0);
      expect(world.serverMs - world.clock.now()).toBeLessThan(1000);
      expect(world.sets).toHaveLength(1);
      expect(Math.abs((world.sets[0] ?? 0) - jump)).toBeLessThan(1010);
      await world.exchange();
      expect(world.sets).toHaveLength(1);
    },
  );

  test('stays with one of two servers whose clocks differ', async () => {
    const world = new World();
    await world.exchange();
    for (let answer = 0; answer < 60; answer++) {
      world.aheadMs = answer % 2 === 0 ? HOUR_MS : 0;
      await world.exchange();
      await world.system.advance(2000);
    }
    world.aheadMs = 0;
    expect(world.serverMs - world.clock.now()).toBeLessThan(1000);
    expect(world.sets).toEqual([]);
  });

  test.each([1.0002, 0.9998])('keeps pace with a clock that runs %d as fast for hours', async (speed) => {
    const world = new World();
    for (let past = 0; past < 6 * HOUR_MS; past += 2203) {
      await world.system.advance(2203);
      world.aheadMs = world.system.monotonic() * (speed - 1);
      await world.exchange(3, 4);
      expect(world.serverMs - world.clock.now()).toBeGreaterThanOrEqual(0);
      expect(world.serverMs - world.clock.now()).toBeLessThan(1000);
    }
    expect(world.sets).toEqual([]);
  });

  test('is never ahead of it, at most a second and an answer behind, and never goes back', async () => {
    const step = fc.record({
      pause: fc.nat(5000),
      before: fc.nat(2000),
      after: fc.nat(2000),
      jump: fc.integer({ min: -2 * HOUR_MS, max: 2 * HOUR_MS }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 20 }), async (steps) => {
        const world = new World();
        let last = 0;
        for (const { pause, before, after, jump } of steps) {
          await world.system.advance(pause);
          world.system.setWallClock(START + jump);
          await world.exchange(before, after);
          const now = world.clock.now();
          const behind = world.serverMs - now;
          expect(behind).toBeGreaterThanOrEqual(0);
          expect(behind).toBeLessThan(1000 + 2000 + 1);
          expect(now).toBeGreaterThanOrEqual(last);
          last = now;
        }
        expect(world.sets).toEqual([]);
      }),
      { numRuns: propertyRuns(200) },
    );
  });
});
