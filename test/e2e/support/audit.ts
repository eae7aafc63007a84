/**
 * The API server's own record of who asked what and when. The operator's requests are told apart by its user agent; the
 * bodies of evictions, pod deletions and writes on nodes and maintenances are in it (hack/cluster/config/audit-policy.yaml).
 */
import { as } from '../../../hack/cluster/lib/untyped.ts';
import { LineTail } from './line-tail.ts';

export interface AuditEntry {
  readonly auditID: string;
  /** A watch is written down twice: when it is accepted and when it ends. */
  readonly stage: 'ResponseStarted' | 'ResponseComplete' | 'Panic';
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly resource: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly subresource?: string;
    readonly apiGroup?: string;
  };
  /** Absent where the client went away before the answer. */
  readonly responseStatus?: { readonly code: number; readonly message?: string; readonly reason?: string };
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
  readonly requestReceivedTimestamp: string;
  /** When the answer was sent. */
  readonly stageTimestamp: string;
}

export interface Eviction {
  readonly namespace: string;
  readonly pod: string;
  /** The UID that was given as precondition; empty where none was. */
  readonly uid: string;
  readonly gracePeriodSeconds: number | undefined;
  readonly dryRun: boolean;
  readonly code: number;
  readonly accepted: boolean;
  /** Milliseconds since the epoch. */
  readonly askedAt: number;
  readonly answeredAt: number;
  readonly byOperator: boolean;
  readonly entry: AuditEntry;
}

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string };
  readonly dryRun?: readonly string[];
}

export interface AuditFilter {
  readonly verb?: string | readonly string[];
  readonly resource?: string;
  /** `''`: the object itself. */
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly byOperator?: boolean;
  /** Entries that were answered after this moment (milliseconds since the epoch). */
  readonly since?: number;
}

export interface AuditLogOptions {
  readonly readers?: readonly string[];
  readonly fromStart?: boolean;
}

const PIECE = 1000;
const READ = /"verb":"(get|list|watch)"/;

export const isByOperator = (entry: AuditEntry): boolean => entry.userAgent?.startsWith('haulout/') ?? false;

export class AuditLog {
  readonly #tail: LineTail;
  readonly #readers: readonly string[];
  readonly #entries: AuditEntry[] = [];

  /**
   * Knows what is written from now on: all writes, and reads by those whose user agent begins like one of `readers`.
   * Reads by others are most of the file, and nobody asks for them. `fromStart`: and what is in it already.
   */
  constructor(file: string, { readers = ['haulout/'], fromStart = false }: AuditLogOptions = {}) {
    this.#tail = new LineTail(file, fromStart ? 0 : undefined);
    this.#readers = readers.map((agent) => `"userAgent":"${agent}`);
  }

  /** In the order in which the answers were sent. A request that has been answered is in it. */
  entries(filter: AuditFilter = {}): readonly AuditEntry[] {
    this.#read();
    return this.#entries.filter((entry) => matches(entry, filter));
  }

  /** How many there are by now, as a place to start from: `entries().slice(mark)`. */
  mark(): number {
    this.#read();
    return this.#entries.length;
  }

