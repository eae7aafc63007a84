/**
 * Every accepted eviction had a budget that allowed it: what the disruption controller said last, less the evictions that
 * were accepted since and that it had not counted yet.
 */
import { as } from '../../hack/cluster/lib/untyped.ts';
import { type AuditEntry, type Eviction, toEviction } from '../e2e/support/audit.ts';
import { answeredAt, isOk, type PodLife, type PodRegister, receivedAt } from './pod-register.ts';
import { type Selector, selects } from './selector.ts';

interface LoggedBudget {
  readonly spec?: { readonly selector?: Selector };
  readonly status?: {
    readonly disruptionsAllowed?: number;
    readonly disruptedPods?: Readonly<Record<string, string>>;
  };
}

/** What the disruption controller, or the API server for an eviction, wrote into the status of a budget. */
interface Verdict {
  readonly from: number;
  readonly answeredAt: number;
  /** `undefined`: its spec was changed, or it was deleted; from then on it has no say until the next verdict. */
  readonly allowed: number | undefined;
  /** Pods whose evictions it has counted in. */
  readonly counted: ReadonlySet<string>;
  readonly selector: Selector | undefined;
}

interface Accepted {
  readonly eviction: Eviction;
  readonly pod: PodLife;
  readonly labels: PodLife['labels'];
  /** Its budget was asked: it was Ready. */
  readonly counts: boolean;
}

const KEPT_MS = 120_000;

export class BudgetRule {
  readonly #pods: PodRegister;
  /** By `namespace/name`, oldest first. */
  readonly #verdicts = new Map<string, Verdict[]>();
  #evictions: Accepted[] = [];
  #open: Accepted[] = [];

  constructor(pods: PodRegister) {
    this.#pods = pods;
  }

  see(entry: AuditEntry): void {
    const { objectRef, verb } = entry;
    if (!isOk(entry)) return;
    if (objectRef?.resource === 'poddisruptionbudgets') {
      const key = `${objectRef.namespace}/${objectRef.name}`;
      if (objectRef.subresource === 'status') this.#said(key, entry);
      else if (verb !== 'create' && !isAboutMetadata(entry)) this.#changed(key, entry);
    } else if (objectRef?.subresource === 'eviction') {
      const eviction = toEviction(entry);
      const pod = this.#pods.byUid(eviction.uid);
      // Others may evict without naming a UID: then the name is all there is to go by, and the pod may be any.
      if (eviction.dryRun || !pod) return;
      this.#open.push({ eviction, pod, labels: pod.labels, counts: countsForBudgets(pod, eviction.askedAt) });
    }
  }

  /** One sentence for each eviction before `until` that no budget allowed. */
  conclude(until: number): string[] {
    const due = this.#open.filter(({ eviction }) => eviction.answeredAt < until);
    this.#open = this.#open.filter(({ eviction }) => eviction.answeredAt >= until);
    const broken = due
      .toSorted((a, b) => a.eviction.answeredAt - b.eviction.answeredAt)
      .flatMap((one) => {
        const sentences = this.#judge(one);
        this.#evictions.push(one);
        return sentences;
      });
    const oldest = until - KEPT_MS;
    this.#evictions = this.#evictions.filter(({ eviction }) => eviction.answeredAt > oldest);
    for (const [key, verdicts] of this.#verdicts) {
      const last = verdicts.at(-1);
      if (last && last.allowed === undefined && last.answeredAt < oldest) this.#verdicts.delete(key);
    }
    return broken;
  }

  #said(key: string, entry: AuditEntry): void {
    const { spec, status } = as<LoggedBudget>(entry.requestObject ?? {});
    if (status?.disruptionsAllowed === undefined) return;
    this.#add(key, entry, {
      allowed: status.disruptionsAllowed,
      counted: new Set(Object.keys(status.disruptedPods ?? {})),
      selector: spec?.selector,
    });
  }

  #changed(key: string, entry: AuditEntry): void {
    this.#add(key, entry, { allowed: undefined, counted: new Set(), selector: undefined });
  }

  #add(key: string, entry: AuditEntry, said: Pick<Verdict, 'allowed' | 'counted' | 'selector'>): void {
    const verdicts = this.#verdicts.get(key) ?? [];
    verdicts.push({ from: receivedAt(entry), answeredAt: answeredAt(entry), ...said });
    const oldest = receivedAt(entry) - KEPT_MS;
    while (verdicts.length > 1 && (verdicts[1]?.from ?? 0) < oldest) verdicts.shift();
    this.#verdicts.set(key, verdicts);
  }

  #judge(accepted: Accepted): string[] {
    const { eviction, pod, labels, counts } = accepted;
    if (!counts) return [];
    const who = `pod ${pod.namespace}/${pod.name} ${pod.uid} (${eviction.entry.requestReceivedTimestamp})`;
    const budgets = [...this.#verdicts].filter(([key]) => key.startsWith(`${pod.namespace}/`));
    return budgets.flatMap(([key, verdicts]) => {
      const { last, meanwhile } = inForce(verdicts, eviction);
      // Whether it had a say when the eviction came to it nobody can tell.
      if (meanwhile.some(({ allowed }) => allowed === undefined)) return [];
      const possible = [last, ...meanwhile]
        .filter(isVerdict)
        .filter(({ selector }) => selects(selector, labels));
      const allows = possible.some((verdict) => verdict.allowed > this.#uncounted(verdict, accepted));
      if (possible.length === 0 || allows) return [];
      const said = possible.map(({ allowed }) => allowed).join(' or ');
      return [`evicted against budget ${key}, which allowed ${said}: ${who}`];
    });
  }

  /** Evictions that the verdict does not know of, and that were accepted before this one. */
  #uncounted(verdict: Verdict, { eviction: { askedAt }, pod }: Accepted): number {
    return this.#evictions.filter(
      (other) =>
        other.counts &&
        other.eviction.askedAt > verdict.answeredAt &&
        other.eviction.answeredAt < askedAt &&
        other.pod.namespace === pod.namespace &&
        !verdict.counted.has(other.pod.name) &&
        selects(verdict.selector, other.labels),
    ).length;
  }
}

/** The last one that was answered before the eviction was asked for, and all that came until it was answered. */
function inForce(verdicts: readonly Verdict[], { askedAt, answeredAt: end }: Eviction) {
  return {
    last: verdicts.findLast((verdict) => verdict.answeredAt <= askedAt),
    meanwhile: verdicts.filter((verdict) => verdict.answeredAt > askedAt && verdict.from <= end),
  };
}

function isVerdict(one: Verdict | undefined): one is Verdict & { readonly allowed: number } {
  return one?.allowed !== undefined;
}

/** An annotation changes nothing of what it has said. */
function isAboutMetadata({ verb, requestObject }: AuditEntry): boolean {
  return (
    verb === 'patch' &&
    typeof requestObject === 'object' &&
    requestObject !== null &&
    !('spec' in requestObject)
  );
}

/** A pod that is not Ready may have been let go without asking its budget; one that has just become Ready, too. */
function countsForBudgets({ ready, phase }: PodLife, at: number): boolean {
  return ready.is && ready.since < at && phase === 'Running';
}
