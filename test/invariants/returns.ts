/** Which controllers put pods on a node again and again, learned from the audit log alone. */
import { as } from '../../hack/cluster/lib/untyped.ts';
import { type AuditEntry, toEviction } from '../e2e/support/audit.ts';
import { answeredAt, type PodLife, type PodRegister, receivedAt } from './pod-register.ts';

/** From then on what its controller puts on the node again is not waited for (docs/drain.md). */
const MOST = 3;

/** Evictions of one controller's pods from one node, one in place of the other, in one maintenance of it. */
interface Lineage {
  evictions: number;
  /** Of the last eviction that counts: pods that were bound before are no return. */
  at: number;
  /** When so many had been evicted. */
  tiredAt: number | undefined;
  endedAt: number | undefined;
}

interface LoggedMaintenance {
  readonly metadata?: {
    readonly name?: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
  };
  readonly spec?: { readonly nodeName?: string };
}

export class Returns {
  readonly #pods: PodRegister;
  readonly #lineages = new Map<string, Lineage[]>();
  /** The maintenances of each node. */
  readonly #holders = new Map<string, Set<string>>();

  constructor(pods: PodRegister) {
    this.#pods = pods;
  }

  /** To be shown what was carried out, and nothing else. */
  see(entry: AuditEntry): void {
    const { resource, subresource } = entry.objectRef ?? {};
    if (subresource === 'eviction') this.#evicted(entry);
    if (resource === 'nodemaintenances') this.#maintained(entry);
  }

  /** Whether this pod is one more in the place of those that were evicted before `at`. */
  isOne(pod: PodLife, at: number): boolean {
    return (this.#lineages.get(keyOf(pod)) ?? []).some(
      ({ tiredAt = Infinity, endedAt = Infinity }) => (pod.boundAt ?? 0) > tiredAt && at <= endedAt,
    );
  }

  /** What ended before is not asked about any more. */
  forget(before: number): void {
    for (const [key, lineages] of this.#lineages) {
      const rest = lineages.filter(({ endedAt = Infinity }) => endedAt >= before);
      if (rest.length > 0) this.#lineages.set(key, rest);
      else this.#lineages.delete(key);
    }
  }

  #evicted(entry: AuditEntry): void {
    const { uid, dryRun } = toEviction(entry);
    const pod = this.#pods.byUid(uid);
    if (dryRun || !pod) return;
    const all = this.#lineages.get(keyOf(pod)) ?? [];
    this.#lineages.set(keyOf(pod), all);
    const at = receivedAt(entry);
    const last = all.at(-1);
    if (last === undefined || last.endedAt !== undefined)
      return void all.push({ evictions: 1, at, tiredAt: undefined, endedAt: undefined });
    if ((pod.boundAt ?? 0) <= last.at) return;
    last.evictions += 1;
    last.at = at;
    if (last.evictions >= MOST) last.tiredAt ??= at;
  }

  #maintained(entry: AuditEntry): void {
    const { metadata = {}, spec } = as<LoggedMaintenance>(entry.responseObject ?? {});
    const { name = '', deletionTimestamp, finalizers = [] } = metadata;
    const node = spec?.nodeName ?? '';
    const holders = this.#holders.get(node) ?? new Set();
    this.#holders.set(node, holders);
    if (deletionTimestamp === undefined || finalizers.length > 0) return void holders.add(name);
    holders.delete(name);
    if (holders.size > 0) return;
    this.#holders.delete(node);
    for (const [key, lineages] of this.#lineages) {
      if (!key.startsWith(`${node} `)) continue;
      for (const one of lineages) one.endedAt ??= answeredAt(entry);
    }
  }
}

/** As a StatefulSet's pods are each made again under their own name, they are told apart. */
const keyOf = ({ node = '', controller, uid, namespace, name }: PodLife): string =>
  controller?.kind === 'StatefulSet' ? `${node} ${namespace}/${name}` : `${node} ${controller?.uid ?? uid}`;