  /**
   * All that is kept and all that was written since, a piece at a time, and lets go of each: a log may be larger than the
   * memory. Marks from before are of no use then.
   */
  *drain(): Generator<readonly AuditEntry[]> {
    for (const entry of this.#added()) {
      this.#entries.push(entry);
      if (this.#entries.length >= PIECE) yield this.#entries.splice(0);
    }
    yield this.#entries.splice(0);
  }

  /**
   * All posts to the eviction API in a namespace, by whomever; of one pod where a UID or a name is given. Without the
   * dry runs by which tests ask the server what it would do.
   */
  evictions(namespace: string, pod?: { readonly uid?: string; readonly name?: string }): readonly Eviction[] {
    return this.entries({ verb: 'create', resource: 'pods', subresource: 'eviction', namespace })
      .map(toEviction)
      .filter(
        (one) =>
          (one.byOperator || !one.dryRun) &&
          (pod?.uid === undefined || one.uid === pod.uid) &&
          (pod?.name === undefined || one.pod === pod.name),
      );
  }

  /** By the operator alone: evictions that the API server has accepted. */
  accepted(namespace: string): readonly Eviction[] {
    return this.evictions(namespace).filter((one) => one.accepted && one.byOperator);
  }

  /** Plain deletions of pods by the operator. */
  podDeletions(namespace: string): readonly AuditEntry[] {
    return this.entries({
      verb: ['delete', 'deletecollection'],
      resource: 'pods',
      namespace,
      byOperator: true,
    });
  }

  /** Writes of the operator on a Node, not on its status, that took effect: after a conflict it tries again. */
  nodePatches(node: string): readonly AuditEntry[] {
    return this.entries({ resource: 'nodes', subresource: '', name: node, byOperator: true }).filter(
      ({ verb, responseStatus }) => !['get', 'list', 'watch'].includes(verb) && responseStatus?.code === 200,
    );
  }

  /** `cordon NODE` and `put back NODE`, in the order in which the API server carried out what the operator asked. */
  cordons(): readonly string[] {
    return this.entries({ verb: 'patch', resource: 'nodes', subresource: '', byOperator: true })
      .filter(({ responseStatus }) => responseStatus?.code === 200)
      .flatMap(({ requestObject, objectRef }) => {
        const { spec } = as<{ spec?: { unschedulable?: boolean | null } }>(requestObject);
        if (spec?.unschedulable === undefined) return [];
        return [`${spec.unschedulable === true ? 'cordon' : 'put back'} ${objectRef?.name}`];
      });
  }

  #read(): void {
    for (const entry of this.#added()) this.#entries.push(entry);
  }

  *#added(): Generator<AuditEntry> {
    for (const line of this.#tail.lines()) {
      if (READ.test(line) && !this.#readers.some((agent) => line.includes(agent))) continue;
      yield as<AuditEntry>(JSON.parse(line));
    }
  }
}

export function toEviction(entry: AuditEntry): Eviction {
  const body = as<{ deleteOptions?: DeleteOptions } | undefined>(entry.requestObject);
  const code = entry.responseStatus?.code ?? 0;
  const dryRun =
    (body?.deleteOptions?.dryRun?.length ?? 0) > 0 ||
    new URL(entry.requestURI, 'http://x').searchParams.has('dryRun');
  return {
    namespace: entry.objectRef?.namespace ?? '',
    pod: entry.objectRef?.name ?? '',
    uid: body?.deleteOptions?.preconditions?.uid ?? '',
    gracePeriodSeconds: body?.deleteOptions?.gracePeriodSeconds,
    dryRun,
    code,
    accepted: code >= 200 && code <= 299 && !dryRun,
    askedAt: Date.parse(entry.requestReceivedTimestamp),
    answeredAt: Date.parse(entry.stageTimestamp),
    byOperator: isByOperator(entry),
    entry,
  };
}

export function matches(entry: AuditEntry, filter: AuditFilter): boolean {
  const { objectRef } = entry;
  const verbs = typeof filter.verb === 'string' ? [filter.verb] : filter.verb;
  return (
    (verbs === undefined || verbs.includes(entry.verb)) &&
    (filter.resource === undefined || objectRef?.resource === filter.resource) &&
    (filter.subresource === undefined || (objectRef?.subresource ?? '') === filter.subresource) &&
    (filter.namespace === undefined || objectRef?.namespace === filter.namespace) &&
    (filter.name === undefined || objectRef?.name === filter.name) &&
    (filter.byOperator === undefined || isByOperator(entry) === filter.byOperator) &&
    (filter.since === undefined || Date.parse(entry.stageTimestamp) >= filter.since)
  );
}
