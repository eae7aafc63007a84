/** No pod is evicted twice. */
import { type AuditEntry, type Eviction, isByOperator, toEviction } from '../e2e/support/audit.ts';

export class EvictionRule {
  readonly #acceptedAt = new Map<string, number>();
  readonly #heldUp: ReadonlySet<string>;
  #open: Eviction[] = [];

  /** `heldUp`: pods with an eviction that was held up on its way; refused in the end it does no harm. */
  constructor(heldUp: ReadonlySet<string> = new Set()) {
    this.#heldUp = heldUp;
  }

  see(entry: AuditEntry): void {
    if (entry.objectRef?.subresource !== 'eviction' || !isByOperator(entry)) return;
    const eviction = toEviction(entry);
    if (eviction.uid !== '') this.#open.push(eviction);
  }

  /** Also a post that is refused after one was accepted: it may have cut the pod's grace period. */
  conclude(until: number): string[] {
    const due = this.#open.filter(({ answeredAt }) => answeredAt < until);
    this.#open = this.#open.filter(({ answeredAt }) => answeredAt >= until);
    return due
      .toSorted((a, b) => a.askedAt - b.askedAt)
      .flatMap(({ uid, namespace, pod, accepted, askedAt, entry }) => {
        const before = this.#acceptedAt.get(uid);
        if (accepted) this.#acceptedAt.set(uid, askedAt);
        if (before === undefined || askedAt < before) return [];
        if (!accepted && this.#heldUp.has(uid)) return [];
        const how = accepted ? 'evicted twice' : 'posted again after its eviction was accepted';
        return [`${how}: pod ${namespace}/${pod} ${uid} (${entry.requestReceivedTimestamp})`];
      });
  }
}
