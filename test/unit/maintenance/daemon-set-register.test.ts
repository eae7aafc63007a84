import { expect, test } from '@jest/globals';
import type { Answer } from '../../../src/kube/answer.ts';
import { Store } from '../../../src/kube/store.ts';
import type { KubeObject } from '../../../src/kube/types.ts';
import { DaemonSetRegister } from '../../../src/maintenance/daemon-set-register.ts';
import { nullLogger } from '../../../src/runtime/logger.ts';
import { FakeClock } from '../../fixtures/fake-clock.ts';
import { ScriptedClient } from '../../fixtures/scripted-client.ts';

const notFound: Answer = { kind: 'notFound', message: 'no' };
const refused: Answer = { kind: 'forbidden', message: 'not allowed' };

function setUp(first: Answer) {
  const clock = new FakeClock();
  const script = { answer: first };
  const client = new ScriptedClient(() => script.answer);
  const told: string[] = [];
  const warned: string[] = [];
  const store = new Store<KubeObject>();
  const register = new DaemonSetRegister({
    store,
    client,
    clock,
    logger: { ...nullLogger, warn: (message) => warned.push(message) },
    onChange: () => {
      told.push('change');
      register.exists('u', 'shop', 'agent');
    },
  });
  return { clock, script, client, told, warned, register };
}

const found = (uid: string): Answer => ({ kind: 'ok', object: { metadata: { name: 'agent', uid } } });

test('one that is not found is gone, and is not looked for again', async () => {
  const { clock, client, register } = setUp(notFound);
  expect(register.exists('u', 'shop', 'agent')).toBe(true);
  expect(register.isUncertain('u')).toBe(true);
  await clock.advance(60_000);
  expect(register.exists('u', 'shop', 'agent')).toBe(false);
  expect(register.isUncertain('u')).toBe(false);
  expect(client.requests.map(({ path }) => path)).toEqual(['/apis/apps/v1/namespaces/shop/daemonsets/agent']);
});

test('one of the same name with another UID is another one', async () => {
  const { clock, register } = setUp(found('v'));
  register.exists('u', 'shop', 'agent');
  await clock.advance(10);
  expect(register.exists('u', 'shop', 'agent')).toBe(false);
});

test('one that was found is certain before the watch shows it', async () => {
  const { clock, register } = setUp(found('u'));
  register.exists('u', 'shop', 'agent');
  await clock.advance(10);
  expect(register.isUncertain('u')).toBe(false);
  expect(register.exists('u', 'shop', 'agent')).toBe(true);
});

test('while nobody answers it stays uncertain, is asked for more and more seldom, and each refusal is logged', async () => {
  const { clock, script, client, warned, register } = setUp(refused);
  register.exists('u', 'shop', 'agent');
  await clock.advance(600_000);
  expect(register.isUncertain('u')).toBe(true);
  // After 0, 1, 3, 7, 15, 31, 63, 123 s and so on each minute.
  expect(client.requests).toHaveLength(15);
  expect(warned).toHaveLength(15);
  script.answer = notFound;
  await clock.advance(60_000);
  expect(register.isUncertain('u')).toBe(false);
});

test.each(['../secrets/x', 'x?watch=true', 'x/status', 'ü', 'a b', 'A', '', '%2e%2e', '\u{0}'])(
  'nothing can be called %j: no request is made of it, and nobody waits',
  async (name) => {
    const { clock, client, register } = setUp(refused);
    register.exists('u', 'shop', name);
    await clock.advance(10);
    expect(register.exists('u', 'shop', name)).toBe(false);
    expect(register.isUncertain('u')).toBe(false);
    expect(client.requests).toEqual([]);
  },
);

test('of others that are not known, nothing is uncertain about one that is', async () => {
  const { clock, register } = setUp(found('u'));
  register.exists('u', 'shop', 'agent');
  await clock.advance(10);
  register.exists('another', 'shop', 'agent');
  expect(register.isUncertain('u')).toBe(false);
  expect(register.isUncertain('another')).toBe(true);
});
