/** What the audit log says about the two contestants: how many requests of which kind, and how evictions went. */
import { type AuditEntry, type Eviction, toEviction } from '../../test/e2e/support/audit.ts';

export type Contestant = 'haulout' | 'kubectl';

/** What their user agents begin with. */
export const USER_AGENTS: Readonly<Record<Contestant, string>> = { haulout: 'haulout/', kubectl: 'kubectl/' };
const KUBELETS = 'haulout-test:kubelets';

export interface Requests {
  /** All but those below. */
  readonly counted: number;
  /** `create pods/eviction` and so on; they add up to `counted`. */
  readonly kinds: Readonly<Record<string, number>>;
  readonly watches: number;
  /** What watches begin with; only of haulout, because kubectl drain has no watch and its lists are its way to look. */
  readonly firstLists: number;
  readonly lease: number;
}

export function byContestant(entries: readonly AuditEntry[], who: Contestant): readonly AuditEntry[] {
  return entries.filter(({ userAgent }) => userAgent?.startsWith(USER_AGENTS[who]));
}

export function countRequests(entries: readonly AuditEntry[], who: Contestant): Requests {
  const kinds = new Map<string, number>();
  let [watches, firstLists, lease] = [0, 0, 0];
  for (const entry of byContestant(entries, who)) {
    const { verb, stage, objectRef } = entry;
    if (verb === 'watch') {
      if (stage === 'ResponseStarted') watches++;
    } else if (who === 'haulout' && verb === 'list') firstLists++;
    else if (objectRef?.resource === 'leases') lease++;
    else kinds.set(kindOf(entry), (kinds.get(kindOf(entry)) ?? 0) + 1);
  }
  const sorted = [...kinds].toSorted(([a, many], [b, few]) => few - many || (a < b ? -1 : 1));
  return {
    counted: sorted.reduce((sum, [, count]) => sum + count, 0),
    kinds: Object.fromEntries(sorted),
    watches,
    firstLists,
    lease,
  };
}

function kindOf({ verb, objectRef, requestURI }: AuditEntry): string {
  if (!objectRef) return `${verb} ${requestURI.replace(/\?.*/, '')}`;
  const { resource, subresource } = objectRef;
  return `${verb} ${subresource === undefined ? resource : `${resource}/${subresource}`}`;
}

export function evictionsOf(entries: readonly AuditEntry[], who: Contestant): readonly Eviction[] {
  return byContestant(entries, who)
    .filter(({ verb, objectRef }) => verb === 'create' && objectRef?.subresource === 'eviction')
    .map(toEviction);
}

export interface Spread {
  readonly median: number;
  readonly most: number;
}

export interface EvictionFigures {
  readonly accepted: number;
  readonly refused: number;
  /** Of posts for one pod, the accepted one included. */
  readonly mostPerPod: number;
  /** Until the API server had answered, in ms. */
  readonly answerMs: Spread;
  /** From the first acceptance to the last, in ms. */
  readonly acceptedWithinMs: number;
  /**
   * How much longer than it should the test bed took from an eviction's acceptance until the pod's object was gone, in
   * ms: no drain can be faster than that, whoever does it.
   */
  readonly stoppedLateMs: Spread;
}

/** `stopsInMs`: how long each of the pods takes to stop. */
export function evictionFigures(
  entries: readonly AuditEntry[],
  who: Contestant,
  stopsInMs: number,
): EvictionFigures {
  const evictions = evictionsOf(entries, who);
  const accepted = evictions.filter((one) => one.accepted);
  const perPod = Map.groupBy(evictions, podOf);
  const removedAt = new Map(
    entries
      .filter(isRemovalByKubelet)
      .map((entry) => [podOf(toEviction(entry)), Date.parse(entry.stageTimestamp)]),
  );
  const late = accepted.flatMap((one) => {
    const at = removedAt.get(podOf(one));
    return at === undefined ? [] : [at - one.answeredAt - stopsInMs];
  });
  const times = accepted.map((one) => one.answeredAt);
  return {
    accepted: accepted.length,
    refused: evictions.length - accepted.length,
    mostPerPod: Math.max(0, ...[...perPod.values()].map((posts) => posts.length)),
    answerMs: spread(evictions.map((one) => one.answeredAt - one.askedAt)),
    acceptedWithinMs: times.length === 0 ? 0 : Math.max(...times) - Math.min(...times),
    stoppedLateMs: spread(late),
  };
}

export const podOf = ({ namespace, pod }: Eviction): string => `${namespace}/${pod}`;

function isRemovalByKubelet({ verb, user, objectRef, responseStatus }: AuditEntry): boolean {
  const isDeletion = verb === 'delete' && objectRef?.resource === 'pods' && user.username === KUBELETS;
  return isDeletion && responseStatus?.code === 200;
}

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return { median: ((low ?? 0) + (high ?? 0)) / 2, most: values.length === 0 ? 0 : Math.max(...values) };
}
