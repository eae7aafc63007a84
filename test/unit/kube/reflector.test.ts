import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Refusal } from '../../../src/kube/answer.ts';
import { Reflector } from '../../../src/kube/reflector.ts';
import { keyOf, Store } from '../../../src/kube/store.ts';
import { nullLogger } from '../../../src/runtime/logger.ts';
import { FakeClient } from '../../fixtures/fake-client.ts';
import { FakeClock, settle } from '../../fixtures/fake-clock.ts';
import { FakeCollection, type FakeObject } from '../../fixtures/fake-collection.ts';
import { propertyRuns } from '../../fixtures/property-runs.ts';

const network: Refusal = { kind: 'network', message: 'connect ECONNREFUSED' };

function setUp(
  options: {
    metadataOnly?: boolean;
    trim?: (object: FakeObject) => FakeObject;
    isChangeDue?: () => boolean;
  } = {},
) {
  const clock = new FakeClock();
  const server = new FakeCollection();
  const client = new FakeClient(server, clock);
  // The store catches what listeners throw, failed expectations included.
  let failedListeners = 0;
  const store = new Store<FakeObject>({
    ...(options.trim === undefined ? {} : { trim: options.trim }),
    onListenerError: () => (failedListeners += 1),
  });
  const lists: { first: boolean; objects: number }[] = [];
  const ends: string[] = [];
  const reflector = new Reflector<FakeObject>({
    client,
    path: '/api/v1/pods',
    query: { fieldSelector: 'spec.nodeName=n' },
    ...(options.metadataOnly === undefined ? {} : { metadataOnly: options.metadataOnly }),
    ...(options.isChangeDue === undefined ? {} : { isChangeDue: options.isChangeDue }),
    store,
    clock,
    logger: nullLogger,
    random: () => 0.5,
    onList: ({ first, objects }) => lists.push({ first, objects }),
    onWatchEnd: (kind) => ends.push(kind),
  });
  // What follows from the events alone; `old` must always be what the events before said.
  const replayed = new Map<string, FakeObject>();
  const events: string[] = [];
  store.onChange((old, now) => {
    const key = keyOf((old ?? now) as FakeObject);
    expect(replayed.get(key)).toBe(old);
    events.push(`${old?.spec.value ?? '-'}>${now?.spec.value ?? '-'}`);
    if (now === undefined) {
      replayed.delete(key);
    } else {
      replayed.set(key, now);
    }
  });
  return {
    clock,
    server,
    client,
    store,
    reflector,
    lists,
    ends,
    replayed,
    events,
    failed: () => failedListeners,
  };
}

function byName(objects: Iterable<FakeObject>): FakeObject[] {
  return [...objects].toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name));
}

/** Lets time pass until a watch begins; returns how long it took. */
async function untilAnew({ clock, client }: ReturnType<typeof setUp>, mostMs: number): Promise<number> {
  const before = client.watches.length;
  let ms = 0;
  for (; client.watches.length === before && ms < mostMs; ms += 1_000) await clock.advance(1_000);
  return ms;
}

