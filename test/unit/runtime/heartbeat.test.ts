import { expect, test } from '@jest/globals';
import { Heartbeat } from '../../../src/runtime/heartbeat.ts';
import { FakeClock } from '../../fixtures/fake-clock.ts';

test('a loop is healthy while it beats, before its first beat and while it rests', async () => {
  const clock = new FakeClock();
  const heartbeat = new Heartbeat('leader', clock, 20);
  await clock.advance(60_000);
  expect(heartbeat.check()).toBeUndefined();
  heartbeat.beat();
  await clock.advance(20_000);
  expect(heartbeat.check()).toBeUndefined();
  await clock.advance(1_000);
  expect(heartbeat.check()).toBe('no sign of life for 21 s (at most 20 s)');
  heartbeat.rest();
  expect(heartbeat.check()).toBeUndefined();
});
