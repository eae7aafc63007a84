import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { loadKubeConfig } from '../../../src/kube/kubeconfig.ts';

let directory: string;
const nothing = { HOME: '/nonexistent' };

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'haulout-kubeconfig-'));
});

afterAll(() => {
  rmSync(directory, { recursive: true });
});

function file(name: string, text: string): string {
  const path = join(directory, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  return path;
}

function config(name: string, extra: Record<string, unknown> = {}): string {
  return JSON.stringify({
    'current-context': name,
    clusters: [{ name, cluster: { server: `https://${name}.example:6443/base/` } }],
    users: [{ name, user: { token: `token-of-${name}` } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: `ns-${name}` } }],
    ...extra,
  });
}

describe('loadKubeConfig', () => {
  test('reads the file that was named, and nothing else', async () => {
    const path = file('a', config('a'));
    const access = loadKubeConfig({ kubeconfig: path, env: { KUBECONFIG: file('b', config('b')) } });
    expect(access).toMatchObject({ server: 'https://a.example:6443/base', source: path, namespace: 'ns-a' });
    expect(await access.credentials(false)).toMatchObject({
      headers: { authorization: 'Bearer token-of-a' },
    });
  });

  test('merges the files of KUBECONFIG, the first of each name', async () => {
    const first = file('first', config('a', { 'current-context': 'b' }));
    const second = file(
      'second',
      config('b', {
        users: [
          { name: 'a', user: { token: 'other' } },
          { name: 'b', user: { token: 'b' } },
        ],
      }),
    );
    const env = { KUBECONFIG: [first, join(directory, 'missing'), second].join(delimiter) };
    expect(loadKubeConfig({ env })).toMatchObject({ server: 'https://b.example:6443/base' });
    const a = loadKubeConfig({ env, context: 'a' });
    expect(await a.credentials(false)).toMatchObject({ headers: { authorization: 'Bearer token-of-a' } });
  });

  test('falls back to the home directory', () => {
    file('home/.kube/config', config('home'));
    const access = loadKubeConfig({ env: { HOME: join(directory, 'home') } });
    expect(access.server).toBe('https://home.example:6443/base');
  });

  test('falls back to the service account of the pod, whose token is read anew', async () => {
    file('sa/token', 'first\n');
    file('sa/ca.crt', 'CERTIFICATE');
    const access = loadKubeConfig({
      env: { ...nothing, KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' },
      serviceAccountDirectory: join(directory, 'sa'),
    });
    expect(access).toMatchObject({ server: 'https://[fd00::1]:443', source: 'in-cluster service account' });
    const { headers, tls } = await access.credentials(false);
    expect(headers).toEqual({ authorization: 'Bearer first' });
    expect(String(tls.ca)).toBe('CERTIFICATE');
    file('sa/token', 'second');
    expect(await access.credentials(true)).toMatchObject({ headers: { authorization: 'Bearer second' } });
  });

  test('takes a token instead of the configured user', async () => {
    const pem = Buffer.from('PEM').toString('base64');
    const path = file(
      'cert',
      config('c', {
        users: [{ name: 'c', user: { 'client-certificate-data': pem, 'client-key-data': pem } }],
      }),
    );
    const own = await loadKubeConfig({ kubeconfig: path }).credentials(false);
    expect(String(own.tls.cert)).toBe('PEM');
    expect(own.headers).toEqual({});
    const other = await loadKubeConfig({ kubeconfig: path, token: 't\n' }).credentials(false);
    expect(other).toEqual({ tls: {}, headers: { authorization: 'Bearer t' } });
  });

  test('reads a token from its file, beside the kubeconfig, whenever it is asked anew', async () => {
    const path = file(
      'by-file',
      config('f', { users: [{ name: 'f', user: { tokenFile: 'f.token', token: 'old' } }] }),
    );
    file('f.token', 'one\n');
    const access = loadKubeConfig({ kubeconfig: path });
    expect(await access.credentials(false)).toMatchObject({ headers: { authorization: 'Bearer one' } });
    file('f.token', 'two\n');
    expect(await access.credentials(true)).toMatchObject({ headers: { authorization: 'Bearer two' } });
  });

  test('knows passwords, impersonation, server names and plain http', async () => {
    const path = file(
      'more',
      config('m', {
        clusters: [
          {
            name: 'm',
            cluster: {
              server: 'http://127.0.0.1:8001',
              'tls-server-name': 'kube',
              'proxy-url': 'http://proxy:3128',
            },
          },
        ],
        users: [{ name: 'm', user: { username: 'u', password: 'p', as: 'someone' } }],
      }),
    );
    const access = loadKubeConfig({ kubeconfig: path });
    expect(access.proxyUrl).toBe('http://proxy:3128');
    expect(await access.credentials(false)).toMatchObject({
      tls: { servername: 'kube' },
      headers: {
        authorization: `Basic ${Buffer.from('u:p').toString('base64')}`,
        'impersonate-user': 'someone',
      },
    });
  });

  test.each<[string, () => unknown, RegExp]>([
    [
      'nothing at all',
      () => loadKubeConfig({ env: nothing }),
      /^no Kubernetes configuration found; tried KUBECONFIG \(not set\), .*\.kube.config \(no such file\), the pod service account \(KUBERNETES_SERVICE_HOST is not set\)$/,
    ],
    [
      'a pod without a token',
      () =>
        loadKubeConfig({
          env: { ...nothing, KUBECONFIG: '/none', KUBERNETES_SERVICE_HOST: 'x' },
          serviceAccountDirectory: '/none',
        }),
      /KUBECONFIG \(\/none: no such file\).*\(no token\)$/,
    ],
    [
      'a missing file',
      () => loadKubeConfig({ kubeconfig: '/none' }),
      /^cannot use kubeconfig \/none: ENOENT/,
    ],
    [
      'no YAML',
      () => loadKubeConfig({ kubeconfig: file('bad', 'token: secret\n\t: {') }),
      /^cannot use kubeconfig .*bad: /,
    ],
    [
      'an empty file',
      () => loadKubeConfig({ kubeconfig: file('empty', '') }),
      /^cannot use kubeconfig .*empty: /,
    ],
    [
      'no current context',
      () => loadKubeConfig({ kubeconfig: file('none', config('a', { 'current-context': '' })) }),
      /has no current context/,
    ],
    [
      'an unknown context',
      () => loadKubeConfig({ kubeconfig: file('one', config('a')), context: 'z' }),
      /has no context "z" \(it has: a\)$/,
    ],
    [
      'a context without cluster',
      () => loadKubeConfig({ kubeconfig: file('two', config('a', { clusters: [] })) }),
      /leads to no cluster/,
    ],
    [
      'a server that is no URL',
      () =>
        loadKubeConfig({
          kubeconfig: file('three', config('a', { clusters: [{ name: 'a', cluster: { server: 'kube' } }] })),
        }),
      /usable server URL/,
    ],
    [
      'a proxy of another kind',
      () =>
        loadKubeConfig({
          kubeconfig: file(
            'four',
            config('a', {
              clusters: [{ name: 'a', cluster: { server: 'https://a', 'proxy-url': 'socks5://u:p@x' } }],
            }),
          ),
        }),
      /proxy-url must be http or https, not socks5$/,
    ],
  ])('says in one line what is wrong with %s', (_name, load, message) => {
    let text = '';
    try {
      load();
    } catch (error) {
      text = (error as Error).message;
    }
    expect(text).toMatch(message);
    expect(text).not.toContain('\n');
    expect(text).not.toContain('secret');
  });
});
