/** --metrics-secure: TLS, and only those whom the API server lets read; under the chart's own permissions. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createAuthority, createCertificate } from '../../src/runtime/certificates.ts';
import { ownTestBed } from './support/beds.ts';
import { eventually } from './support/eventually.ts';
import { OPERATOR_NAMESPACE } from './support/install.ts';
import type { OperatorProcess } from './support/operator-process.ts';
import { Prometheus } from './support/prometheus.ts';

const bed = ownTestBed(import.meta.filename, {
  chartValues: { 'monitoring.secureMetrics.enabled': 'true' },
});
const authority = createAuthority('test-ca');
const secure = ['--metrics-secure', '--metrics-address=127.0.0.1:0'];

let certDir: string;
let reader: string;
let stranger: string;
let operator: OperatorProcess;
let prometheus: Prometheus | undefined;

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
  /** Common name of the certificate that was shown. */
  readonly server: string;
}

beforeAll(async () => {
  certDir = join(bed.files.dir, 'metrics-tls');
  mkdirSync(certDir, { recursive: true });
  writeCertificate('first');
  reader = await tokenOf('reader');
  stranger = await tokenOf('stranger');
  await bed.kubectl.run([
    'create',
    'clusterrolebinding',
    'reader',
    '--clusterrole=haulout-metrics-reader',
    `--serviceaccount=${OPERATOR_NAMESPACE}:reader`,
  ]);
  operator = await bed.startOperator({ flags: [...secure, `--metrics-cert-dir=${certDir}`] });
}, 120_000);

afterAll(async () => prometheus?.stop());

test('probes stay where kubelets reach them, and metrics are not there any more', async () => {
  const statuses = await Promise.all(
    (['/healthz', '/readyz', '/metrics'] as const).map(async (path) => (await operator.http(path))?.status),
  );
  expect(statuses).toEqual([200, 200, 404]);
});

test('a reader gets the metrics; a stranger, a wrong token and none get nothing', async () => {
  const read = await ask({ token: reader });
  expect(read).toMatchObject({ status: 200, server: 'first' });
  expect(read.text).toMatch(/^haulout_build_info\{/m);
  const refused = await Promise.all([ask({ token: stranger }), ask({ token: 'invented' }), ask({})]);
  expect(refused.map(({ status }) => status)).toEqual([403, 401, 401]);
  for (const { text } of refused) expect(text).not.toContain('haulout_');
});

test('the API server is asked once about a token that comes again and again', async () => {
  const token = await tokenOf('often');
  const before = asked();
  for (let time = 0; time < 10; time++) expect((await ask({ token })).status).toBe(403);
  expect(asked() - before).toBe(2);
});

test('a real Prometheus reads them with its token, and trusts the certificate', async () => {
  const ca = join(certDir, 'ca.crt');
  writeFileSync(ca, authority.certificate);
  prometheus = await Prometheus.start({
    dir: bed.files.dir,
    targets: [`127.0.0.1:${securePort(operator)}`],
    rules: [],
    scrape: {
      scheme: 'https',
      authorization: { type: 'Bearer', credentials: reader },
      tls_config: { ca_file: ca },
    },
  });
  const query = prometheus.query.bind(prometheus);
  await eventually('it has scraped', async () => (await query('haulout_leader')).length === 1);
  expect(await query('up == 1')).toHaveLength(1);
});

test('a renewed certificate is used without a restart', async () => {
  writeCertificate('second');
  await bed.eventually('the new one is shown', async () => {
    return (await ask({ token: reader })).server === 'second';
  });
});

test('without a certificate of its own it makes one', async () => {
  const other = await bed.startOperator({ flags: secure });
  const { status, server } = await ask({ token: reader, of: other, trust: false });
  expect([status, server]).toEqual([200, 'haulout']);
  await other.stop();
});

function writeCertificate(commonName: string): void {
  const { certificate, key } = createCertificate(authority, { commonName, ipAddresses: ['127.0.0.1'] });
  writeFileSync(join(certDir, 'tls.crt'), certificate);
  writeFileSync(join(certDir, 'tls.key'), key);
}

/** A token of a new ServiceAccount. */
async function tokenOf(account: string): Promise<string> {
  const namespace = `--namespace=${OPERATOR_NAMESPACE}`;
  await bed.kubectl.run(['create', 'serviceaccount', account, namespace]);
  return (await bed.kubectl.run(['create', 'token', account, namespace])).trim();
}

/** Questions of the operator about who may read. */
function asked(): number {
  const reviews = ['tokenreviews', 'subjectaccessreviews'];
  return reviews.flatMap((resource) => bed.audit.entries({ verb: 'create', resource, byOperator: true }))
    .length;
}

function securePort(of: OperatorProcess): number {
  const port = of.log().find((line) => typeof line['metricsPort'] === 'number')?.['metricsPort'];
  if (typeof port !== 'number') throw new Error(`${of.name} does not serve /metrics over TLS`);
  return port;
}

async function ask({
  token,
  of = operator,
  trust = true,
}: {
  readonly token?: string;
  readonly of?: OperatorProcess;
  readonly trust?: boolean;
}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port: securePort(of),
      path: '/metrics',
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      // A connection of its own: only a new one shows the new certificate.
      agent: false,
      timeout: 10_000,
      ...(trust ? { ca: authority.certificate } : { rejectUnauthorized: false }),
    };
    const sent = request(options, (response) => {
      const server = String((response.socket as TLSSocket).getPeerCertificate().subject.CN);
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode, text, server }));
    });
    sent.on('error', reject);
    sent.end();
  });
}
