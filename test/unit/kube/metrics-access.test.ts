import { expect, test } from '@jest/globals';
import type { Answer } from '../../../src/kube/answer.ts';
import { MetricsAccess } from '../../../src/kube/metrics-access.ts';
import { nullLogger } from '../../../src/runtime/logger.ts';
import { FakeClock } from '../../fixtures/fake-clock.ts';
import { ScriptedClient, type ScriptedRequest } from '../../fixtures/scripted-client.ts';

const user = { username: 'prometheus', uid: 'u', groups: ['scrapers'], extra: { scope: ['a'] } };
const ok = (status: object): Answer => ({ kind: 'ok', object: { status } });

/** An API server that knows the token `good`, whose user may read as `allowed` says. */
function setup(allowed: () => boolean = () => true) {
  const clock = new FakeClock();
  const client = new ScriptedClient(({ path, body }: ScriptedRequest) => {
    if (!path.endsWith('/tokenreviews')) return ok({ allowed: allowed() });
    const { spec } = body as { spec: { token: string } };
    if (spec.token === 'down') return { kind: 'network', message: 'connection refused' };
    return ok(spec.token === 'good' ? { authenticated: true, user } : { authenticated: false });
  });
  return { clock, client, access: new MetricsAccess({ client, clock, logger: nullLogger }) };
}

test.each([undefined, '', 'Basic Z29vZA==', 'Bearer', 'Bearer a b', 'good'])(
  'without a bearer token (%j) the API server is not even asked',
  async (header) => {
    const { access, client } = setup();
    expect(await access.check(header)).toBe('unauthenticated');
    expect(client.requests).toEqual([]);
  },
);

test('asks who the token belongs to, and whether that user may get /metrics', async () => {
  const { access, client } = setup();
  expect(await access.check('Bearer good')).toBe('allowed');
  expect(client.requests.map(({ path }) => path)).toEqual([
    '/apis/authentication.k8s.io/v1/tokenreviews',
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
  ]);
  expect(client.requests[1]?.body).toEqual({
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: {
      user: 'prometheus',
      uid: 'u',
      groups: ['scrapers'],
      extra: { scope: ['a'] },
      nonResourceAttributes: { path: '/metrics', verb: 'get' },
    },
  });
});

test('a token that is not known is told apart from a user who may not', async () => {
  const { access } = setup(() => false);
  expect(await access.check('Bearer bad')).toBe('unauthenticated');
  expect(await access.check('bearer good')).toBe('forbidden');
});

test('remembers a yes for a minute and a no for ten seconds', async () => {
  let allowed = true;
  const { access, client, clock } = setup(() => allowed);
  expect(await access.check('Bearer good')).toBe('allowed');
  allowed = false;
  await clock.advance(59_000);
  expect(await access.check('Bearer good')).toBe('allowed');
  expect(client.requests).toHaveLength(2);
  await clock.advance(1_000);
  expect(await access.check('Bearer good')).toBe('forbidden');
  allowed = true;
  await clock.advance(9_000);
  expect(await access.check('Bearer good')).toBe('forbidden');
  await clock.advance(1_000);
  expect(await access.check('Bearer good')).toBe('allowed');
});

test('an API server that cannot be asked lets nobody in, and is asked again at once', async () => {
  const { access, client } = setup();
  expect(await access.check('Bearer down')).toBe('unknown');
  expect(await access.check('Bearer down')).toBe('unknown');
  expect(client.requests).toHaveLength(2);
});

test('many who ask at once with one token are one question, and with invented ones a few', async () => {
  const { access, client } = setup();
  await Promise.all(Array.from({ length: 50 }, async () => access.check('Bearer good')));
  expect(client.requests).toHaveLength(2);
  const verdicts = await Promise.all(
    Array.from({ length: 50 }, async (_, i) => access.check(`Bearer x${i}`)),
  );
  expect(verdicts.filter((verdict) => verdict === 'unauthenticated')).toHaveLength(8);
  expect(verdicts.filter((verdict) => verdict === 'unknown')).toHaveLength(42);
  expect(client.requests).toHaveLength(10);
});

test('who was allowed goes on reading while strangers try, however many', async () => {
  const { access, client, clock } = setup();
  expect(await access.check('Bearer good')).toBe('allowed');
  for (let stranger = 0; stranger < 1_100; stranger++) await access.check(`Bearer x${stranger}`);
  const asked = client.requests.length;
  expect(await access.check('Bearer good')).toBe('allowed');
  expect(client.requests).toHaveLength(asked);

  await clock.advance(60_000);
  const crowd = Array.from({ length: 50 }, async (_, i) => access.check(`Bearer y${i}`));
  expect(await access.check('Bearer good')).toBe('allowed');
  await Promise.all(crowd);
});
