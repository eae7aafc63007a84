import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { LeaderElector, type LeaderElectorOptions } from '../../../src/kube/lease.ts';
import { nullLogger } from '../../../src/runtime/logger.ts';
import { FakeClock, settle } from '../../fixtures/fake-clock.ts';
import { FakeLeaseServer, FakeProcess } from '../../fixtures/fake-lease-server.ts';
import { propertyRuns } from '../../fixtures/property-runs.ts';

function world() {
  const clock = new FakeClock();
  const server = new FakeLeaseServer();
  const log: string[] = [];
  const join = (identity: string, options: Partial<LeaderElectorOptions> = {}) => {
    const process = new FakeProcess(clock, server);
    const signals: AbortSignal[] = [];
    const elector = new LeaderElector({
      client: process.client,
      namespace: 'haulout',
      name: 'haulout',
      identity,
      clock: process,
      logger: nullLogger,
      random: () => 0.5,
      onStartedLeading: (signal) => {
        signals.push(signal);
        log.push(`${identity} starts`);
      },
      onStoppedLeading: () => {
        log.push(`${identity} stops${signals.at(-1)?.aborted === true ? '' : ' without a signal'}`);
      },
      ...options,
    });
    return { process, elector, signals };
  };
  return { clock, server, log, join };
}

