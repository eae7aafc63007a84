import { describe, expect, test } from '@jest/globals';
import type { Answer, Refusal } from '../../../src/kube/answer.ts';
import { type EventDetails, EventRecorder } from '../../../src/kube/events.ts';
import { nullLogger } from '../../../src/runtime/logger.ts';
import { FakeClock, settle } from '../../fixtures/fake-clock.ts';
import { ScriptedClient } from '../../fixtures/scripted-client.ts';

const details: EventDetails = {
  regarding: { apiVersion: 'v1', kind: 'Node', name: 'worker-1', uid: 'u1' },
  type: 'Warning',
  reason: 'DrainBlocked',
  action: 'Evict',
  note: 'db-0: the budget allows nothing',
};
const podDetails: EventDetails = {
  ...details,
  regarding: { apiVersion: 'v1', kind: 'Pod', name: 'db-0', namespace: 'data', uid: 'u2' },
};

function setUp(answer: (verb: string) => Answer | Promise<Answer> = () => ({ kind: 'ok', object: {} })) {
  const clock = new FakeClock();
  const client = new ScriptedClient(({ verb }) => answer(verb));
  const dropped: string[] = [];
  const recorder = new EventRecorder({
    client,
    clock,
    logger: nullLogger,
    reportingInstance: `haulout-${'x'.repeat(200)}`,
    onDropped: (why) => dropped.push(why),
  });
  return { clock, client, recorder, dropped };
}

