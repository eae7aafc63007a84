import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Client } from '../../../src/kube/client.ts';
import type { KubeAccess } from '../../../src/kube/connection.ts';
import { NotLeading, guardWrites } from '../../../src/kube/guarded-client.ts';
import { KubeClient, type RequestReport } from '../../../src/kube/kube-client.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { nullLogger } from '../../../src/runtime/logger.ts';
import { FakeApiServer } from '../../fixtures/fake-api-server.ts';

let server: FakeApiServer;
let reports: RequestReport[];
let plain: KubeClient | undefined;
let leads: boolean;

beforeEach(async () => {
  server = await new FakeApiServer().start();
  reports = [];
  leads = true;
});

afterEach(async () => {
  await plain?.close();
  await server.stop();
});

function guarded(access: KubeAccess = server.access(), maxInFlight = 10): Client {
  plain = new KubeClient({
    access,
    version: '1.2.3',
    clock: systemClock,
    logger: nullLogger,
    onRequest: (report) => reports.push(report),
    maxInFlight,
  });
  return guardWrites(plain, () => leads);
}

const WRITES: readonly [string, (client: Client) => Promise<unknown>][] = [
  ['create', async (client) => client.create('/api/v1/x', {})],
  ['patch', async (client) => client.patch('/api/v1/x', 'merge', {})],
  ['update', async (client) => client.update('/api/v1/x', {})],
  ['delete', async (client) => client.delete('/api/v1/x', {})],
];

describe.each(WRITES)('%s', (_verb, write) => {
  test('passes while the Lease is held', async () => {
    expect(await write(guarded())).toMatchObject({ kind: 'ok' });
    expect(server.requests).toHaveLength(1);
  });

  test('is refused at once without it', async () => {
    leads = false;
    await expect(write(guarded())).rejects.toThrow(NotLeading);
    expect(server.connections).toBe(0);
  });

  test('is not sent when the Lease was lost while it waited for credentials', async () => {
    const access = server.access();
    const credentials = async (fresh: boolean) => {
      leads = false;
      return access.credentials(fresh);
    };
    await expect(write(guarded({ ...access, credentials }))).rejects.toThrow(NotLeading);
    expect(server.requests).toEqual([]);
  });

  test('is not sent when the Lease was lost while it waited for a connection', async () => {
    server.onConnection = () => (leads = false);
    await expect(write(guarded())).rejects.toThrow(NotLeading);
    expect(leads).toBe(false);
    expect(server.requests).toEqual([]);
    expect(reports).toMatchObject([{ kind: 'aborted' }]);
  });
});

test('a write that was refused leaves its connection and its place to others', async () => {
  const client = guarded(server.access(), 1);
  let connections = 0;
  server.onConnection = () => {
    connections += 1;
    leads = false;
  };
  await expect(client.create('/api/v1/x', {})).rejects.toThrow(NotLeading);
  expect(await client.get('/api/v1/x')).toMatchObject({ kind: 'ok' });
  expect(connections).toBe(1);
  expect(server.requests).toHaveLength(1);
});

test('reads pass without the Lease', async () => {
  leads = false;
  expect(await guarded().get('/api/v1/x')).toMatchObject({ kind: 'ok' });
});
