/** The invariants over one cluster, or over what one test file has made on it. */
import { Invariants } from '../../invariants/invariants.ts';
import type { Outage, RuleScope } from '../../invariants/request-rules.ts';
import type { Api } from './api.ts';
import type { AuditLog } from './audit.ts';
import { clusterState } from './cluster-state.ts';
import { OPERATOR_NAMESPACE } from './install.ts';

/** After /readyz says yes. */
const ROLES_KNOWN_MS = 2000;

export class Witness {
  /** A cluster of somebody has none: then only what is lost at rest is seen. */
  readonly audit: AuditLog | undefined;
  readonly #invariants: Invariants;
  readonly #deletionsExpected = new Set<string>();
  readonly #heldUp = new Set<string>();
  readonly #outages: Outage[] = [];
  /** `namespace/name` of pods that stand for processes of the operator. */
  readonly #ownPods = new Set<string>();
  /** What has not been reported yet. */
  readonly #broken: string[] = [];
  /** Entries of the audit log that were judged. */
  #seen = 0;

  constructor(audit: AuditLog | undefined, scope: Pick<RuleScope, 'ownsNamespace' | 'ownsNode'>) {
    this.audit = audit;
    this.#invariants = new Invariants(
      {
        ...scope,
        deletionsExpected: this.#deletionsExpected,
        heldUp: this.#heldUp,
        outages: this.#outages,
      },
      ({ namespace, name }) => namespace === OPERATOR_NAMESPACE || this.#ownPods.has(`${namespace}/${name}`),
    );
  }

  expectPodDeletions(namespaces: readonly string[]): void {
    for (const name of namespaces) this.#deletionsExpected.add(name);
  }

  expectLateEviction(uid: string): void {
    this.#heldUp.add(uid);
  }

  standsForOperator({ namespace, name }: { readonly namespace: string; readonly name: string }): void {
    this.#ownPods.add(`${namespace}/${name}`);
  }

  async outage(work: () => Promise<void>): Promise<void> {
    const from = Date.now();
    try {
      await work();
    } finally {
      this.#outages.push({ from, to: Date.now() + ROLES_KNOWN_MS });
    }
  }

  /** Throws when something happened that must not; each case is reported once. */
  check(): void {
    this.#look();
    this.#report();
  }

  /** As `check`, when nothing is going on: also what came just now, which `check` leaves for later. */
  end(): void {
    this.#broken.push(...this.#invariants.end(this.#unseen()));
    this.#report();
  }

  /** As `end`, and lets go of the log: whoever has broken something in this round is told now, not after the next one. */
  forget(): void {
    for (const piece of this.audit?.drain() ?? []) {
      this.#broken.push(...this.#invariants.see(piece.slice(this.#seen)));
      this.#seen = 0;
    }
    this.end();
  }

  /**
   * What is lost now, with the operator's `limit` of nodes out of service. What must not happen and did is kept for `check`:
   * whoever asks this may ask again and again.
   */
  async lost(api: Api, limit: string | undefined): Promise<readonly string[]> {
    const state = await clusterState(api);
    this.#look();
    return this.#invariants.atRest(state, limit);
  }

  #look(): void {
    this.#broken.push(...this.#invariants.see(this.#unseen()));
  }

  #report(): void {
    const broken = this.#broken.splice(0);
    if (broken.length > 0) throw new Error(`in the audit log:\n${broken.join('\n')}`);
  }

  #unseen(): ReturnType<AuditLog['entries']> {
    const entries = this.audit?.entries() ?? [];
    const unseen = entries.slice(this.#seen);
    this.#seen = entries.length;
    return unseen;
  }
}
