/** What the operator asked of the API server, from the audit log, without keeping what all others did there. */
import { as } from '../../../hack/cluster/lib/untyped.ts';
import { type AuditEntry, type Eviction, isByOperator, toEviction } from '../../e2e/support/audit.ts';
import { LineTail } from '../../e2e/support/line-tail.ts';

export class OperatorTraffic {
  readonly #tail: LineTail;
  readonly #entries: AuditEntry[] = [];

  /** Knows what is written from now on. */
  constructor(auditLog: string) {
    this.#tail = new LineTail(auditLog);
  }

  entries(): readonly AuditEntry[] {
    for (const line of this.#tail.lines()) {
      if (!line.includes('"userAgent":"haulout/')) continue;
      const entry = as<AuditEntry>(JSON.parse(line));
      if (isByOperator(entry)) this.#entries.push(entry);
    }
    return this.#entries;
  }

  /** Of what came after the first `mark` entries. */
  evictionsSince(mark: number): readonly Eviction[] {
    return this.entries()
      .slice(mark)
      .filter(({ verb, objectRef }) => verb === 'create' && objectRef?.subresource === 'eviction')
      .map(toEviction);
  }

  /** Accepted, and not ended. */
  openWatches(): number {
    const open = new Set<string>();
    for (const { verb, stage, auditID } of this.entries()) {
      if (verb !== 'watch') continue;
      if (stage === 'ResponseStarted') open.add(auditID);
      else open.delete(auditID);
    }
    return open.size;
  }
}
