import { describe, expect, test } from '@jest/globals';
import type { Deletion, Post } from '../../../src/drain/evictions.ts';
import { Evictor } from '../../../src/drain/evictor.ts';
import { type Claim, LiveDrainMemory } from '../../../src/drain/memory.ts';
import { EvictionPace } from '../../../src/drain/pace.ts';
import type { Answer, Refusal } from '../../../src/kube/answer.ts';
import { NotLeading } from '../../../src/kube/guarded-client.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { nullLogger } from '../../../src/runtime/logger.ts';
import { FakeClock, settle } from '../../fixtures/fake-clock.ts';
import { type PodOptions, at, pod } from '../../fixtures/objects.ts';
import { ScriptedClient, type ScriptedRequest } from '../../fixtures/scripted-client.ts';

const ok: Answer = { kind: 'ok', object: {} };
const lane = 'shop/web';

function post(name: string, changes: Partial<Post> = {}): Post {
  return {
    pod: pod(name),
    gracePeriodSeconds: undefined,
    lane: undefined,
    probe: false,
    readFirst: false,
    retryIntervalMs: 20_000,
    budgetVersion: undefined,
    ...changes,
  };
}

const inLane = (name: string) => post(name, { lane, budgetVersion: '100' });

interface Pending extends ScriptedRequest {
  answer(answer: Answer): Promise<void>;
  /** As `beforeSending` does. */
  fail(error: Error): Promise<void>;
}

/** Requests wait until the test answers them; the watch shows what `shown` holds. */
function setUp(burst = 100) {
  const clock = new FakeClock();
  const memory = new LiveDrainMemory();
  const pending: Pending[] = [];
  const client = new ScriptedClient(
    (request) =>
      new Promise<Answer>((resolve, reject) => {
        request.options.signal?.addEventListener('abort', () => reject(request.options.signal?.reason));
        const answer = (value: Answer) => {
          resolve(value);
          return settle();
        };
        const fail = (error: Error) => {
          reject(error);
          return settle();
        };
        pending.push({ ...request, answer, fail });
      }),
  );
  const shown = new Map<string, Pod>();
  const answers: string[] = [];
  const errors: string[] = [];
  const woken: string[] = [];
  const stop = new AbortController();
  const evictor = new Evictor({
    client,
    pace: new EvictionPace({ clock, logger: nullLogger, ratePerSecond: 10, burst, onRate: () => {} }),
    clock,
    memory,
    logger: { ...nullLogger, error: (message) => errors.push(message) },
    onAnswer: (what, kind) => answers.push(`${what} ${kind}`),
    isPresent: ({ metadata: { name, uid } }) => {
      const seen = shown.get(name);
      return seen?.metadata.uid === uid && seen.metadata.deletionTimestamp === undefined;
    },
    wakeNode: (name) => woken.push(name),
    wakeLane: (key) => woken.push(key),
  });
  const start = (
    posts: readonly Post[],
    deletions: readonly Deletion[] = [],
    node = 'n1',
    claims: ReadonlyMap<string, Claim> = new Map(),
  ) => {
    const pods = [...posts, ...deletions].map((each) => each.pod);
    for (const each of pods) if (!shown.has(each.metadata.name)) shown.set(each.metadata.name, each);
    evictor.start(
      node,
      { posts, deletions, mayLeave: new Set(pods.map(({ metadata }) => metadata.uid)), claims },
      stop.signal,
    );
    return settle();
  };
  const next = (): Pending => {
    const request = pending.shift();
    if (!request) throw new Error('no request is waiting');
    return request;
  };
  return { clock, memory, evictor, start, next, pending, client, shown, answers, errors, woken, stop };
}

const names = ({ requests }: ScriptedClient) => requests.map(({ path }) => path.split('/')[6]);