describe('EventRecorder', () => {
  test('creates an event, about a cluster-scoped object in default', async () => {
    const { client, recorder } = setUp();
    recorder.emit({ ...details, related: podDetails.regarding });
    recorder.emit(podDetails);
    await settle();
    expect(client.requests.map(({ verb, path }) => [verb, path])).toEqual([
      ['create', '/apis/events.k8s.io/v1/namespaces/default/events'],
      ['create', '/apis/events.k8s.io/v1/namespaces/data/events'],
    ]);
    expect(client.requests[0]?.body).toEqual({
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: expect.stringMatching(/^worker-1\.[0-9a-f]{16}$/), namespace: 'default' },
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'haulout.dev/haulout',
      reportingInstance: `haulout-${'x'.repeat(120)}`,
      type: 'Warning',
      reason: 'DrainBlocked',
      action: 'Evict',
      note: 'db-0: the budget allows nothing',
      regarding: details.regarding,
      related: podDetails.regarding,
    });
  });

  test.each([`${'n'.repeat(199)}.${'m'.repeat(40)}`, `${'n'.repeat(199)}-${'m'.repeat(40)}`])(
    'the name of an event about %s is a name',
    async (name) => {
      const { client, recorder } = setUp();
      recorder.emit({ ...details, regarding: { ...details.regarding, name } });
      await settle();
      const { body } = client.requests[0] as unknown as { body: { metadata: { name: string } } };
      expect(body.metadata.name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
    },
  );

  test('repetitions become one series, written together', async () => {
    const { clock, client, recorder } = setUp();
    recorder.emit(details);
    await clock.advance(1_000);
    recorder.emit(details);
    recorder.emit(details);
    recorder.emit({ ...details, note: 'another' });
    await clock.advance(5_000);
    expect(client.requests.map(({ verb }) => verb)).toEqual(['create', 'create', 'patch']);
    expect(client.requests[2]).toMatchObject({
      path: expect.stringMatching(/\/default\/events\/worker-1\.[0-9a-f]{16}$/),
      body: { series: { count: 3, lastObservedTime: '2026-01-01T00:00:01.000000Z' } },
    });
    for (let i = 0; i < 59; i += 1) {
      recorder.emit(details);
      await clock.advance(1_000);
    }
    expect(client.requests).toHaveLength(3);
    await clock.advance(1_000);
    expect(client.requests[3]?.body).toMatchObject({ series: { count: 62 } });
  });

  test('after a silence it is a new event', async () => {
    const { clock, client, recorder } = setUp();
    recorder.emit(details);
    await clock.advance(6 * 60_000 + 1);
    recorder.emit(details);
    await settle();
    expect(client.requests.map(({ verb }) => verb)).toEqual(['create', 'create']);
  });

  test('a series whose event is gone begins again', async () => {
    let gone = false;
    const { clock, client, recorder, dropped } = setUp((verb) =>
      gone && verb === 'patch' ? { kind: 'notFound', message: '' } : { kind: 'ok', object: {} },
    );
    recorder.emit(details);
    await settle();
    gone = true;
    recorder.emit(details);
    await clock.advance(5_000);
    expect(client.requests.map(({ verb }) => verb)).toEqual(['create', 'patch', 'create']);
    expect(client.requests[2]?.body).toMatchObject({ series: { count: 2 } });
    expect(dropped).toEqual([]);
  });

  test('cuts notes to 1,024 bytes between characters', async () => {
    const { client, recorder } = setUp();
    recorder.emit({ ...details, note: `a${'é'.repeat(1_000)}` });
    await settle();
    expect(client.requests[0]?.body).toMatchObject({ note: `a${'é'.repeat(511)}` });
  });

  test('holds back a flood of one reason about one object, not the others', async () => {
    const { clock, client, recorder, dropped } = setUp();
    for (let i = 0; i < 30; i += 1) {
      recorder.emit({ ...details, note: `note ${i}` });
    }
    recorder.emit({ ...details, reason: 'Drained' });
    recorder.emit(podDetails);
    await settle();
    expect(client.requests).toHaveLength(27);
    expect(dropped).toEqual(['spam', 'spam', 'spam', 'spam', 'spam']);
    await clock.advance(300_000);
    recorder.emit({ ...details, note: 'later' });
    await settle();
    expect(client.requests).toHaveLength(28);
  });

  test.each<[Refusal, string[], string[]]>([
    [{ kind: 'network', message: '' }, ['create', 'create', 'create'], ['refused']],
    [{ kind: 'throttled', retryAfterSeconds: 1, message: '' }, ['create', 'create', 'create'], ['refused']],
    [{ kind: 'forbidden', message: '' }, ['create'], ['refused']],
    [{ kind: 'namespaceTerminating', message: '' }, ['create'], ['refused']],
    [{ kind: 'conflict', message: 'already exists' }, ['create'], []],
  ])('answered with %j', async (refusal, verbs, dropped) => {
    const set = setUp(() => refusal);
    set.recorder.emit(details);
    await set.clock.advance(60_000);
    expect(set.client.requests.map(({ verb }) => verb)).toEqual(verbs);
    expect(set.dropped).toEqual(dropped);
  });

  test('a try that arrived without an answer counts', async () => {
    const answers: Answer[] = [
      { kind: 'network', message: '' },
      { kind: 'conflict', message: '' },
    ];
    const { clock, client, recorder, dropped } = setUp(() => answers.shift() ?? { kind: 'ok', object: {} });
    recorder.emit(details);
    await settle();
    recorder.emit(details);
    await clock.advance(60_000);
    expect(client.requests.map(({ verb }) => verb)).toEqual(['create', 'create', 'patch']);
    expect(dropped).toEqual([]);
  });

  test('flush writes what is pending, does not retry, and ends in time', async () => {
    const { clock, client, recorder } = setUp();
    await recorder.flush(1_000);
    recorder.emit(details);
    recorder.emit(details);
    const flushed = recorder.flush(1_000);
    await settle();
    await flushed;
    expect(client.requests.length).toBeGreaterThan(0);
    expect(clock.pendingTimers).toBe(0);

    const hung = setUp(() => new Promise<Answer>(() => {}));
    hung.recorder.emit(details);
    let done = false;
    const ended = hung.recorder.flush(1_000).then(() => (done = true));
    await hung.clock.advance(999);
    expect(done).toBe(false);
    await hung.clock.advance(1);
    await ended;

    const refused = setUp(() => ({ kind: 'network', message: '' }));
    refused.recorder.emit(details);
    await refused.recorder.flush(1_000);
    expect(refused.client.requests).toHaveLength(1);
  });

  test('works with few requests at once', async () => {
    let running = 0;
    let most = 0;
    const { clock, recorder, client } = setUp(async () => {
      running += 1;
      most = Math.max(most, running);
      await settle();
      running -= 1;
      return { kind: 'ok', object: {} };
    });
    for (let i = 0; i < 20; i += 1) {
      recorder.emit({ ...details, note: `note ${i}` });
    }
    await recorder.flush(1_000);
    expect(client.requests).toHaveLength(20);
    expect(most).toBe(4);
    expect(clock.pendingTimers).toBe(0);
  });
});
