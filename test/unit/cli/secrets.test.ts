// What a kubeconfig holds is in no line that the process prints, whatever goes wrong and at every level.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { stringify } from 'yaml';
import { FakeApiServer, reply } from '../../fixtures/fake-api-server.ts';

const secret = 'hunter2hunter2hunter2';
const launcher = join(import.meta.dirname, '../../../bin/haulout');
const directory = mkdtempSync(join(tmpdir(), 'haulout-secrets-'));
const server = new FakeApiServer();

beforeAll(async () => {
  await server.start();
  // A server that quotes what it was sent, as a proxy in debug mode does.
  server.handler = ({ headers }, response) => {
    const message = `refused: ${JSON.stringify(headers)}`;
    reply(response, 500, { kind: 'Status', status: 'Failure', code: 500, message });
  };
});
afterAll(async () => {
  await server.stop();
  rmSync(directory, { recursive: true });
});

async function printed(user: object, cluster: object = {}): Promise<string> {
  const file = join(directory, 'kubeconfig');
  const certificate = Buffer.from(server.ca).toString('base64');
  const clusters = [
    { name: 'c', cluster: { server: server.url, 'certificate-authority-data': certificate, ...cluster } },
  ];
  const contexts = [{ name: 'x', context: { cluster: 'c', user: 'u' } }];
  writeFileSync(
    file,
    stringify({ clusters, contexts, users: [{ name: 'u', user }], 'current-context': 'x' }),
  );
  const args = ['run', '--kubeconfig', file, '--log-level=debug', '--http-address=127.0.0.1:0'];
  const child = spawn(launcher, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => (text += data.toString()));
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect(code).toBe(2);
  expect(text).toMatch(/^haulout: /m);
  return text;
}

const says = (words: string) => ({
  exec: {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'sh',
    args: ['-c', words],
    interactiveMode: 'Never',
  },
});
const credential = {
  apiVersion: 'client.authentication.k8s.io/v1',
  kind: 'ExecCredential',
  status: { token: secret },
};

test.each<[string, object, object]>([
  ['a bearer token that the server quotes', { token: secret }, {}],
  ['a password that the server quotes', { username: 'u', password: secret }, {}],
  ['the token of a plugin', says(`echo '${JSON.stringify(credential)}'`), {}],
  ['what a plugin says as it fails', says(`echo "token=${secret} Bearer ${secret}" >&2; exit 1`), {}],
  ['what a plugin says instead of JSON', says(`echo '{"status":{"token":"${secret}"'`), {}],
  ['the password of a proxy', { token: 'x' }, { 'proxy-url': `http://u:${secret}@127.0.0.1:1` }],
  ['a password in the address', { token: 'x' }, { server: `https://u:${secret}@127.0.0.1:1` }],
])('%s', async (_, user, cluster) => {
  const text = await printed(user, cluster);
  const encoded = Buffer.from(`u:${secret}`).toString('base64');
  expect(text).not.toContain(secret);
  expect(text).not.toContain(encoded);
});
