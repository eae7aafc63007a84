// Tokens, client certificates and authorities change while the operator runs, and it goes on; rights that it does not need keep it from beginning.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { as } from '../../hack/cluster/lib/untyped.ts';
import { KubeClient } from '../../src/kube/kube-client.ts';
import type { KubeAccess } from '../../src/kube/connection.ts';
import { loadKubeConfig } from '../../src/kube/kubeconfig.ts';
import { createCertificate } from '../../src/runtime/certificates.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { nullLogger } from '../../src/runtime/logger.ts';
import { ownTestBed } from './support/beds.ts';
import { eventually } from './support/eventually.ts';
import { OPERATOR_NAMESPACE } from './support/install.ts';
import { OperatorProcess } from './support/operator-process.ts';
import { TlsFront } from './support/tls-front.ts';

interface Kubeconfig {
  readonly clusters: { name: string; cluster: Record<string, unknown> }[];
}

const bed = ownTestBed(import.meta.filename);

/** As the kubelet writes them: in one step. */
function replaceFile(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Good for as long as a Secret of that name exists. */
async function boundToken(secret: string): Promise<string> {
  const metadata = { name: secret, namespace: OPERATOR_NAMESPACE };
  await bed.api.create(`/api/v1/namespaces/${OPERATOR_NAMESPACE}/secrets`, { metadata });
  const bound = ['--bound-object-kind=Secret', `--bound-object-name=${secret}`];
  const token = await bed.kubectl.run([
    'create',
    'token',
    'haulout',
    `--namespace=${OPERATOR_NAMESPACE}`,
    ...bound,
  ]);
  return token.trim();
}

async function revoke(secret: string): Promise<void> {
  await bed.api.remove(`/api/v1/namespaces/${OPERATOR_NAMESPACE}/secrets/${secret}`);
}

/** What a kubeconfig calls the files. */
const FIELDS: Readonly<Record<string, string>> = {
  token: 'tokenFile',
  'client.crt': 'client-certificate',
  'client.key': 'client-key',
};

/** A kubeconfig of the operator and beside it, by name and text, the files that tell who that is. */
function writeAccess(name: string, { server, ca }: ReturnType<typeof cluster>, own: Record<string, string>) {
  const dir = join(bed.files.dir, name);
  mkdirSync(dir, { recursive: true });
  const write = (files: Record<string, string>): void => {
    for (const [file, text] of Object.entries(files)) replaceFile(join(dir, file), text);
  };
  const user = Object.fromEntries(Object.keys(own).map((file) => [FIELDS[file], join(dir, file)]));
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority': join(dir, 'ca.crt') } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  write({ ...own, 'ca.crt': ca, kubeconfig: stringify(document) });
  return { dir, write, kubeconfig: join(dir, 'kubeconfig') };
}

/** A kubeconfig that has all in it. */
function inline({ url, ca }: TlsFront, token: string): string {
  const authority = Buffer.from(ca).toString('base64');
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: url, 'certificate-authority-data': authority } }],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}

/** Of the cluster's authority. */
const pki = (name: string): string => readFileSync(join(bed.files.dir, 'pki', name), 'utf8');

/** Of the user that the chart's ServiceAccount is: permissions go by the name, however it was proved. */
function clientCertificate(validity: { readonly validSeconds?: number } = {}): Record<string, string> {
  const authority = { commonName: 'haulout-test-ca', certificate: pki('ca.crt'), key: pki('ca.key') };
  const commonName = `system:serviceaccount:${OPERATOR_NAMESPACE}:haulout`;
  const { certificate, key } = createCertificate(authority, { commonName, ...validity });
  return { 'client.crt': certificate, 'client.key': key };
}

function cluster(): { server: string; ca: string } {
  const { clusters } = as<Kubeconfig>(parse(readFileSync(bed.files.kubeconfig, 'utf8')));
  const { server, 'certificate-authority-data': ca } = as<Record<string, string>>(clusters[0]?.cluster);
  return { server: server ?? '', ca: Buffer.from(ca ?? '', 'base64').toString() };
}

