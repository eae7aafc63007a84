import { describe, expect, test } from '@jest/globals';
import { Ambush, type Fault } from '../../../soak/faults/faults.ts';
import { requestName } from '../../../soak/faults/request-name.ts';
import { schedule } from '../../../soak/faults/schedule.ts';

const seeds = Array.from({ length: 1000 }, (_, index) => index);
const all = seeds.flatMap((seed) => schedule(seed));

describe('a schedule', () => {
  test('is the same for the same seed, and another for another', () => {
    expect(seeds.map(schedule)).toEqual(seeds.map(schedule));
    expect(new Set(seeds.map((seed) => JSON.stringify(schedule(seed)))).size).toBe(seeds.length);
  });

  test('is plain data', () => {
    expect(JSON.parse(JSON.stringify(all))).toEqual(all);
  });

  test('has every fault in it sooner or later', () => {
    const kinds = new Set(all.map(({ harm }) => `${harm.does} ${'code' in harm ? harm.code : ''}`.trim()));
    expect([...kinds].toSorted()).toEqual([
      'answer 409',
      'answer 410',
      'answer 429',
      'answer 500',
      'answer 503',
      'cut',
      'cut answer',
      'delay',
      'end',
      'error 410',
      'error 500',
      'garble',
      'lose answer',
      'lose request',
      'stall',
      'tear',
      'tear answer',
    ]);
  });

  test('lets answers come that the request can have, and every fault end', () => {
    for (const fault of all) {
      expect(fault.nth).toBeGreaterThanOrEqual(1);
      if ('ms' in fault.harm) expect(fault.harm.ms).toBeLessThanOrEqual(1500);
      if (!('request' in fault) || fault.harm.does !== 'answer') continue;
      const { code, carriedOut } = fault.harm;
      if (code === 409) expect(fault.request).toMatch(/^(create|patch|update|any)/);
      if (code === 410) expect(fault.request).toMatch(/^(list|watch)/);
      if (carriedOut) expect(code).toBeGreaterThanOrEqual(500);
    }
  });
});

describe('an ambush', () => {
  const late: Fault = { request: 'get pods', nth: 2, harm: { does: 'delay', ms: 1 } };
  const any: Fault = { request: 'any', nth: 4, harm: { does: 'lose request', ms: 0 } };
  const event: Fault = { eventOf: 'pods', nth: 2, harm: { does: 'cut' } };

  test('strikes at the request and the event that are named, once, and says so', () => {
    const ambush = new Ambush([late, any, event]);
    expect(ambush.request('get pods', 'GET /a')).toBeUndefined();
    expect(ambush.event('pods')).toBeUndefined();
    expect(ambush.request('list pods', 'GET /b')).toBeUndefined();
    expect(ambush.request('get pods', 'GET /a')).toBe(late.harm);
    expect(ambush.event('nodes')).toBeUndefined();
    expect(ambush.event('pods')).toBe(event.harm);
    expect(ambush.request('get pods', 'GET /c')).toBe(any.harm);
    expect(ambush.request('get pods', 'GET /a')).toBeUndefined();
    expect(ambush.strikes.map(({ fault, on }) => [fault, on])).toEqual([
      [late, 'GET /a'],
      [event, 'watch pods'],
      [any, 'GET /c'],
    ]);
  });
});

test('an ambush for requests about one thing lets those about others pass, and counts only its own', () => {
  const about: Fault = { request: 'patch nodes', about: '/b', nth: 2, harm: { does: 'lose answer' } };
  const ambush = new Ambush([about]);
  for (const path of ['/a', '/b', '/a'])
    expect(ambush.request('patch nodes', `PATCH ${path}`)).toBeUndefined();
  expect(ambush.request('patch nodes', 'PATCH /b')).toBe(about.harm);
});

test.each([
  ['POST', '/api/v1/namespaces/a/pods/b/eviction?fieldManager=haulout', 'create pods/eviction'],
  ['GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Da', 'list pods'],
  ['GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Da&watch=true', 'watch pods'],
  ['GET', '/api/v1/namespaces/a/pods/b', 'get pods'],
  ['PATCH', '/api/v1/nodes/a/status', 'patch nodes/status'],
  ['PATCH', '/apis/haulout.dev/v1alpha1/nodemaintenances/a/status', 'patch nodemaintenances/status'],
  ['PUT', '/apis/coordination.k8s.io/v1/namespaces/a/leases/b', 'update leases'],
  ['GET', '/version', 'list /version'],
])('%s %s is %s', (method, url, name) => {
  expect(requestName(method, url)).toBe(name);
});
