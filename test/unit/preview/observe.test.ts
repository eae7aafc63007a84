import { describe, expect, test } from '@jest/globals';
import type { Answer } from '../../../src/kube/answer.ts';
import { observe } from '../../../src/preview/observe.ts';
import { FakeClock } from '../../fixtures/fake-clock.ts';
import { maintenance, node, pod } from '../../fixtures/objects.ts';
import { ScriptedClient } from '../../fixtures/scripted-client.ts';

const { signal } = new AbortController();

function list(...items: readonly object[]): Answer {
  return { kind: 'ok', object: { metadata: { resourceVersion: '9' }, items } };
}

const forbidden: Answer = { kind: 'forbidden', message: 'no' };
const notServed: Answer = { kind: 'notServed', message: '404 page not found' };

function look(answers: Readonly<Record<string, Answer>> = {}, nodeName = 'n1') {
  const client = new ScriptedClient(({ path }) => {
    const [resource = ''] = path.split('/').slice(-1);
    return answers[resource] ?? (resource === 'nodes' ? list(node(), node({}, 'worker-2')) : list());
  });
  return { client, seen: observe(client, new FakeClock(), nodeName, signal) };
}

test('reads and writes nothing', async () => {
  const { client, seen } = look();
  await seen;
  expect(client.requests.filter(({ verb }) => verb !== 'get' && verb !== 'list')).toEqual([]);
});

test('without the CRD there are no maintenances, and that is no gap', async () => {
  expect(await look({ nodemaintenances: notServed }).seen).toMatchObject({ maintenances: [], gaps: [] });
});

test('takes the maintenances of this node only', async () => {
  const all = list(maintenance(), maintenance({}, { nodeName: 'n2' }, 'm2'));
  expect(
    (await look({ nodemaintenances: all }).seen).maintenances.map(({ metadata }) => metadata.name),
  ).toEqual(['m1']);
});

test.each(['nodemaintenances', 'volumeattachments', 'csidrivers'])(
  'does without the right to list %s, and says what is not known then',
  async (resource) => {
    expect((await look({ [resource]: forbidden }).seen).gaps).toEqual([expect.stringMatching(/: no$/)]);
  },
);

describe('ends in one line', () => {
  test.each<[string, Readonly<Record<string, Answer>>, string, string]>([
    ['for a node that is not there', {}, 'woker-2', 'there is no node "woker-2": did you mean worker-2?'],
    ['for one that resembles none', {}, 'xyz', 'there is no node "xyz": the cluster has n1, worker-2'],
    ['in an empty cluster', { nodes: list() }, 'n1', 'there is no node "n1": the cluster has no nodes'],
    [
      'without the right to list what it cannot do without',
      { poddisruptionbudgets: forbidden },
      'n1',
      'cannot list poddisruptionbudgets: no; get the right to list poddisruptionbudgets in the whole cluster',
    ],
    [
      'when the API server fails',
      { csidrivers: { kind: 'serverError', code: 500, message: 'broken' } },
      'n1',
      'cannot list csidrivers: broken; check --kubeconfig and --context',
    ],
  ])('%s', async (_, answers, name, message) => {
    await expect(look(answers, name).seen).rejects.toThrow(message);
  });
});

test('volumes that cannot be looked up are not waited for', async () => {
  const { client, seen } = look({
    pods: list({
      ...pod('db'),
      spec: { nodeName: 'n1', volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] },
    }),
    data: forbidden,
  });
  expect([...(await seen).volumes]).toEqual([['uid-db', { kind: 'unknown', problem: 'no' }]]);
  expect(client.requests.filter(({ verb }) => verb === 'get')).toHaveLength(1);
});