async function drainsAndRestores(name: string): Promise<void> {
  const island = await bed.island(name);
  await bed.place(island, island.deployment('web', { replicas: 2, stopsIn: '1s' }));
  const before = await bed.snapshot(island.node);
  await bed.maintain(island.node);
  await bed.untilSaid(island.node, 'Drained', 'True/Drained', { timeoutMs: 60_000 });
  await bed.endMaintenance(island.node);
  expect(await bed.snapshot(island.node)).toEqual(before);
}

/** Whether the API server still lets somebody in; it remembers a good token for some seconds. */
async function isTaken(access: KubeAccess): Promise<boolean> {
  const client = new KubeClient({ access, version: 'test', clock: systemClock, logger: nullLogger });
  try {
    return (await client.get('/api/v1/nodes')).kind === 'ok';
  } finally {
    await client.close();
  }
}

const withToken = (token: string): KubeAccess => loadKubeConfig({ kubeconfig: bed.files.kubeconfig, token });

function secretsIn(text: string, secrets: readonly string[]): string[] {
  return secrets.filter((secret) => text.includes(secret) || text.includes(secret.split('.')[2] ?? secret));
}

test('another token in the file, the old one revoked; another authority: it goes on, and tells no secret', async () => {
  const { server } = cluster();
  const front = await TlsFront.before(server);
  const tokens = [await boundToken('first'), await boundToken('second')] as const;
  const access = writeAccess('files', { server: front.url, ca: front.ca }, { token: tokens[0] });
  const operator = await bed.startOperator({ flags: [`--kubeconfig=${access.kubeconfig}`] });
  const { pid } = operator;
  try {
    await drainsAndRestores('first');

    access.write({ token: `${tokens[1]}\n` });
    // Refused once, it looks at the file.
    await bed.outage(async () => {
      await revoke('first');
      await eventually('the first token is refused', async () => !(await isTaken(withToken(tokens[0]))));
      front.cut(); // watches know nothing of tokens once they are open
      await drainsAndRestores('token');
    });

    front.replaceAuthority();
    access.write({ 'ca.crt': front.ca });
    await drainsAndRestores('authority');

    expect(operator.isRunning).toBe(true);
    expect(operator.pid).toBe(pid);
    expect(operator.log().map(({ message }) => message)).toContain(
      'the certificates for the API server changed, using new connections',
    );
    expect(secretsIn(readFileSync(operator.logFile, 'utf8'), tokens)).toEqual([]);
    const written = [
      await bed.api.list('/apis/events.k8s.io/v1/events'),
      await bed.api.list('/apis/haulout.dev/v1alpha1/nodemaintenances'),
      await bed.api.list('/api/v1/nodes'),
    ];
    expect(secretsIn(JSON.stringify(written), tokens)).toEqual([]);
    expect(await operator.stop()).toEqual({ code: 0, signal: null });
  } finally {
    await front.close();
  }
});

test('a token and an authority that stand in the kubeconfig itself change with it', async () => {
  const front = await TlsFront.before(cluster().server);
  const tokens = [await boundToken('inline-1'), await boundToken('inline-2')] as const;
  const dir = join(bed.files.dir, 'inline');
  mkdirSync(dir);
  const file = join(dir, 'kubeconfig');
  const write = (token: string): void => replaceFile(file, inline(front, token));
  write(tokens[0]);
  const operator = await bed.startOperator({ name: 'inline', flags: [`--kubeconfig=${file}`] });
  const { pid } = operator;
  try {
    await drainsAndRestores('inline-first');
    front.replaceAuthority();
    write(tokens[0]);
    await drainsAndRestores('inline-authority');

    write(tokens[1]);
    await bed.outage(async () => {
      await revoke('inline-1');
      await eventually('the first token is refused', async () => !(await isTaken(withToken(tokens[0]))));
      front.cut();
      await drainsAndRestores('inline-token');
    });
    expect(operator.isRunning).toBe(true);
    expect(operator.pid).toBe(pid);
    expect(secretsIn(readFileSync(operator.logFile, 'utf8'), tokens)).toEqual([]);
    expect(await operator.stop()).toEqual({ code: 0, signal: null });
  } finally {
    await front.close();
  }
});

