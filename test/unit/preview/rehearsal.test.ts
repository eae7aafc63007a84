import { expect, test } from '@jest/globals';
import type { Answer, Refusal } from '../../../src/kube/answer.ts';
import { classify } from '../../../src/kube/classify.ts';
import type { Leaver } from '../../../src/preview/outlook.ts';
import { rehearse } from '../../../src/preview/rehearsal.ts';
import { pod } from '../../fixtures/objects.ts';
import { ScriptedClient } from '../../fixtures/scripted-client.ts';

const leaver = (name: string, gracePeriodSeconds?: number): Leaver => ({
  pod: pod(name),
  gracePeriodSeconds,
  gate: { kind: 'free' },
  volumes: { kind: 'known', volumes: [] },
});
const { signal } = new AbortController();

test('asks for a dry run in the query and in the body, with the UID', async () => {
  const client = new ScriptedClient(() => ({ kind: 'ok', object: {} }));
  await rehearse(client, [leaver('a', 5)], signal);
  expect(client.requests).toMatchObject([
    {
      verb: 'create',
      path: '/api/v1/namespaces/shop/pods/a/eviction?dryRun=All',
      body: {
        deleteOptions: { preconditions: { uid: 'uid-a' }, gracePeriodSeconds: 5, dryRun: ['All'] },
      },
    },
  ]);
});

test('asks for few at a time', async () => {
  let running = 0;
  let most = 0;
  const client = new ScriptedClient(async () => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running--;
    return { kind: 'ok', object: {} };
  });
  const all = Array.from({ length: 50 }, (_, index) => leaver(`p${index}`));
  expect((await rehearse(client, all, signal)).size).toBe(50);
  expect(most).toBe(10);
});

const noDryRun = 'admission webhook "evict.example.com" does not support dry run';
const message = 'm';

test.each<[string, Answer, object]>([
  ['accepted', { kind: 'ok', object: {} }, { kind: 'allowed' }],
  ['gone', { kind: 'notFound', message }, { kind: 'gone' }],
  ['replaced', { kind: 'conflict', message }, { kind: 'gone' }],
  [
    'a budget',
    { kind: 'budget', budget: 'web', needs: 1, has: 1, message },
    { kind: 'refused', obstacle: { cause: 'PodDisruptionBudget' } },
  ],
  ['several budgets', { kind: 'multipleBudgets', message }, { kind: 'refused' }],
  [
    'a webhook',
    { kind: 'admission', message: 'no' },
    { kind: 'refused', obstacle: { cause: 'AdmissionDenied' } },
  ],
  [
    'a webhook that takes no part in dry runs',
    classify(400, { message: noDryRun, reason: 'BadRequest' }, {}),
    { kind: 'unknown', message: noDryRun },
  ],
  ['a missing right', { kind: 'forbidden', message }, { kind: 'notPermitted' }],
  ...(['network', 'invalid', 'notServed', 'expired'] as const).map((kind): [string, Refusal, object] => [
    kind,
    { kind, message },
    { kind: 'failed', message },
  ]),
])('%s', async (_, answer, expected) => {
  const answers = await rehearse(new ScriptedClient(() => answer), [leaver('a')], signal);
  expect(answers.get('uid-a')).toMatchObject(expected);
});