describe('a request', () => {
  test('posts the eviction with the UID as precondition', async () => {
    const { start, next } = setUp();
    await start([post('a', { gracePeriodSeconds: 7 })]);
    expect(next()).toMatchObject({
      verb: 'create',
      path: '/api/v1/namespaces/shop/pods/a/eviction',
      body: {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: 'a', namespace: 'shop' },
        deleteOptions: { preconditions: { uid: 'uid-a' }, gracePeriodSeconds: 7 },
      },
    });
  });

  test('leaves the grace period to the pod where none is given, evicting and deleting', async () => {
    const { start, next } = setUp();
    await start([post('a')], [{ pod: pod('b'), gracePeriodSeconds: undefined, retryIntervalMs: 1 }]);
    expect(next().body).not.toHaveProperty('deleteOptions.gracePeriodSeconds');
    const deletion = next();
    expect(deletion).toMatchObject({ verb: 'delete', path: '/api/v1/namespaces/shop/pods/b' });
    expect(deletion.body).toEqual({ preconditions: { uid: 'uid-b' } });
  });

  test.each<[string, PodOptions | undefined]>([
    ['terminating', { deletionTimestamp: at(0) }],
    ['replaced under its name', { uid: 'uid-later' }],
    ['gone', undefined],
  ])('is not sent for a pod that is %s by the time of its token', async (_, options) => {
    const { clock, start, client, shown, memory, woken } = setUp(1);
    await start([post('first'), post('a')], [{ pod: pod('b'), gracePeriodSeconds: 1, retryIntervalMs: 1 }]);
    for (const name of ['a', 'b']) {
      if (options) shown.set(name, pod(name, options));
      else shown.delete(name);
    }
    await clock.advance(1000);
    expect(names(client)).toEqual(['first']);
    expect([...memory.inFlight]).toEqual(['uid-first']);
    expect(memory.accepted.size).toBe(0);
    expect(woken).toEqual(['n1', 'n1']);
  });

  test('is not sent for a pod that a later plan does not want to leave any more', async () => {
    const { clock, evictor, start, client, memory, stop } = setUp(1);
    await start([post('first'), inLane('a')], [{ pod: pod('b'), gracePeriodSeconds: 1, retryIntervalMs: 1 }]);
    evictor.start('n1', { posts: [], deletions: [], mayLeave: new Set(), claims: new Map() }, stop.signal);
    await clock.advance(1000);
    expect(names(client)).toEqual(['first']);
    expect([...memory.inFlight]).toEqual(['uid-first']);
    expect(memory.lane(lane).busy).toBeUndefined();
    expect(memory.lane(lane).unseen.size).toBe(0);
  });

  test('costs a token, in the order of the plan', async () => {
    const { clock, start, client } = setUp(2);
    await start(['a', 'b', 'c', 'd'].map((name) => post(name)));
    expect(names(client)).toEqual(['a', 'b']);
    await clock.advance(100);
    expect(names(client)).toEqual(['a', 'b', 'c']);
  });
});

type PlainKind = Exclude<Refusal['kind'], 'budget' | 'budgetStale' | 'throttled' | 'serverError'>;

function refusal(kind: PlainKind): Refusal {
  return { kind, message: 'no' };
}

function found(options: PodOptions): Answer {
  return { kind: 'ok', object: pod('a', options) };
}

test('a hundred are on the wire at most; the next goes when one is answered, and only if it is due then', async () => {
  const { start, next, client, shown, memory } = setUp(200);
  const posts = Array.from({ length: 102 }, (_, index) => post(`p${index}`));
  await start(posts, [{ pod: pod('b'), gracePeriodSeconds: 1, retryIntervalMs: 1 }]);
  expect(client.requests).toHaveLength(100);
  shown.set('p100', pod('p100', { deletionTimestamp: at(0) }));
  await next().answer(ok);
  expect(names(client).slice(100)).toEqual(['p101']);
  expect(memory.inFlight.has('uid-p100')).toBe(false);
  await next().answer({ kind: 'network', message: 'no' });
  expect(names(client).slice(100)).toEqual(['p101', 'b']);
});

