// What the operator does about each kind of fault between it and the API server, one at a time.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { requestName } from '../soak/faults/request-name.ts';
import { type Crossing, Ferry } from '../soak/faults/ferry.ts';
import type { Fault, RequestHarm, StreamHarm } from '../soak/faults/faults.ts';
import { FaultProxy } from '../soak/faults/proxy.ts';
import { startThrough } from '../soak/faults/set-up.ts';
import type { AuditEntry } from './support/audit.ts';
import { ownTestBed } from './support/beds.ts';
import type { Island } from './support/island.ts';
import type { LogLine, OperatorProcess } from './support/operator-process.ts';

const bed = ownTestBed(import.meta.filename);
let proxy: FaultProxy;
let operator: OperatorProcess;
let ferry: Ferry;

beforeAll(async () => {
  proxy = await FaultProxy.start(bed.files.operatorKubeconfig, bed.files.dir);
  operator = await startThrough(bed, proxy);
  ferry = await Ferry.load(bed, proxy, 'kinds', (island) => [
    island.deployment('web', { replicas: 4, stopsIn: '0s' }),
    island.deployment('lane', { replicas: 2, stopsIn: '0s' }),
    island.budget('lane', { maxUnavailable: 1 }),
    island.daemonSet('agent'),
  ]);
}, 120_000);

afterAll(async () => proxy.stop());

/** What the operator did in one crossing. */
interface Reaction extends Crossing {
  /** The one whose eviction was struck. */
  readonly pod: string | undefined;
  /** Its requests as the API server got them, such as `create pods/eviction`, with how often. */
  readonly asked: (request: string, about?: string) => number;
  readonly logged: (message: string) => readonly LogLine[];
}

async function react(fault: Fault): Promise<Reaction> {
  const logBefore = operator.log().length;
  const crossing = await ferry.cross([fault]);
  expect(crossing.strikes.map((strike) => strike.fault)).toEqual([fault]);
  const entries = crossing.audit.entries({ byOperator: true }).filter(isAnswered);
  const log = operator.log().slice(logBefore);
  return {
    ...crossing,
    pod: /\/pods\/([^/]+)\/eviction/.exec(crossing.strikes[0]?.on ?? '')?.[1],
    asked: (request, about = '') =>
      entries.filter((entry) => named(entry) === request && entry.requestURI.includes(about)).length,
    logged: (message) => log.filter((line) => line.message.includes(message)),
  };
}

const METHODS: Readonly<Record<string, string>> = { create: 'POST', patch: 'PATCH', update: 'PUT' };
const named = ({ verb, requestURI }: AuditEntry): string => requestName(METHODS[verb] ?? 'GET', requestURI);
/** A watch is in the log twice; its beginning counts. */
const isAnswered = ({ verb, stage }: AuditEntry): boolean => verb !== 'watch' || stage === 'ResponseStarted';

const eviction = (harm: RequestHarm): Fault => ({ request: 'create pods/eviction', nth: 2, harm });
const status = (harm: RequestHarm): Fault => ({ request: 'patch nodemaintenances/status', nth: 2, harm });
const node = (harm: RequestHarm): Fault => ({ request: 'patch nodes', nth: 1, harm });
const podList = (harm: RequestHarm): Fault => ({ request: 'list pods', nth: 1, harm });
const podWatch = (harm: RequestHarm): Fault => ({ request: 'watch pods', nth: 1, harm });
const podEvent = (harm: StreamHarm): Fault => ({ eventOf: 'pods', nth: 3, harm });

test.each<RequestHarm>([
  { does: 'lose answer', ms: 100 },
  { does: 'cut answer', share: 0.5 },
  { does: 'tear answer', share: 0.5 },
  { does: 'answer', code: 500, carriedOut: true },
  { does: 'answer', code: 503, carriedOut: true },
])('an eviction that was carried out is not posted again: %o', async (harm) => {
  const { asked, pod } = await react(eviction(harm));
  expect(asked('create pods/eviction', `/${pod}/`)).toBe(1);
  expect(asked('get pods', `/${pod}`)).toBeLessThanOrEqual(1);
});

test.each<RequestHarm>([
  { does: 'lose request', ms: 100 },
  { does: 'answer', code: 500, carriedOut: false },
  { does: 'answer', code: 503, carriedOut: false },
  { does: 'answer', code: 409, carriedOut: false },
])('a pod is looked at before its eviction is posted again: %o', async (harm) => {
  const { asked, pod } = await react(eviction(harm));
  expect(asked('get pods', `/${pod}`)).toBe(1);
  expect(asked('create pods/eviction', `/${pod}/`)).toBe(1);
});