describe('Reflector', () => {
  test('lists, watches and delivers', async () => {
    const { server, client, store, reflector, events, lists, failed } = setUp();
    server.put('a', 1);
    expect(reflector.hasSynced).toBe(false);
    reflector.start();
    await reflector.synced;
    await settle();
    expect(reflector.state).toMatchObject({ phase: 'watching', error: undefined });
    server.put('b', 2);
    server.put('a', 3);
    server.remove('b');
    client.deliver();
    expect(events).toEqual(['->1', '->2', '1>3', '2>-']);
    expect(failed()).toBe(0);
    expect(byName(store.values())).toEqual(byName(server.objects()));
    expect(lists).toEqual([{ first: true, objects: 1 }]);
    expect(client.lists).toEqual([{ fieldSelector: 'spec.nodeName=n', limit: '500' }]);
    expect(client.watches).toEqual([
      {
        fieldSelector: 'spec.nodeName=n',
        resourceVersion: '99',
        allowWatchBookmarks: 'true',
        timeoutSeconds: '450',
      },
    ]);
    await reflector.stop();
    expect(reflector.state.phase).toBe('stopped');
  });

  test('asks for metadata only', async () => {
    const { client, reflector } = setUp({ metadataOnly: true });
    reflector.start();
    await settle();
    expect(client.accepts[0]).toContain('as=PartialObjectMetadataList;');
    expect(client.accepts[1]).toContain('as=PartialObjectMetadata;');
    await reflector.stop();
  });

  test('resumes from the last event or bookmark, at once after an end in good order', async () => {
    const { clock, server, client, reflector, ends } = setUp();
    reflector.start();
    await settle();
    server.put('a', 1);
    client.deliver();
    await clock.advance(5_000);
    client.end({ kind: 'ended' });
    await settle();
    expect(client.watches.map((query) => query['resourceVersion'])).toEqual(['98', '99']);
    expect(ends).toEqual(['ended']);
    expect(client.lists).toHaveLength(1);
    await reflector.stop();
  });

  test('keeps its version through an outage, backs off up to 10 s, begins fast', async () => {
    const { clock, client, reflector } = setUp();
    reflector.start();
    await settle();
    client.down = network;
    client.end(network);
    const before = client.watches.length;
    await clock.advance(100);
    expect(client.watches).toHaveLength(before + 1);
    expect(reflector.state).toMatchObject({ phase: 'waiting', error: network });
    await clock.advance(600_000);
    const tries = client.watches.length - before;
    expect(tries).toBeGreaterThan(55);
    expect(tries).toBeLessThan(130);
    client.down = undefined;
    await clock.advance(30_000);
    expect(reflector.state).toMatchObject({ phase: 'watching', error: undefined });
    expect(client.lists).toHaveLength(1);
    expect(new Set(client.watches.map((query) => query['resourceVersion']))).toEqual(new Set(['98']));
    await reflector.stop();
  });

  test('a healthy minute makes the next failure a first one', async () => {
    const { clock, server, client, reflector } = setUp();
    client.refusals.push(undefined, network, network, network, network, network);
    reflector.start();
    await clock.advance(30_000);
    expect(reflector.state.phase).toBe('watching');
    server.put('a', 1);
    client.deliver();
    await clock.advance(60_000);
    client.end(network);
    await clock.advance(100);
    expect(reflector.state.phase).toBe('watching');
    await reflector.stop();
  });

  test('a watch that ends at once is not resumed without a pause', async () => {
    const { clock, client, reflector } = setUp();
    reflector.start();
    await settle();
    for (let i = 0; i < 10; i += 1) {
      client.end({ kind: 'ended' });
      await clock.advance(10);
    }
    expect(client.watches.length).toBeLessThan(4);
    await reflector.stop();
  });

  test.each<Refusal>([
    { kind: 'expired', message: 'too old' },
    { kind: 'invalid', message: 'the watch sent a line that is no event' },
    { kind: 'notServed', message: '404 page not found' },
  ])('lists again after $kind, and finds deletions by comparison', async (end) => {
    const { clock, server, client, reflector, events, lists } = setUp();
    server.put('a', 1);
    server.put('b', 2);
    server.put('c', 3);
    reflector.start();
    await settle();
    server.remove('a');
    server.put('b', 4);
    server.compact();
    client.end(end);
    await clock.advance(1_000);
    expect(events.slice(3)).toEqual(['1>-', '2>4']);
    expect(lists).toEqual([
      { first: true, objects: 3 },
      { first: false, objects: 2 },
    ]);
    await reflector.stop();
  });

  test('lists at once when the server has come back from a long outage and forgotten the version', async () => {
    const { clock, server, client, reflector, events } = setUp();
    server.put('a', 1);
    reflector.start();
    await settle();
    client.down = network;
    client.end(network);
    await clock.advance(300_000);
    server.put('a', 2);
    server.compact();
    client.down = undefined;
    // Until the next try it may be half a minute; from then on not a moment.
    const tries = client.watches.length;
    while (client.watches.length === tries) await clock.advance(100);
    await settle();
    expect(events.at(-1)).toBe('1>2');
    expect(reflector.state).toMatchObject({ phase: 'watching', error: undefined });
    await reflector.stop();
  });

  test('a version that is too old as soon as it was listed is not asked for without a pause', async () => {
    const { clock, client, reflector } = setUp();
    const expired: Refusal = { kind: 'expired', message: 'too old' };
    client.refusals.push(...Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? undefined : expired)));
    reflector.start();
    await clock.advance(10_000);
    expect(client.lists.length).toBeGreaterThan(2);
    expect(client.lists.length).toBeLessThan(8);
    await reflector.stop();
  });

  test.each<Refusal>([
    { kind: 'forbidden', message: 'no' },
    { kind: 'notServed', message: '404 page not found' },
    { kind: 'serverError', code: 500, message: 'etcdserver: leader changed' },
  ])('goes on trying while lists are answered with $kind', async (refusal) => {
    const { clock, client, reflector } = setUp();
    client.down = refusal;
    reflector.start();
    await clock.advance(120_000);
    expect(reflector.state).toMatchObject({ phase: 'waiting', error: refusal });
    expect(reflector.hasSynced).toBe(false);
    client.down = undefined;
    await clock.advance(30_000);
    expect(reflector.hasSynced).toBe(true);
    await reflector.stop();
  });

  test('waits as long as an overloaded server asks', async () => {
    const { clock, client, reflector } = setUp();
    client.refusals.push({ kind: 'throttled', retryAfterSeconds: 20, message: '' });
    reflector.start();
    await clock.advance(19_999);
    expect(client.lists).toHaveLength(1);
    await clock.advance(1);
    expect(client.lists).toHaveLength(2);
    await reflector.stop();
  });

  test('lists in pages, and in one piece when the continue token expires', async () => {
    const { server, client, reflector, store, clock } = setUp();
    for (let i = 0; i < 1_100; i += 1) {
      server.put(`pod-${i}`, i);
    }
    client.listMs = 10;
    reflector.start();
    await clock.advance(15);
    server.compact();
    await clock.advance(1_000);
    expect(store.size).toBe(1_100);
    expect(client.lists.map((query) => [query['limit'], query['continue'] !== undefined])).toEqual([
      ['500', false],
      ['500', true],
      ['500', true],
      [undefined, false],
    ]);
    await reflector.stop();
  });

  test('lists again when a server that went back in time says nothing', async () => {
    const { clock, server, client, reflector, store } = setUp();
    server.put('a', 1);
    reflector.start();
    await settle();
    server.restore(50);
    server.put('b', 2);
    client.end(network);
    await clock.advance(1_000);
    expect(client.openWatches).toBe(1);
    await clock.advance(120_000);
    client.end({ kind: 'network', message: 'the watch was silent for 120000 ms' });
    await clock.advance(1_000);
    expect([...store.values()].map((each) => each.metadata.name)).toEqual(['b']);
    server.put('b', 3);
    client.deliver();
    expect(store.get('default/b')?.spec.value).toBe(3);
    await reflector.stop();
  });

  describe('a watch that is stalled and does not end', () => {
    test('is begun anew where it was when a change is due, each time later, until one comes', async () => {
      const it = setUp({ isChangeDue: () => true });
      it.reflector.start();
      await settle();
      expect(await untilAnew(it, 60_000)).toBe(10_000);
      expect(await untilAnew(it, 60_000)).toBe(20_000);
      it.server.put('a', 1);
      it.client.deliver();
      expect(it.events).toEqual(['->1']);
      expect(await untilAnew(it, 60_000)).toBe(10_000);
      expect(await untilAnew(it, 60_000)).toBe(20_000);
      expect(await untilAnew(it, 60_000)).toBe(40_000);
      expect(await untilAnew(it, 600_000)).toBe(600_000);
      expect(it.client.watches.map((query) => query['resourceVersion'])).toEqual([
        '98',
        '98',
        '98',
        '99',
        '99',
        '99',
      ]);
      expect(it.lists).toHaveLength(1);
      expect(it.client.openWatches).toBe(1);
      await it.reflector.stop();
    });

    test('is left alone while changes come, or none is due', async () => {
      let isDue = true;
      const it = setUp({ isChangeDue: () => isDue });
      it.reflector.start();
      await settle();
      for (let i = 0; i < 20; i += 1) {
        it.server.put('a', i);
        it.client.deliver();
        await it.clock.advance(9_000);
      }
      isDue = false;
      await it.clock.advance(600_000);
      expect(it.client.watches).toHaveLength(1);
      isDue = true;
      expect(await untilAnew(it, 60_000)).toBeLessThanOrEqual(10_000);
      await it.reflector.stop();
      expect(it.clock.pendingTimers).toBe(0);
    });
  });

  test('an object that cannot be read is listed again, not skipped', async () => {
    let broken = true;
    const { clock, server, client, reflector, store } = setUp({
      trim: (object) => {
        if (broken && object.spec.value === 13) {
          throw new TypeError('thirteen');
        }
        return object;
      },
    });
    reflector.start();
    await settle();
    server.put('a', 13);
    client.deliver();
    await clock.advance(10_000);
    expect(reflector.state).toMatchObject({ phase: 'waiting', error: { kind: 'invalid' } });
    broken = false;
    await clock.advance(30_000);
    expect(store.size).toBe(1);
    expect(reflector.state.phase).toBe('watching');
    await reflector.stop();
  });

  test.each(['list', 'watch', 'pause'])('stops in the middle of a %s, for good', async (where) => {
    const { clock, server, client, reflector, events } = setUp();
    server.put('a', 1);
    client.listMs = where === 'list' ? 1_000 : 0;
    client.down = where === 'pause' ? network : undefined;
    reflector.start();
    expect(() => {
      reflector.start();
    }).toThrow('is running');
    await settle();
    await reflector.stop();
    const before = events.length;
    server.put('b', 2);
    client.deliver();
    client.down = undefined;
    await clock.advance(100_000);
    expect(events).toHaveLength(before);
    expect(clock.pendingTimers).toBe(0);
    expect(reflector.state.phase).toBe('stopped');
  });

  test('a second run lists anew and keeps what has not changed', async () => {
    const { server, reflector, events } = setUp();
    server.put('a', 1);
    server.put('b', 2);
    reflector.start();
    await settle();
    await reflector.stop();
    server.remove('a');
    reflector.start();
    await settle();
    expect(events).toEqual(['->1', '->2', '1>-']);
    await reflector.stop();
    await reflector.stop();
  });
});