describe('what the memory says after an answer', () => {
  test.each<[Refusal, number | undefined, boolean]>([
    [refusal('admission'), 20_000, false],
    [refusal('namespaceTerminating'), 20_000, false],
    [refusal('forbidden'), 20_000, false],
    [refusal('invalid'), 20_000, false],
    [refusal('expired'), 20_000, false],
    [refusal('notServed'), 20_000, false],
    [refusal('network'), 1_000, true],
    [{ kind: 'serverError', code: 500, message: 'no' }, 20_000, true],
    [{ kind: 'throttled', retryAfterSeconds: 7, message: 'no' }, 7_000, false],
    [{ kind: 'throttled', retryAfterSeconds: 0, message: 'no' }, 1_000, false],
    [{ kind: 'budget', budget: 'b', needs: 1, has: 1, message: 'no' }, 1_000, false],
    [{ kind: 'budgetStale', budget: 'b', retryAfterSeconds: 10, message: 'no' }, 1_000, false],
    [refusal('multipleBudgets'), 20_000, false],
  ])('%j outside of a lane', async (answer, notBefore, uncertain) => {
    const { memory, start, next, answers, woken } = setUp();
    await start([post('a')]);
    await next().answer(answer);
    expect(memory.attempts.get('uid-a')).toEqual({ refusal: answer, at: 0, notBefore, uncertain });
    expect(memory.inFlight.size + memory.accepted.size).toBe(0);
    expect(answers).toEqual([`eviction ${answer.kind}`]);
    expect(woken).toEqual(['n1']);
  });

  test.each<[Answer]>([[ok], [{ kind: 'notFound', message: 'no' }]])('%j: asked no more', async (answer) => {
    const { memory, start, next } = setUp();
    memory.attempts.set('uid-a', { refusal: refusal('admission'), at: 0, notBefore: 0, uncertain: false });
    await start([post('a')]);
    expect([...memory.inFlight]).toEqual(['uid-a']);
    await next().answer(answer);
    expect(memory.attempts.size).toBe(0);
    expect([...memory.accepted]).toEqual(['uid-a']);
    expect(memory.inFlight.size).toBe(0);
    memory.podTerminates('uid-a');
    expect(memory.accepted.size).toBe(0);
  });

  test('an acceptance that the watch showed first leaves nothing behind', async () => {
    const { memory, start, next, shown } = setUp();
    await start([inLane('a')]);
    shown.set('a', pod('a', { deletionTimestamp: at(30) }));
    memory.podTerminates('uid-a');
    shown.delete('a');
    memory.podGone('uid-a');
    await next().answer(ok);
    expect(memory.accepted.size + memory.inFlight.size + memory.attempts.size).toBe(0);
    expect(memory.lane(lane).unseen.size).toBe(0);
  });
});

describe('409 is explained by a look at the pod', () => {
  const conflict: Answer = { kind: 'conflict', message: 'the UID in the precondition does not match' };

  test.each<[string, Answer]>([
    ['another pod has its name', found({ uid: 'uid-later' })],
    ['it is terminating', found({ deletionTimestamp: at(0) })],
    ['it is gone', { kind: 'notFound', message: 'no' }],
  ])('%s: asked no more, until the watch has caught up', async (_, look) => {
    const { memory, start, next, client } = setUp();
    await start([post('a')]);
    await next().answer(conflict);
    const request = next();
    expect([request.verb, request.path]).toEqual(['get', '/api/v1/namespaces/shop/pods/a']);
    expect([...memory.inFlight]).toEqual(['uid-a']);
    await request.answer(look);
    expect([...memory.accepted]).toEqual(['uid-a']);
    expect(memory.attempts.size + memory.inFlight.size).toBe(0);
    expect(client.requests).toHaveLength(2);
  });

  test('the very pod is still there: tried again in a moment', async () => {
    const { memory, start, next } = setUp();
    await start([post('a')]);
    await next().answer(conflict);
    await next().answer(found({}));
    expect(memory.attempts.get('uid-a')).toMatchObject({
      refusal: conflict,
      notBefore: 1_000,
      uncertain: false,
    });
    expect(memory.accepted.size).toBe(0);
  });

  test('nobody can tell: looked at again before anything is posted', async () => {
    const { memory, start, next } = setUp();
    await start([post('a')]);
    await next().answer(conflict);
    await next().answer({ kind: 'network', message: 'reset' });
    expect(memory.attempts.get('uid-a')).toMatchObject({
      refusal: { kind: 'network' },
      notBefore: 1_000,
      uncertain: true,
    });
  });
});

