/** What the operator asked of the API server, from the audit log, without keeping what all others did there. */
import { as } from '../../../hack/cluster/lib/untyped.ts';
import { type AuditEntry, type Eviction, isByOperator, toEviction } from '../../e2e/support/audit.ts';
import { LineTail } from '../../e2e/support/line-tail.ts';

export class OperatorTraffic {
  readonly #tail: LineTail;
  readonly #entries: AuditEntry[] = [];
  readonly #watches = new Set<string>();

  /** Knows what is written from now on. */
  constructor(auditLog: string) {
    this.#tail = new LineTail(auditLog);
  }

  /** Without the objects that were sent and answered: nodes are large. */
  entries(): readonly AuditEntry[] {
    for (const line of this.#tail.lines()) {
      if (!line.includes('"userAgent":"haulout/')) continue;
      const { responseObject: _, ...entry } = as<AuditEntry>(JSON.parse(line));
      if (isByOperator(entry)) this.#keep(entry);
    }
    return this.#entries;
  }

  /** Of what came after the first `mark` entries. */
  evictionsSince(mark: number): readonly Eviction[] {
    return this.entries().slice(mark).filter(isEviction).map(toEviction);
  }

  /** Accepted, and not ended. */
  openWatches(): number {
    this.entries();
    return this.#watches.size;
  }

  /** Lets go of all entries, for runs of hours; marks from before are of no use then. */
  forget(): void {
    this.#entries.length = 0;
  }

  #keep(entry: AuditEntry): void {
    const { requestObject: _, ...slim } = entry;
    this.#entries.push(isEviction(entry) ? entry : slim);
    if (entry.verb !== 'watch') return;
    if (entry.stage === 'ResponseStarted') this.#watches.add(entry.auditID);
    else this.#watches.delete(entry.auditID);
  }
}

const isEviction = ({ verb, objectRef }: AuditEntry): boolean =>
  verb === 'create' && objectRef?.subresource === 'eviction';