describe('LeaderElector', () => {
  test('takes a Lease that does not exist, and renews it', async () => {
    const { clock, server, log, join } = world();
    const { elector } = join('a');
    expect(elector.isLeader()).toBe(false);
    elector.start();
    await settle();
    await clock.advance(1);
    expect(elector.isLeader()).toBe(true);
    expect(server.lease).toMatchObject({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'haulout', namespace: 'haulout' },
      spec: {
        holderIdentity: 'a',
        leaseDurationSeconds: 15,
        acquireTime: '2026-01-01T00:00:00.000000Z',
        renewTime: '2026-01-01T00:00:00.000000Z',
        leaseTransitions: 0,
      },
    });
    await clock.advance(60_000);
    expect(elector.isLeader()).toBe(true);
    expect(server.writes.length).toBeGreaterThan(25);
    expect(server.lease?.spec?.acquireTime).toBe('2026-01-01T00:00:00.000000Z');
    expect(server.lease?.spec?.renewTime).toMatch(/^2026-01-01T00:00:5\d\.\d{6}Z$/);
    expect(log).toEqual(['a starts']);
    expect(elector.check()).toBeUndefined();
  });

  test('takes a Lease that exists without a holder', async () => {
    const { clock, server, join } = world();
    server.create({ metadata: { name: 'haulout', labels: { keep: 'me' } } });
    const { elector } = join('a');
    elector.start();
    await clock.advance(1);
    expect(elector.isLeader()).toBe(true);
    expect(server.lease?.metadata.labels).toEqual({ keep: 'me' });
    expect(server.lease?.spec?.leaseTransitions).toBe(0);
  });

  test.each([-3_600_000, 0, 3_600_000])(
    'waits out a dead holder by its own clock, with wall clocks %i ms apart',
    async (skewMs) => {
      const { clock, server, join } = world();
      const a = join('a');
      a.elector.start();
      await clock.advance(30_000);
      a.process.cut = true;
      a.process.freeze();
      await clock.advance(5_000);
      const b = join('b');
      b.process.skewMs = skewMs;
      b.elector.start();
      await clock.advance(14_990);
      expect(b.elector.isLeader()).toBe(false);
      await clock.advance(2_500);
      expect(b.elector.isLeader()).toBe(true);
      expect(server.lease?.spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
    },
  );

  test('steps down in good order for another process, and stands by from then on', async () => {
    const { clock, server, log, join } = world();
    const [a, b] = [join('a'), join('b')];
    a.elector.start();
    await clock.advance(1_000);
    b.elector.start();
    await clock.advance(1_000);
    const taken = a.elector.stepDown();
    await clock.advance(100);
    expect(await taken).toBe(true);
    expect([a.elector.isLeader(), b.elector.isLeader()]).toEqual([false, true]);
    expect(log).toEqual(['a starts', 'a stops', 'b starts']);
    expect(a.elector.check()).toBeUndefined();
    void b.elector.stop();
    await clock.advance(5_000);
    expect(a.elector.isLeader()).toBe(true);
    expect(server.lease?.spec?.holderIdentity).toBe('a');
  });

  test('leads again where nobody takes what it gave up', async () => {
    const { clock, server, log, join } = world();
    const { elector } = join('a');
    elector.start();
    await clock.advance(1_000);
    const taken = elector.stepDown();
    await clock.advance(29_000);
    expect(elector.isLeader()).toBe(false);
    expect(server.lease?.spec?.holderIdentity).toBe('');
    await clock.advance(2_000);
    expect(await taken).toBe(false);
    expect(elector.isLeader()).toBe(true);
    expect(log).toEqual(['a starts', 'a stops', 'a starts']);
  });

  test('keeps the Lease until the work that steps down has ended', async () => {
    const { clock, join } = world();
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const a = join('a', { onStoppedLeading: () => ended });
    a.elector.start();
    await clock.advance(1_000);
    const b = join('b');
    b.elector.start();
    void a.elector.stepDown();
    await clock.advance(60_000);
    expect(b.elector.isLeader()).toBe(false);
    end();
    await clock.advance(100);
    expect(b.elector.isLeader()).toBe(true);
  });

  test('can be stopped while it stays away', async () => {
    const { clock, server, join } = world();
    const { elector } = join('a');
    elector.start();
    await clock.advance(1_000);
    const taken = elector.stepDown();
    await clock.advance(1_000);
    await elector.stop();
    expect(await taken).toBe(false);
    expect(server.lease?.spec?.holderIdentity).toBe('');
    expect(clock.pendingTimers).toBe(0);
  });

  test('a process that does not lead has nothing to step down from', async () => {
    const { join } = world();
    expect(await join('a').elector.stepDown()).toBe(false);
  });

  test('a holder that renews with timestamps of long ago is alive', async () => {
    const { clock, join } = world();
    const a = join('a');
    a.process.skewMs = -86_400_000;
    a.elector.start();
    await clock.advance(1);
    const b = join('b');
    b.elector.start();
    await clock.advance(300_000);
    expect([a.elector.isLeader(), b.elector.isLeader()]).toEqual([true, false]);
  });

  test('a restart with the same identity does not wait', async () => {
    const { clock, server, join } = world();
    const before = join('a');
    before.elector.start();
    await clock.advance(20_000);
    before.process.cut = true;
    before.process.freeze();
    const after = join('a');
    after.elector.start();
    await clock.advance(1);
    expect(after.elector.isLeader()).toBe(true);
    expect(server.lease?.spec?.leaseTransitions).toBe(0);
  });

  test('another process with the same identity makes the first one stop', async () => {
    const { clock, log, join } = world();
    const first = join('a');
    first.elector.start();
    await clock.advance(1_000);
    const second = join('a');
    second.elector.start();
    await clock.advance(30_000);
    expect([first.elector.isLeader(), second.elector.isLeader()]).toEqual([false, true]);
    expect(log).toEqual(['a starts', 'a stops', 'a starts']);
  });

  test('hands over at once, after its work has ended', async () => {
    const { clock, log, server, join } = world();
    const work = Promise.withResolvers<void>();
    const a = join('a', {
      onStoppedLeading: async () => {
        await work.promise;
        log.push('a stops');
      },
    });
    a.elector.start();
    await clock.advance(1);
    const b = join('b');
    b.elector.start();
    await clock.advance(5_000);
    const stopped = a.elector.stop();
    await clock.advance(60_000);
    expect(a.signals[0]?.aborted).toBe(true);
    expect([a.elector.isLeader(), b.elector.isLeader()]).toEqual([true, false]);
    work.resolve();
    await clock.advance(0);
    await stopped;
    await clock.advance(0);
    expect([a.elector.isLeader(), b.elector.isLeader()]).toEqual([false, true]);
    expect(log).toEqual(['a starts', 'a stops', 'b starts']);
    expect(server.lease?.spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
    const ended = b.elector.stop();
    await clock.advance(0);
    await ended;
    expect(server.lease?.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
  });

  test('without a watch it learns by polling', async () => {
    const { clock, join } = world();
    const a = join('a');
    a.elector.start();
    await clock.advance(1);
    const b = join('b');
    b.process.blind = true;
    b.elector.start();
    await clock.advance(5_000);
    void a.elector.stop();
    await clock.advance(2_400);
    expect(b.elector.isLeader()).toBe(true);
  });

  test('stops working before another can start when the server is out of reach', async () => {
    const { clock, log, join } = world();
    const a = join('a');
    a.elector.start();
    await clock.advance(1);
    const b = join('b');
    b.elector.start();
    await clock.advance(20_000);
    a.process.cut = true;
    await clock.advance(10_000);
    expect(a.elector.isLeader()).toBe(false);
    expect(a.signals[0]?.aborted).toBe(true);
    expect(log).toEqual(['a starts', 'a stops']);
    await clock.advance(8_000);
    expect(log).toEqual(['a starts', 'a stops', 'b starts']);
    a.process.cut = false;
    await clock.advance(30_000);
    expect([a.elector.isLeader(), b.elector.isLeader()]).toEqual([false, true]);
  });

  test('leads again when nobody took over', async () => {
    const { clock, log, join } = world();
    const a = join('a');
    a.elector.start();
    await clock.advance(20_000);
    a.process.cut = true;
    await clock.advance(60_000);
    a.process.cut = false;
    await clock.advance(10_000);
    expect(a.elector.isLeader()).toBe(true);
    expect(log).toEqual(['a starts', 'a stops', 'a starts']);
    expect(a.signals.map((signal) => signal.aborted)).toEqual([true, false]);
  });

  test('a stopped process (SIGSTOP) may not write when it goes on', async () => {
    const { clock, join } = world();
    const a = join('a');
    a.elector.start();
    await clock.advance(1);
    const b = join('b');
    b.elector.start();
    await clock.advance(1_000);
    a.process.freeze();
    await clock.advance(60_000);
    expect(b.elector.isLeader()).toBe(true);
    // Asked before any timer of the process has run again.
    expect(a.elector.isLeader()).toBe(false);
    a.process.thaw();
    await clock.advance(5_000);
    expect([a.elector.isLeader(), b.elector.isLeader()]).toEqual([false, true]);
    expect(a.signals[0]?.aborted).toBe(true);
  });

  test('an answer that comes too late is no leave to work', async () => {
    const { clock, join, log } = world();
    const a = join('a');
    a.elector.start();
    a.process.freeze();
    await clock.advance(11_000);
    a.process.thaw();
    await settle();
    expect(a.elector.isLeader()).toBe(false);
    expect(log).toEqual([]);
    await clock.advance(3_000);
    expect(a.elector.isLeader()).toBe(true);
  });

  test('slow answers count from when the request was sent', async () => {
    const { clock, join } = world();
    const a = join('a');
    a.process.delayMs = 2_000;
    a.elector.start();
    await clock.advance(60_000);
    expect(a.elector.isLeader()).toBe(true);
    a.process.cut = true;
    // The last renewal that arrived was sent at least four seconds before its answer.
    await clock.advance(10_000);
    expect(a.elector.isLeader()).toBe(false);
  });

  test('a renewal whose answer is lost is its own', async () => {
    const { clock, join, log } = world();
    const a = join('a');
    a.elector.start();
    await clock.advance(1_000);
    const b = join('b');
    b.elector.start();
    a.process.deaf = true;
    await clock.advance(2_000);
    a.process.deaf = false;
    await clock.advance(60_000);
    expect(log).toEqual(['a starts']);
    expect(a.elector.isLeader()).toBe(true);
  });

  test('a Lease that was deleted is made again', async () => {
    const { clock, server, join, log } = world();
    const a = join('a');
    a.elector.start();
    await clock.advance(5_000);
    server.remove();
    await clock.advance(10_000);
    expect(server.lease?.spec?.holderIdentity).toBe('a');
    expect(log).toEqual(['a starts']);
  });

  test('one that is taken from it ends the work', async () => {
    const { clock, server, join, log } = world();
    const a = join('a');
    a.elector.start();
    await clock.advance(5_000);
    server.update({ ...server.lease, spec: { holderIdentity: 'admin', renewTime: 'x' } });
    await clock.advance(3_000);
    expect(log).toEqual(['a starts', 'a stops']);
    expect(a.elector.holder).toBe('admin');
  });

  test('work that throws is no end of the election, and work that does not end is unhealthy', async () => {
    const { clock, join } = world();
    const a = join('a', {
      onStartedLeading: () => {
        throw new Error('no');
      },
      onStoppedLeading: () => new Promise(() => {}),
    });
    a.elector.start();
    await clock.advance(20_000);
    expect(a.elector.isLeader()).toBe(true);
    a.process.cut = true;
    await clock.advance(20_000);
    expect(a.elector.isLeader()).toBe(false);
    expect(a.elector.check()).toBeUndefined();
    await clock.advance(31_000);
    expect(a.elector.check()).toContain('has not ended');
  });

  test('can be stopped at any time, and started again', async () => {
    const { clock, join, log } = world();
    const { elector } = join('a');
    await elector.stop();
    elector.start();
    expect(() => {
      elector.start();
    }).toThrow('is running');
    const stopped = elector.stop();
    await clock.advance(20_000);
    await stopped;
    expect(clock.pendingTimers).toBe(0);
    elector.start();
    await clock.advance(20_000);
    expect(elector.isLeader()).toBe(true);
    expect(log.at(-1)).toBe('a starts');
  });

  test.each([
    { leaseDurationMs: 10_000, renewDeadlineMs: 10_000 },
    { renewDeadlineMs: 2_400, retryPeriodMs: 2_000 },
  ])('refuses times that cannot work: %j', (times) => {
    const { join } = world();
    expect(() => join('a', times)).toThrow(RangeError);
  });
});

const disturbance = fc.record({
  process: fc.nat({ max: 2 }),
  what: fc.constantFrom('freeze', 'thaw', 'cut', 'deaf', 'blind', 'slow', 'well', 'restart', 'leave'),
  forMs: fc.integer({ min: 0, max: 20_000 }),
});

describe('LeaderElector under any disturbance', () => {
  test('never has two leaders, and finds one when all is well', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(disturbance, { maxLength: 25 }), async (disturbances) => {
        const { clock, join } = world();
        const members = ['a', 'b', 'c'].map((identity, i) => {
          const member = join(identity);
          member.process.skewMs = (i - 1) * 3_600_000;
          return member;
        });
        for (const { elector } of members) {
          elector.start();
        }
        const restarting = new Set<LeaderElector>();
        const pass = async (ms: number): Promise<void> => {
          for (let passed = 0; passed < ms; passed += 250) {
            await clock.advance(250);
            expect(members.filter(({ elector }) => elector.isLeader()).length).toBeLessThan(2);
          }
        };
        for (const { process: which, what, forMs } of disturbances) {
          const { process, elector } = members[which] as (typeof members)[number];
          switch (what) {
            case 'freeze':
              process.freeze();
              break;
            case 'thaw':
              process.thaw();
              break;
            case 'slow':
              process.delayMs = forMs / 4;
              break;
            case 'restart':
              if (restarting.has(elector)) break;
              restarting.add(elector);
              void elector.stop().then(() => {
                restarting.delete(elector);
                elector.start();
              });
              break;
            case 'leave':
              void elector.stepDown();
              break;
            case 'well':
              process.thaw();
              Object.assign(process, { cut: false, deaf: false, blind: false, delayMs: 0 });
              break;
            case 'cut':
            case 'deaf':
            case 'blind':
              process[what] = true;
              break;
          }
          await pass(forMs);
        }
        for (const { process } of members) {
          process.thaw();
          Object.assign(process, { cut: false, deaf: false, blind: false, delayMs: 0 });
        }
        await pass(60_000);
        expect(members.filter(({ elector }) => elector.isLeader())).toHaveLength(1);
      }),
      { numRuns: propertyRuns(60) },
    );
  });
});