describe('a pod whose last fate is not known is read first', () => {
  const again = post('a', { readFirst: true });

  test.each<[string, Answer]>([
    ['terminating', { kind: 'ok', object: pod('a', { deletionTimestamp: at(0) }) }],
    ['another pod', { kind: 'ok', object: pod('a', { uid: 'x' }) }],
    ['gone', { kind: 'notFound', message: 'no' }],
    ['nobody answers', { kind: 'network', message: 'no' }],
    ['nobody may tell', { kind: 'forbidden', message: 'no' }],
  ])('%s: not posted', async (_, look) => {
    const { start, next, client, memory } = setUp();
    await start([again]);
    await next().answer(look);
    expect(client.requests.map(({ verb }) => verb)).toEqual(['get']);
    expect(memory.inFlight.size).toBe(0);
  });

  test('posted after the look found it as it was', async () => {
    const { start, next, memory } = setUp();
    await start([again]);
    await next().answer({ kind: 'ok', object: pod('a') });
    const request = next();
    expect(request.verb).toBe('create');
    await request.answer(ok);
    expect([...memory.accepted]).toEqual(['uid-a']);
  });
});

describe('a lane', () => {
  test('goes one after another, and is busy until the last answer', async () => {
    const { memory, start, next, pending, woken } = setUp();
    await start(['a', 'b'].map(inLane));
    expect(memory.lane(lane).busy).toBe('n1');
    expect([...memory.inFlight]).toEqual(['uid-a', 'uid-b']);
    expect(pending).toHaveLength(1);
    expect([...memory.lane(lane).unseen.keys()]).toEqual(['a']);
    await next().answer(ok);
    expect(pending).toHaveLength(1);
    expect([...memory.lane(lane).unseen.keys()]).toEqual(['a', 'b']);
    await next().answer(ok);
    expect(memory.lane(lane).busy).toBeUndefined();
    expect(woken).toEqual(['n1', lane]);
  });

  test('of which a node wants less than before wakes those who stood back for it', async () => {
    const { start, woken, memory } = setUp();
    const claims = new Map([[lane, { age: '1', pods: 2 }]]);
    await start([], [], 'n1', claims);
    await start([], [], 'n1', claims);
    expect(woken).toEqual([]);
    await start([], [], 'n1', new Map([[lane, { age: '1', pods: 1 }]]));
    expect(woken).toEqual([lane]);
    expect(memory.lane(lane).claims.get('n1')?.pods).toBe(1);
    await start([], [], 'n1');
    expect(woken).toEqual([lane, lane]);
    expect(memory.lane(lane).claims.size).toBe(0);
  });

  test('different lanes go side by side', async () => {
    const { start, pending } = setUp();
    await start([inLane('a'), post('b', { lane: 'shop/other' }), inLane('c')]);
    expect(pending.map(({ path }) => path.split('/')[6])).toEqual(['a', 'b']);
  });

  test.each<[Refusal]>([
    [{ kind: 'budget', budget: 'web', needs: 2, has: 2, message: 'no' }],
    [{ kind: 'budgetStale', budget: 'web', retryAfterSeconds: 10, message: 'no' }],
    [{ kind: 'multipleBudgets', message: 'no' }],
  ])('%j stops it: the others are not asked for', async (answer) => {
    const { clock, memory, start, next, client, woken } = setUp();
    await clock.advance(5);
    await start(['a', 'b', 'c'].map(inLane));
    await next().answer(ok);
    await next().answer(answer);
    expect(client.requests).toHaveLength(2);
    expect(memory.attempts.get('uid-b')).toEqual({
      refusal: answer,
      at: 5,
      notBefore: undefined,
      uncertain: false,
    });
    expect(memory.attempts.has('uid-c')).toBe(false);
    expect(memory.inFlight.size).toBe(0);
    expect(memory.lane(lane)).toMatchObject({
      busy: undefined,
      refusedVersion: '100',
      probe: { nextAt: 20_005 },
    });
    expect([...memory.lane(lane).unseen.keys()]).toEqual(['a']);
    expect(woken).toEqual(['n1', lane]);
  });

  test.each<[Refusal]>([
    [{ kind: 'admission', message: 'no' }],
    [{ kind: 'network', message: 'no' }],
    [{ kind: 'conflict', message: 'no' }],
  ])('%j to one pod does not stop the others', async (answer) => {
    const { start, next, memory } = setUp();
    await start(['a', 'b'].map(inLane));
    await next().answer(answer);
    if (answer.kind === 'conflict') await next().answer({ kind: 'ok', object: pod('a') });
    expect(next().path).toContain('/b/');
    expect([...memory.lane(lane).unseen.keys()]).toEqual(['b']);
  });

  test('is free again when the process has to let go in the middle', async () => {
    const { clock, evictor, memory, start, stop, next } = setUp();
    await start(['a', 'b'].map(inLane));
    next();
    stop.abort(new Error('not leading any more'));
    await clock.advance(2_000);
    await evictor.idle();
    expect(memory.lane(lane).busy).toBeUndefined();
    expect(memory.inFlight.size).toBe(0);
  });

  test('lets the eviction on the wire end when the process stops, and sends no more', async () => {
    const { clock, client, evictor, start, stop, next, answers } = setUp();
    await start(['a', 'b'].map(inLane));
    stop.abort(new Error('the operator is stopping'));
    await clock.advance(1_900);
    await next().answer(ok);
    await evictor.idle();
    expect(answers).toEqual(['eviction ok']);
    expect(names(client)).toEqual(['a']);
  });
});