type Step =
  | { readonly do: 'put' | 'remove' | 'write'; readonly name: string }
  | { readonly do: 'compact' | 'end' | 'cut' | 'refuse' }
  | { readonly do: 'deliver'; readonly limit: number }
  | { readonly do: 'pass'; readonly ms: number };

const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('put' as const), name }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), name }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('write' as const), name }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('compact' as const, 'end' as const, 'cut' as const, 'refuse' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('deliver' as const), limit: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(0, 3, 10, 200, 5_000) }),
  },
);

describe('Reflector under any interleaving', () => {
  test('ends equal to the server, never goes back, and its events tell the same', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { clock, server, client, store, reflector, replayed, failed } = setUp();
        client.listMs = 10;
        let value = 0;
        const newest = new Map<string, number>();
        store.onChange((_old, now) => {
          if (now !== undefined) {
            const { uid, resourceVersion } = now.metadata;
            expect(Number(resourceVersion)).toBeGreaterThan(newest.get(uid) ?? 0);
            newest.set(uid, Number(resourceVersion));
          }
        });
        reflector.start();
        for (const each of steps) {
          value += 1;
          switch (each.do) {
            case 'put':
              server.put(each.name, value);
              break;
            case 'remove':
              server.remove(each.name);
              break;
            case 'write':
              // One of our own writes: the answer comes before the watch event.
              if (server.objects().some((object) => object.metadata.name === each.name)) {
                const written = server.put(each.name, value);
                store.observe(written);
                const seen = store.get(keyOf(written));
                if (seen?.metadata.uid === written.metadata.uid) {
                  expect(seen.spec.value).toBe(value);
                }
              }
              break;
            case 'compact':
              server.compact();
              break;
            case 'end':
              client.end({ kind: 'ended' });
              break;
            case 'cut':
              client.end(network);
              break;
            case 'refuse':
              client.refusals.push(network);
              break;
            case 'deliver':
              client.deliver(each.limit);
              break;
            case 'pass':
              await clock.advance(each.ms);
              break;
          }
        }
        for (let i = 0; i < 8; i += 1) {
          await clock.advance(30_000);
          client.deliver();
        }
        expect(byName(store.values())).toEqual(byName(server.objects()));
        expect(byName(replayed.values())).toEqual(byName(server.objects()));
        expect(failed()).toBe(0);
        await reflector.stop();
      }),
      { numRuns: propertyRuns(300) },
    );
  });
});