test('an eviction that comes late is posted once', async () => {
  const { asked, pod } = await react(eviction({ does: 'delay', ms: 3000 }));
  expect(asked('create pods/eviction', `/${pod}/`)).toBe(1);
});

test('429 with Retry-After is waited out, and evictions go more slowly for a while', async () => {
  const harm: RequestHarm = { does: 'answer', code: 429, carriedOut: false, retryAfterSeconds: 5 };
  const { audit, strikes, logged } = await react({ ...eviction(harm), nth: 1 });
  const refusedAt = strikes[0]?.at ?? 0;
  const times = audit.accepted(ferry.namespace).map(({ askedAt }) => askedAt - refusedAt);
  // What was on the wire already is accepted, on a busy machine a little later; the others wait.
  expect(times.filter((ms) => ms > 2500 && ms < 4900)).toEqual([]);
  expect(Math.max(...times)).toBeGreaterThanOrEqual(4900);
  expect(logged('the API server is overloaded')).toHaveLength(1);
});

test('other writes wait out a Retry-After, too', async () => {
  const harm: RequestHarm = { does: 'answer', code: 429, carriedOut: false, retryAfterSeconds: 3 };
  const { audit, strikes, node: name } = await react(node(harm));
  const [cordon] = audit.nodePatches(name);
  expect(Date.parse(cordon?.requestReceivedTimestamp ?? '')).toBeGreaterThanOrEqual(
    (strikes[0]?.at ?? 0) + 2900,
  );
});

test.each<RequestHarm>([
  { does: 'lose answer', ms: 100 },
  { does: 'answer', code: 409, carriedOut: false },
  { does: 'answer', code: 500, carriedOut: true },
])('a status is written from what the API server has: %o', async (harm) => {
  const { asked, logged, maintenance } = await react(status(harm));
  const refused = logged('status of maintenance').length + asked('get nodemaintenances', maintenance);
  expect(refused).toBeGreaterThanOrEqual(1);
});

test.each<RequestHarm>([
  { does: 'lose request', ms: 100 },
  { does: 'lose answer', ms: 100 },
  { does: 'answer', code: 409, carriedOut: false },
  { does: 'answer', code: 500, carriedOut: true },
])('a node is cordoned once and put back once: %o', async (harm) => {
  const { audit, node: name } = await react(node(harm));
  expect(audit.cordons()).toEqual([`cordon ${name}`, `put back ${name}`]);
});

test.each<RequestHarm>([
  { does: 'cut answer', share: 0.5 },
  { does: 'tear answer', share: 0.5 },
  { does: 'lose answer', ms: 100 },
  { does: 'answer', code: 410, carriedOut: false },
  { does: 'answer', code: 503, carriedOut: false },
])('a list that is not whole is asked for again: %o', async (harm) => {
  const { strikes, logged } = await react(podList(harm));
  const path = strikes[0]?.on.replace('GET ', '') ?? '';
  expect(path).toContain('pods');
  expect(logged('list or watch failed').length).toBeGreaterThanOrEqual(1);
});

test('a watch that is answered with 410 is begun with a list', async () => {
  const { asked, node: name } = await react(podWatch({ does: 'answer', code: 410, carriedOut: false }));
  expect(asked('list pods', name)).toBe(2);
});

test.each<StreamHarm>([{ does: 'error', code: 410 }, { does: 'tear' }, { does: 'garble' }])(
  'a watch that may have missed something is begun with a list: %o',
  async (harm) => {
    const { asked, node: name } = await react(podEvent(harm));
    expect(asked('list pods', name)).toBe(2);
  },
);

test.each<StreamHarm>([{ does: 'end' }, { does: 'cut' }, { does: 'error', code: 500 }])(
  'a watch that has ended goes on where it was: %o',
  async (harm) => {
    const { asked, node: name } = await react(podEvent(harm));
    expect(asked('list pods', name)).toBe(1);
    expect(asked('watch pods', name)).toBe(2);
  },
);

test('a watch that is stalled and stays open is noticed as long as pods have to leave', async () => {
  const { asked, logged, seconds, node: name } = await react(podEvent({ does: 'stall' }));
  expect(asked('list pods', name)).toBe(1);
  expect(asked('watch pods', name)).toBe(2);
  expect(logged('a change is due and nothing comes')).toHaveLength(1);
  expect(seconds).toBeLessThan(40);
});