test.each<[string, Error, string[]]>([
  ['a Lease that has lapsed before it was sent', new NotLeading(), []],
  ['anything else', new TypeError('x is undefined'), ['evicting failed']],
])(
  '%s: the eviction is not counted, the node is planned anew, and only what nobody expects is an error',
  async (_, error, logged) => {
    const { memory, start, next, errors, woken } = setUp();
    await start([post('a')]);
    await next().fail(error);
    expect(errors).toEqual(logged);
    expect(memory.inFlight.size).toBe(0);
    expect(memory.accepted.size).toBe(0);
    expect(woken).toEqual(['n1']);
  },
);

describe('a deletion', () => {
  const deletion: Deletion = { pod: pod('a'), gracePeriodSeconds: 9, retryIntervalMs: 20_000 };

  test('that is accepted is not asked again', async () => {
    const { memory, start, next, answers } = setUp();
    await start([], [deletion]);
    expect([...memory.inFlight]).toEqual(['uid-a']);
    await next().answer(ok);
    expect([...memory.accepted]).toEqual(['uid-a']);
    expect(answers).toEqual(['deletion ok']);
  });

  test.each<[Refusal, boolean]>([
    [{ kind: 'admission', message: 'no' }, false],
    [{ kind: 'network', message: 'no' }, true],
    [{ kind: 'serverError', code: 500, message: 'no' }, true],
  ])('that got %j is not repeated before its eviction was refused again', async (answer, uncertain) => {
    const { memory, start, next } = setUp();
    await start([], [deletion]);
    await next().answer(answer);
    expect(memory.attempts.get('uid-a')).toMatchObject({ refusal: answer, uncertain });
    expect(memory.attempts.get('uid-a')?.notBefore).toBeGreaterThan(0);
  });

  test('that is not permitted is told with the value of the chart that permits it', async () => {
    const { memory, start, next } = setUp();
    await start([], [deletion]);
    await next().answer({ kind: 'forbidden', message: 'no' });
    expect(memory.attempts.get('uid-a')?.refusal.message).toBe(
      'no; set allowPodDeletion: true in the values of the chart',
    );
  });
});
