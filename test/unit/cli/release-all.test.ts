import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { StartError, UsageError } from '../../../src/cli/exit.ts';
import { releaseAllCommand, releaseAllHelp } from '../../../src/cli/release-all.ts';
import { findDeployment } from '../../../src/release/deployment.ts';
import { FakeApiServer, reply } from '../../fixtures/fake-api-server.ts';
import { ScriptedClient } from '../../fixtures/scripted-client.ts';

async function releaseAll(args: readonly string[]) {
  let out = '';
  const stdout = { write: (text: string) => (out += text) };
  const code = await releaseAllCommand(args, { stdout, stderr: stdout }, {});
  return { code, out };
}

test('--help prints the help', async () => {
  expect(await releaseAll(['--help'])).toEqual({ code: 0, out: releaseAllHelp });
});

test.each<[readonly string[], string]>([
  [
    ['all'],
    'unexpected argument "all": haulout release-all takes flags only, see haulout release-all --help',
  ],
  [['--timeout=0'], '--timeout "0" cannot be used: write whole seconds, for example 120'],
  [['--timeout', '2m'], '--timeout "2m" cannot be used: write whole seconds, for example 120'],
  [['--deployment='], '--deployment "" cannot be used: write a value, or leave the flag out'],
])('%j is refused in one line that says what to write instead', async (args, message) => {
  await expect(releaseAll(args)).rejects.toThrow(new UsageError(message));
});

test('a kubeconfig that is not there is told in one line', async () => {
  await expect(releaseAll(['--kubeconfig=/nonexistent'])).rejects.toThrow(StartError);
});

describe('the Deployment of the operator', () => {
  const own = { namespace: 'ops', name: 'haulout' };
  const { signal } = new AbortController();
  const path = '/apis/apps/v1/namespaces/ops/deployments/haulout/scale';

  test('is scaled to nothing, and back to what it was', async () => {
    const client = new ScriptedClient(() => ({ kind: 'ok', object: { spec: { replicas: 3 } } }));
    const deployment = await findDeployment(client, own, signal);
    await deployment?.stop(signal);
    expect(await deployment?.bringBack()).toBeUndefined();
    expect(client.requests.map(({ verb, path: at, body }) => [verb, at, body])).toEqual([
      ['get', path, undefined],
      ['patch', path, { spec: { replicas: 0 } }],
      ['patch', path, { spec: { replicas: 3 } }],
    ]);
  });

  test('that does not exist runs nothing', async () => {
    const client = new ScriptedClient(() => ({ kind: 'notFound', message: 'no' }));
    expect([await findDeployment(client, own, signal), client.requests.length]).toEqual([undefined, 1]);
  });

  test.each(['get', 'patch'])('is not left behind in silence where %s is refused', async (refused) => {
    const client = new ScriptedClient(({ verb }) =>
      verb === refused ? { kind: 'forbidden', message: 'no' } : { kind: 'ok', object: {} },
    );
    const stopped = findDeployment(client, own, signal).then((deployment) => deployment?.stop(signal));
    await expect(stopped).rejects.toThrow(new StartError('Deployment ops/haulout could not be scaled: no'));
  });

  test('is brought back where the answer to stopping it was lost', async () => {
    const server = await new FakeApiServer().start();
    const directory = mkdtempSync(join(tmpdir(), 'haulout-release-'));
    let replicas = 2;
    server.handler = ({ method, path: at, body }, response) => {
      if (at !== path) return reply(response, 200, {});
      if (method === 'PATCH') ({ replicas } = (JSON.parse(body) as { spec: { replicas: number } }).spec);
      if (replicas === 0) return void response.destroy();
      return reply(response, 200, { spec: { replicas } });
    };
    const kubeconfig = join(directory, 'kubeconfig');
    writeFileSync(kubeconfig, kubeconfigOf(server));
    try {
      const args = ['--namespace=ops', '--deployment=haulout', `--kubeconfig=${kubeconfig}`];
      await expect(releaseAll(args)).rejects.toThrow('Deployment ops/haulout could not be scaled');
      expect(replicas).toBe(2);
    } finally {
      await server.stop();
      rmSync(directory, { recursive: true });
    }
  });
});

function kubeconfigOf({ url, ca }: FakeApiServer): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'c',
        cluster: { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') },
      },
    ],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'c',
  });
}