/** Nobody says that something is lost: the connection stays open. */
interface Silence {
  readonly name: string;
  readonly request: string;
  readonly does: 'lose request' | 'lose answer';
  /** So long the operator waits for an answer. */
  readonly seconds: number;
  /** How long the pod takes to stop. */
  readonly stopsIn: string;
}

const silence = (
  name: string,
  request: string,
  seconds: number,
  does: Silence['does'],
  stopsIn = '0s',
): Silence => ({ name, request, does, seconds, stopsIn });

const SILENCES: readonly Silence[] = [
  silence('eviction-lost', 'create pods/eviction', 60, 'lose request'),
  // Whose pod is still there when the time is over.
  silence('eviction-unanswered', 'create pods/eviction', 60, 'lose answer', '65s'),
  silence('list-unanswered', 'list pods', 60, 'lose answer'),
  silence('status-lost', 'patch nodemaintenances/status', 30, 'lose request'),
  silence('status-unanswered', 'patch nodemaintenances/status', 30, 'lose answer'),
  silence('node-lost', 'patch nodes', 30, 'lose request'),
  silence('node-unanswered', 'patch nodes', 30, 'lose answer'),
];

/** A pod is drained although a request about it or its node is lost in silence; says what was asked when. */
async function outwait({ request, seconds }: Silence, island: Island, fault: Fault) {
  const { node: drained, namespace, name } = island;
  const before = await bed.snapshot(drained);
  await bed.maintain(drained);
  await bed.untilSaid(drained, 'Ready', 'True/Drained', { timeoutMs: (seconds + 45) * 1000 });
  await bed.endMaintenance(drained);
  expect(await bed.snapshot(drained)).toEqual(before);
  const struckAt = proxy.strikes.find((strike) => strike.fault === fault)?.at ?? Number.NaN;
  const secondsAfter = (at: number): number => (at - struckAt) / 1000;
  const asked = bed.audit
    .entries({ byOperator: true })
    .filter((entry) => isAnswered(entry) && named(entry) === request && entry.requestURI.includes(name))
    .map(({ requestReceivedTimestamp }) => secondsAfter(Date.parse(requestReceivedTimestamp)));
  return {
    asked,
    evicted: bed.audit.accepted(namespace).map(({ askedAt }) => secondsAfter(askedAt)),
    cordons: bed.audit.cordons().filter((line) => line.endsWith(` ${drained}`)),
    refused: operator
      .log()
      .filter(({ message, pod }) => message === 'eviction not accepted' && String(pod).startsWith(namespace))
      .map(({ timestamp, answer }) => ({ at: secondsAfter(Date.parse(timestamp)), answer })),
  };
}

test('no answer on a connection that stays open: nothing is asked again before its time is over, nor done twice', async () => {
  const works = await Promise.all(
    SILENCES.map(async (each) => {
      const island = await bed.island(each.name);
      const options = { stopsIn: each.stopsIn, gracePeriodSeconds: 120 };
      await bed.place(island, island.deployment('web', options));
      const { request, does } = each;
      const fault: Fault = { request, about: island.name, nth: 1, harm: { does } };
      return { each, island, fault };
    }),
  );
  proxy.arm(works.map(({ fault }) => fault));
  await Promise.all(
    works.map(async ({ each, island, fault }) => {
      const { name, request, does, seconds } = each;
      const { asked, evicted, cordons, refused } = await outwait(each, island, fault);
      // The operator's time begins before the proxy sees the request: on a busy machine seconds before.
      const isEarly = (at: number): boolean => at < seconds - 5;
      const isLate = (at: number): boolean => !isEarly(at) && at < seconds + 15;
      const early = asked.filter(isEarly);
      const isAsItShould = early.length === (does === 'lose answer' ? 1 : 0);
      expect({ name, asked: isAsItShould || asked }).toEqual({ name, asked: true });
      expect({ name, evictions: evicted.length, cordons }).toEqual({
        name,
        evictions: 1,
        cordons: [`cordon ${island.node}`, `put back ${island.node}`],
      });
      // Whatever it is that got lost, the pod is evicted after it.
      if (name !== 'eviction-unanswered')
        expect({ name, at: evicted.every(isLate) || evicted }).toEqual({ name, at: true });
      if (request !== 'create pods/eviction') return;
      expect(asked).toHaveLength(1);
      expect(refused.map(({ answer }) => answer)).toEqual(['no answer for 60000 ms']);
      expect(refused.every(({ at }) => isLate(at))).toBe(true);
    }),
  );
  proxy.disarm();
});
