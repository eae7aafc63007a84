import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { StartError } from '../../../src/cli/exit.ts';
import { HttpServer } from '../../../src/runtime/http-server.ts';
import type { Check, HttpServerOptions } from '../../../src/runtime/http-server.ts';
import { nullLogger } from '../../../src/runtime/logger.ts';

const releasers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const release of releasers.splice(0)) await release();
});

async function serve(options: Partial<HttpServerOptions> = {}): Promise<string> {
  const server = new HttpServer({
    healthChecks: [],
    readyChecks: [],
    metrics: { contentType: 'text/plain; version=0.0.4', metrics: () => Promise.resolve('m 1\n') },
    logger: nullLogger,
    ...options,
  });
  releasers.push(() => server.stop());
  return `http://127.0.0.1:${await server.start('127.0.0.1', 0)}`;
}

function check(name: string, problem?: string): Check {
  return { name, check: () => problem };
}

describe('HttpServer', () => {
  test.each(['/healthz', '/readyz'])('%s answers ok in a word when all is well', async (path) => {
    const base = await serve({ healthChecks: [check('a')], readyChecks: [check('a')] });
    const response = await fetch(base + path);
    expect([response.status, await response.text()]).toEqual([200, 'ok\n']);
  });

  test('lists the checks with ?verbose', async () => {
    const base = await serve({ readyChecks: [check('caches'), check('policy')] });
    const response = await fetch(`${base}/readyz?verbose`);
    expect([response.status, await response.text()]).toEqual([
      200,
      '[+]caches ok\n[+]policy ok\nreadyz check passed\n',
    ]);
  });

  test('a check that fails or throws makes 503, and the answer says which', async () => {
    const throwing = {
      name: 'leader',
      check: () => {
        throw new Error('broken');
      },
    };
    const base = await serve({
      healthChecks: [check('caches', 'nodes are not listed yet'), check('x'), throwing],
    });
    const response = await fetch(`${base}/healthz`);
    expect([response.status, await response.text()]).toEqual([
      503,
      '[-]caches failed: nodes are not listed yet\n[+]x ok\n[-]leader failed: broken\nhealthz check failed\n',
    ]);
    expect((await fetch(`${base}/readyz`)).status).toBe(200);
  });

  test('serves the metrics with their content type', async () => {
    const response = await fetch(`${await serve()}/metrics`);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4');
    expect(await response.text()).toBe('m 1\n');
  });

  test('metrics that cannot be collected make 500 and do not end the process', async () => {
    const metrics = { contentType: 'text/plain', metrics: () => Promise.reject(new Error('no')) };
    expect((await fetch(`${await serve({ metrics })}/metrics`)).status).toBe(500);
  });

  test.each([
    ['GET', '/', 404],
    ['GET', '/healthz/', 404],
    ['GET', '/metrics?x', 200],
    ['POST', '/healthz', 405],
    ['DELETE', '/metrics', 405],
    ['POST', '/nowhere', 404],
  ])('%s %s gets %d', async (method, path, status) => {
    expect((await fetch((await serve()) + path, { method })).status).toBe(status);
  });

  test('HEAD gets the headers of GET without a body', async () => {
    const response = await fetch(`${await serve()}/readyz`, { method: 'HEAD' });
    expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([
      200,
      '3',
      '',
    ]);
  });

  test('stop cuts connections that are still open and can be called again', async () => {
    const server = new HttpServer({
      healthChecks: [],
      readyChecks: [],
      metrics: { contentType: '', metrics: () => new Promise(() => {}) },
      logger: nullLogger,
    });
    const port = await server.start('127.0.0.1', 0);
    const hanging = fetch(`http://127.0.0.1:${port}/metrics`);
    const cut = expect(hanging).rejects.toThrow('fetch failed');
    const silent = connect(port, '127.0.0.1').on('error', () => {});
    await once(silent, 'connect');
    await server.stop();
    await cut;
    await server.stop();
    await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow('fetch failed');
  });

  test('an address that is taken makes one line that names the flag', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    releasers.push(async () => {
      await once(other.close(), 'close');
    });
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const server = new HttpServer({
      healthChecks: [],
      readyChecks: [],
      metrics: { contentType: '', metrics: () => Promise.resolve('') },
      logger: nullLogger,
    });
    const failed = server.start('127.0.0.1', port);
    await expect(failed).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}: another process listens there; choose another address with --http-address`,
    );
    await expect(failed).rejects.toBeInstanceOf(StartError);
    await server.stop();
  });

  test('an address that this machine does not have is named', async () => {
    const server = new HttpServer({
      healthChecks: [],
      readyChecks: [],
      metrics: { contentType: '', metrics: () => Promise.resolve('') },
      logger: nullLogger,
    });
    await expect(server.start('192.0.2.1', 0)).rejects.toThrow('this machine has no such address');
  });
});
