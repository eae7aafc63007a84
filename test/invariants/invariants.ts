/**
 * What haulout promises never to do, judged by the API server's audit log and the final state of the cluster, without a line
 * of the operator's code. Entries are taken as they come, so that a run of hours needs no more memory than a short one.
 */
import { as } from '../../hack/cluster/lib/untyped.ts';
import type { AuditEntry } from '../e2e/support/audit.ts';
import { lostAtRest } from './at-rest.ts';
import { BudgetRule } from './budget-rule.ts';
import { DrainedRule } from './drained-rule.ts';
import { EvictionRule } from './eviction-rule.ts';
import { NodeRegister } from './node-register.ts';
import { answeredAt, type PodLife, PodRegister } from './pod-register.ts';
import { brokenBy, type RuleScope } from './request-rules.ts';
import type { ClusterState } from './state.ts';
import { waitingInVain } from './turns-at-rest.ts';

/** Entries are written when a request is answered: what belongs before one may come so much later. */
const DISORDER_MS = 3000;
const PODS_KEPT_MS = 300_000;

type PodName = Pick<PodLife, 'namespace' | 'name'>;

interface Rule {
  readonly see: (entry: AuditEntry) => void;
  /** Judges what was answered before `until` (milliseconds since the epoch). */
  readonly conclude: (until: number) => readonly string[];
}

export class Invariants {
  readonly #scope: RuleScope;
  readonly #isOwnPod: (pod: PodName) => boolean;
  readonly #pods = new PodRegister();
  readonly #nodes = new NodeRegister();
  readonly #rules: readonly Rule[];
  #latest = 0;

  /** `isOwnPod`: the operator's own pod may stay on a node that is drained. */
  constructor(scope: RuleScope, isOwnPod: (pod: PodName) => boolean) {
    this.#scope = scope;
    this.#isOwnPod = isOwnPod;
    this.#rules = [
      this.#nodes,
      new EvictionRule(scope.heldUp),
      new BudgetRule(this.#pods),
      new DrainedRule(this.#pods, isOwnPod),
    ];
  }

  /** Takes what the log has got since, and returns one sentence for each thing that must not happen and did. */
  see(entries: readonly AuditEntry[]): readonly string[] {
    const broken = entries.flatMap((entry) => {
      this.#latest = Math.max(this.#latest, answeredAt(entry));
      const requests = brokenBy(entry, this.#scope);
      if (isAbout(entry, this.#scope)) for (const one of [this.#pods, ...this.#rules]) one.see(entry);
      return requests;
    });
    return [...broken, ...this.#conclude(this.#latest - DISORDER_MS)];
  }

  /** As `see`, when nothing is going on: what belongs before the last entry has come. Others may follow. */
  end(entries: readonly AuditEntry[]): readonly string[] {
    return [...this.see(entries), ...this.#conclude(this.#latest + 1)];
  }

  /** When nothing is going on any more: what is lost, a sentence each. `limit` is the operator's --max-unavailable-nodes. */
  atRest(state: ClusterState, limit?: string): readonly string[] {
    const { ownsNode } = this.#scope;
    const lost = lostAtRest(
      {
        ...state,
        nodes: state.nodes.filter(({ metadata }) => ownsNode(metadata.name)),
        maintenances: state.maintenances.filter(({ spec }) => ownsNode(spec.nodeName)),
        pods: state.pods.filter(
          ({ metadata: { namespace = '', name } }) => !this.#isOwnPod({ namespace, name }),
        ),
      },
      (node) => this.#nodes.left(node),
    );
    // Nodes and maintenances of others count there.
    return [...lost, ...waitingInVain(state, limit, ownsNode)];
  }

  #conclude(until: number): string[] {
    const broken = this.#rules.flatMap((rule) => rule.conclude(until));
    this.#pods.forget(until - PODS_KEPT_MS);
    return broken;
  }
}

function isAbout({ objectRef, responseObject }: AuditEntry, scope: RuleScope): boolean {
  const { resource, namespace, name = '' } = objectRef ?? {};
  if (namespace !== undefined) return scope.ownsNamespace(namespace);
  if (resource === 'nodes') return scope.ownsNode(name);
  if (resource !== 'nodemaintenances') return false;
  const { spec } = as<{ spec?: { nodeName?: string } }>(responseObject ?? {});
  return scope.ownsNode(spec?.nodeName ?? '');
}
