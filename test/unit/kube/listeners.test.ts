// A listener that throws is a bug; what it had to do is done all the same, and nobody else hears of it.
import { beforeEach, describe, expect, test } from '@jest/globals';
import { Reflector } from '../../../src/kube/reflector.ts';
import { Store } from '../../../src/kube/store.ts';
import { reflectorContext } from '../../../src/maintenance/reflector-context.ts';
import { type Logger, nullLogger } from '../../../src/runtime/logger.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { FakeClient } from '../../fixtures/fake-client.ts';
import { FakeClock } from '../../fixtures/fake-clock.ts';
import { FakeCollection, type FakeObject } from '../../fixtures/fake-collection.ts';

function object(version: number, uid = 'first'): FakeObject {
  const metadata = { name: 'a', namespace: 'ns', uid, resourceVersion: String(version) };
  return { metadata: { ...metadata, creationTimestamp: '2026-01-01T00:00:00Z' }, spec: { value: version } };
}

const show = (each: FakeObject | undefined): string =>
  each === undefined ? '-' : `${each.metadata.uid}@${each.metadata.resourceVersion}`;

const metrics = createMetrics('test');
let clock: FakeClock;
let store: Store<FakeObject>;
let logged: (readonly [string, unknown])[];
let heard: string[];
let throws: boolean;

beforeEach(() => {
  clock = new FakeClock();
  metrics.handlerErrors.reset();
  logged = [];
  const logger: Logger = { ...nullLogger, error: (message, fields) => logged.push([message, fields]) };
  store = new Store(reflectorContext(clock, logger, metrics).store);
  heard = [];
  throws = true;
  store.onChange((old, now) => {
    if (throws) throw new Error('a bug');
    heard.push(`${show(old)} > ${show(now)}`);
  });
});

async function counted(): Promise<number> {
  const text = await metrics.registry.metrics();
  return Number(/^haulout_handler_errors_total (\d+)$/m.exec(text)?.[1]);
}

test('it is counted, logged with its stack, and told again after 30 s', async () => {
  store.put(object(1));
  expect(await counted()).toBe(1);
  const error: unknown = expect.stringMatching(/^Error: a bug\n +at .*listeners\.test\.ts/);
  expect(logged).toEqual([['a store listener failed', { key: 'ns/a', error }]]);

  await clock.advance(30_000);
  expect(await counted()).toBe(2);
  throws = false;
  await clock.advance(29_999);
  expect(heard).toEqual([]);
  await clock.advance(1);
  expect(heard).toEqual(['- > first@1']);
  expect(await counted()).toBe(2);
  expect(clock.pendingTimers).toBe(0);
});

describe('it hears of one change, from what it knew to what there is', () => {
  beforeEach(() => {
    throws = false;
    store.put(object(1));
    heard.length = 0;
    throws = true;
    store.put(object(2));
  });

  test('when the object changes before its time', async () => {
    throws = false;
    store.put(object(3));
    expect(heard).toEqual(['first@1 > first@3']);
    await clock.advance(60_000);
    expect(heard).toHaveLength(1);
  });

  test('however often it has missed one', async () => {
    store.put(object(3));
    store.remove(object(4));
    throws = false;
    await clock.advance(30_000);
    expect(heard).toEqual(['first@1 > -']);
  });

  test('but of the end of one object and the beginning of its successor', async () => {
    store.put(object(5, 'second'));
    throws = false;
    await clock.advance(30_000);
    expect(heard).toEqual(['first@1 > -', '- > second@5']);
  });
});

test('what came and went meanwhile is nothing to it', async () => {
  store.put(object(1));
  store.remove(object(2));
  throws = false;
  await clock.advance(30_000);
  expect(heard).toEqual([]);
});

test('others hear of each change once, at once', async () => {
  const others: string[] = [];
  store.onChange((old, now) => others.push(`${show(old)} > ${show(now)}`));
  store.put(object(1));
  await clock.advance(90_000);
  expect(others).toEqual(['- > first@1']);
});

test('a listener that is not wanted any more is told nothing again', async () => {
  let calls = 0;
  const cancel = store.onChange(() => {
    calls += 1;
    throw new Error('another bug');
  });
  store.put(object(1));
  cancel();
  await clock.advance(90_000);
  expect(calls).toBe(1);
});

test('nor is anybody whose reflector has stopped', async () => {
  const server = new FakeCollection();
  server.put('a', 1);
  const client = new FakeClient(server, clock);
  const reflector = new Reflector({ client, path: '/api/v1/pods', store, clock, logger: nullLogger });
  reflector.start();
  await reflector.synced;
  expect(await counted()).toBe(1);
  await reflector.stop();
  throws = false;
  await clock.advance(90_000);
  expect(heard).toEqual([]);
});