test('another client certificate in the files, the old one expired: it goes on, and tells no key', async () => {
  const validSeconds = 40;
  const madeAt = Date.now();
  const certificates = [clientCertificate({ validSeconds }), clientCertificate()] as const;
  const access = writeAccess('certificates', cluster(), certificates[0]);
  const old = loadKubeConfig({
    kubeconfig: writeAccess('old-certificate', cluster(), certificates[0]).kubeconfig,
  });
  const operator = await bed.startOperator({
    name: 'certificates',
    flags: [`--kubeconfig=${access.kubeconfig}`],
  });
  const { pid } = operator;
  await drainsAndRestores('certificate-1');
  expect(Date.now()).toBeLessThan(madeAt + validSeconds * 1000);

  access.write(certificates[1]);
  // Refused once, it looks at the files.
  await bed.outage(async () => {
    await eventually('the first certificate is refused', async () => !(await isTaken(old)), {
      timeoutMs: 60_000,
    });
    await drainsAndRestores('certificate-2');
  });

  expect(operator.isRunning).toBe(true);
  expect(operator.pid).toBe(pid);
  const said = operator.log().map(({ message }) => message);
  expect(said).toContain('the certificates for the API server changed, using new connections');
  const keys = certificates.flatMap((files) => (files['client.key'] ?? '').match(/^[^-].*$/gm) ?? []);
  expect(keys).toHaveLength(6);
  expect(secretsIn(readFileSync(operator.logFile, 'utf8'), keys)).toEqual([]);
  expect(await operator.stop()).toEqual({ code: 0, signal: null });
});

test('a pod finds another token in the directory of its service account', async () => {
  const tokens = [await boundToken('mounted-1'), await boundToken('mounted-2')] as const;
  const { dir, write } = writeAccess('mounted', cluster(), { token: tokens[0] });
  const { hostname, port } = new URL(cluster().server);
  const access = loadKubeConfig({
    serviceAccountDirectory: dir,
    env: { HOME: dir, KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
  });
  expect(access.source).toBe('in-cluster service account');
  const client = new KubeClient({ access, version: 'test', clock: systemClock, logger: nullLogger });
  try {
    expect(await client.get('/api/v1/nodes')).toMatchObject({ kind: 'ok' });
    write({ token: tokens[1] });
    await bed.outage(async () => {
      await revoke('mounted-1');
      await eventually('the first token is refused', async () => !(await isTaken(withToken(tokens[0]))));
      expect(await client.get('/api/v1/nodes')).toMatchObject({ kind: 'ok' });
    });
  } finally {
    await client.close();
  }
});

const start = (name: string, kubeconfig: string, flags: readonly string[] = []): OperatorProcess =>
  new OperatorProcess({ dir: bed.files.dir, name, kubeconfig, flags });

async function refusal(operator: OperatorProcess): Promise<string> {
  expect(await operator.exited()).toEqual({ code: 2, signal: null });
  return operator.tail(1);
}

describe('rights that it never needs', () => {
  test('it does not begin as an administrator, unless that is meant', async () => {
    const refused = start('admin', bed.files.kubeconfig);
    expect(await refusal(refused)).toMatch(
      /^haulout: this account has more rights than the operator needs \(do everything \(cluster-admin\)\).*--allow-excess-rights$/,
    );
    expect(refused.log().filter(({ message }) => message === 'leading')).toEqual([]);
    const meant = start('admin-meant', bed.files.kubeconfig, ['--allow-excess-rights']);
    await meant.ready();
    const said = meant.log().map(({ message }) => message);
    expect(said).toContain('this account has rights that are never needed');
    expect(await meant.stop()).toEqual({ code: 0, signal: null });
  });

  test('nor with a role of its namespace that reads Secrets', async () => {
    const group = 'rbac.authorization.k8s.io';
    const collection = `/apis/${group}/v1/namespaces/${OPERATOR_NAMESPACE}`;
    const metadata = { name: 'reads-secrets' };
    await bed.api.create(`${collection}/roles`, {
      metadata,
      rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list'] }],
    });
    await bed.api.create(`${collection}/rolebindings`, {
      metadata,
      roleRef: { apiGroup: group, kind: 'Role', ...metadata },
      subjects: [{ kind: 'ServiceAccount', name: 'haulout', namespace: OPERATOR_NAMESPACE }],
    });
    expect(await refusal(start('reader', bed.files.operatorKubeconfig))).toContain('(get/list secrets)');
    await bed.api.remove(`${collection}/rolebindings/${metadata.name}`);
    await bed.startOperator({ name: 'plain' });
  });
});
