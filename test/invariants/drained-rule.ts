/** Status never says Drained while a pod that has to leave is on the node. */
import { as } from '../../hack/cluster/lib/untyped.ts';
import { type AuditEntry, isByOperator } from '../e2e/support/audit.ts';
import { isOk, type PodLife, type PodRegister, receivedAt } from './pod-register.ts';
import { Returns } from './returns.ts';

interface Claim {
  readonly maintenance: string;
  readonly node: string;
  readonly at: number;
  /** Pods that do not stop are waited for so long; for ever where it is undefined. */
  readonly patienceMs: number | undefined;
  readonly entry: AuditEntry;
}

interface LoggedMaintenance {
  readonly metadata?: { readonly name?: string };
  readonly spec?: {
    readonly nodeName?: string;
    readonly drain?: { readonly skipWaitForDeleteTimeoutSeconds?: number };
  };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** A pod that arrives at a node that was drained already is known to the operator only when the watch has told it. */
const ARRIVAL_MS = 1000;

export class DrainedRule {
  readonly #pods: PodRegister;
  readonly #exempt: (pod: PodLife) => boolean;
  readonly #returns: Returns;
  #open: Claim[] = [];

  /** `exempt`: pods that are never waited for, such as the operator's own. */
  constructor(pods: PodRegister, exempt: (pod: PodLife) => boolean) {
    this.#pods = pods;
    this.#exempt = exempt;
    this.#returns = new Returns(pods);
  }

  see(entry: AuditEntry): void {
    const { objectRef } = entry;
    if (!isOk(entry)) return;
    if (objectRef?.resource === 'nodemaintenances' && isByOperator(entry)) this.#claimed(entry);
    this.#returns.see(entry);
  }

  /** One sentence for each claim before `until` that was not true. */
  conclude(until: number): string[] {
    const due = this.#open.filter(({ at }) => at < until);
    this.#open = this.#open.filter(({ at }) => at >= until);
    const broken = this.#judgeAll(due);
    this.#returns.forget(until);
    return broken;
  }

  #judgeAll(due: readonly Claim[]): string[] {
    if (due.length === 0) return [];
    const nodes = new Set<string | undefined>(due.map(({ node }) => node));
    const since = Math.min(...due.map(({ at }) => at));
    const pods = [...this.#pods.known(since)].filter(({ node }) => nodes.has(node));
    return due.flatMap((claim) => this.#judge(claim, pods));
  }

  #claimed(entry: AuditEntry): void {
    const { metadata, spec, status } = as<LoggedMaintenance>(entry.responseObject ?? {});
    const isDrained = status?.conditions?.some((one) => one.type === 'Drained' && one.status === 'True');
    if (isDrained !== true || entry.verb !== 'patch') return;
    const { name: maintenance = '' } = metadata ?? {};
    const seconds = spec?.drain?.skipWaitForDeleteTimeoutSeconds ?? 0;
    const patienceMs = seconds === 0 ? undefined : seconds * 1000;
    this.#open.push({ maintenance, node: spec?.nodeName ?? '', at: receivedAt(entry), patienceMs, entry });
  }

  #judge(claim: Claim, pods: readonly PodLife[]): string[] {
    return pods
      .filter((pod) => pod.node === claim.node && this.#hadToLeave(pod, claim))
      .map(({ namespace, name }) => {
        const { maintenance, node, entry } = claim;
        return `${maintenance} said Drained while pod ${namespace}/${name} was on ${node} (${entry.requestReceivedTimestamp})`;
      });
  }

  #hadToLeave(pod: PodLife, { at, patienceMs = Infinity }: Claim): boolean {
    const wasThere =
      pod.boundAt !== undefined && pod.boundAt < at - ARRIVAL_MS && (pod.goneAt ?? Infinity) > at;
    const stays =
      pod.isMirror ||
      pod.controller?.kind === 'DaemonSet' ||
      this.#exempt(pod) ||
      at - (pod.leavingSince ?? at) >= patienceMs ||
      this.#returns.isOne(pod, at);
    return wasThere && !stays;
  }
}
