/** No pod is asked to leave twice, be it by an eviction or by a deletion. */
import { as } from '../../hack/cluster/lib/untyped.ts';
import { type AuditEntry, type DeleteOptions, isByOperator, toEviction } from '../e2e/support/audit.ts';
import { answeredAt, isOk, receivedAt } from './pod-register.ts';

interface Asked {
  readonly uid: string;
  /** What is done to it by that. */
  readonly done: 'evicted' | 'deleted';
  readonly accepted: boolean;
  readonly askedAt: number;
  readonly answeredAt: number;
  readonly entry: AuditEntry;
}

export class EvictionRule {
  readonly #accepted = new Map<string, Asked>();
  readonly #heldUp: ReadonlySet<string>;
  #open: Asked[] = [];

  /** `heldUp`: pods with an eviction that was held up on its way; refused in the end it does no harm. */
  constructor(heldUp: ReadonlySet<string> = new Set()) {
    this.#heldUp = heldUp;
  }

  see(entry: AuditEntry): void {
    if (!isByOperator(entry)) return;
    const asked = askedBy(entry);
    if (asked !== undefined && asked.uid !== '') this.#open.push(asked);
  }

  /** Also a request that is refused after one was accepted: it may have cut the pod's grace period. */
  conclude(until: number): string[] {
    const due = this.#open.filter((asked) => asked.answeredAt < until);
    this.#open = this.#open.filter((asked) => asked.answeredAt >= until);
    return due
      .toSorted((a, b) => a.askedAt - b.askedAt)
      .flatMap((asked) => {
        const { uid, done, accepted, askedAt, entry } = asked;
        const before = this.#accepted.get(uid);
        if (accepted) this.#accepted.set(uid, asked);
        if (before === undefined || askedAt < before.askedAt) return [];
        if (!accepted && this.#heldUp.has(uid)) return [];
        const again = before.done === done ? `${done} twice` : `${done} after it was ${before.done}`;
        const how = accepted ? again : `to be ${done} again after it was ${before.done}`;
        const { namespace, name } = entry.objectRef ?? {};
        return [`${how}: pod ${namespace}/${name} ${uid} (${entry.requestReceivedTimestamp})`];
      });
  }
}

function askedBy(entry: AuditEntry): Asked | undefined {
  const { resource, subresource } = entry.objectRef ?? {};
  const common = { askedAt: receivedAt(entry), answeredAt: answeredAt(entry), entry };
  if (subresource === 'eviction') {
    const { uid, accepted } = toEviction(entry);
    return { ...common, uid, done: 'evicted', accepted };
  }
  if (resource !== 'pods' || entry.verb !== 'delete') return undefined;
  const { preconditions, dryRun = [] } = as<DeleteOptions>(entry.requestObject ?? {});
  const accepted = isOk(entry) && dryRun.length === 0;
  return { ...common, uid: preconditions?.uid ?? '', done: 'deleted', accepted };
}
