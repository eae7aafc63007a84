/** Which faults a drain meets: made from a seed by chance, the same for the same seed. */
import { SeededRandom } from '../../e2e/support/random.ts';
import type { Fault, RequestHarm, StreamHarm } from './faults.ts';

const FEWEST = 4;
const MOST = 12;
/** Long enough to be overtaken by whatever else happens, short enough for many schedules an hour. */
const LONGEST_MS = 1_500;

type Choices<T> = readonly [T, ...T[]];

/** Requests that a drain sends, with how many of each there are at least; some are never reached, which is fine. */
const REQUESTS: Choices<{ request: string; among: number }> = [
  { request: 'create pods/eviction', among: 50 },
  { request: 'create pods/eviction', among: 12 },
  { request: 'patch nodemaintenances/status', among: 8 },
  { request: 'patch nodemaintenances', among: 2 },
  { request: 'patch nodes', among: 2 },
  { request: 'patch nodes/status', among: 3 },
  { request: 'get pods', among: 3 },
  { request: 'update leases', among: 3 },
  { request: 'list pods', among: 2 },
  { request: 'list poddisruptionbudgets', among: 2 },
  { request: 'list persistentvolumeclaims', among: 2 },
  { request: 'list volumeattachments', among: 2 },
  { request: 'watch pods', among: 3 },
  { request: 'watch poddisruptionbudgets', among: 2 },
  { request: 'watch nodemaintenances', among: 1 },
  { request: 'watch volumeattachments', among: 1 },
  { request: 'any', among: 120 },
];

const EVENTS: Choices<{ eventOf: string; among: number }> = [
  { eventOf: 'pods', among: 150 },
  { eventOf: 'pods', among: 20 },
  { eventOf: 'poddisruptionbudgets', among: 20 },
  { eventOf: 'nodemaintenances', among: 12 },
  { eventOf: 'nodes', among: 12 },
  { eventOf: 'volumeattachments', among: 15 },
  { eventOf: 'persistentvolumeclaims', among: 3 },
];

export function schedule(seed: number): readonly Fault[] {
  const random = new SeededRandom(seed);
  return Array.from({ length: random.between(FEWEST, MOST) }, () =>
    random.between(1, 3) === 1 ? streamFault(random) : requestFault(random),
  );
}

function requestFault(random: SeededRandom): Fault {
  const { request, among } = random.pick(REQUESTS);
  return { request, nth: random.between(1, among), harm: requestHarm(random, request) };
}

function requestHarm(random: SeededRandom, request: string): RequestHarm {
  const ms = random.between(0, LONGEST_MS);
  const share = random.between(0, 99) / 100;
  const isRead = /^(get|list|watch) /.test(request);
  switch (random.between(1, 7)) {
    case 1:
      return { does: 'delay', ms };
    case 2:
      return { does: 'lose request', ms };
    case 3:
      return { does: 'lose answer', ms };
    case 4:
      return { does: 'cut answer', share };
    case 5:
      return { does: 'tear answer', share };
    case 6:
      return { does: 'answer', code: 429, carriedOut: false, retryAfterSeconds: 1 };
    default: {
      // Only lists and watches are told that their version is gone, and only writes that theirs is not the newest.
      const code = random.pick([500, 503, isRead ? 410 : 409] as const);
      const carriedOut = !isRead && code !== 409 && random.between(1, 2) === 1;
      return { does: 'answer', code: request.startsWith('get') && code === 410 ? 500 : code, carriedOut };
    }
  }
}

function streamFault(random: SeededRandom): Fault {
  const { eventOf, among } = random.pick(EVENTS);
  const mayStayStalled = eventOf === 'pods' || eventOf === 'volumeattachments';
  return { eventOf, nth: random.between(1, among), harm: streamHarm(random, mayStayStalled) };
}

/** Of other watches nobody waits for a change: a stall of those is noticed after 90 s, too long for a thousand schedules. */
function streamHarm(random: SeededRandom, mayStayStalled: boolean): StreamHarm {
  const does = random.pick(['end', 'cut', 'tear', 'garble', 'error', 'stall'] as const);
  if (does === 'error') return { does, code: random.pick([410, 500] as const) };
  if (does !== 'stall') return { does };
  const ms = random.between(100, LONGEST_MS);
  return mayStayStalled && random.between(1, 4) === 1 ? { does } : { does, ms };
}
