/** The pods of a cluster and what became of them, learned from the audit log alone. */
import { as } from '../../hack/cluster/lib/untyped.ts';
import { type AuditEntry, type DeleteOptions, toEviction } from '../e2e/support/audit.ts';

export interface PodLife {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly controller: { readonly kind: string; readonly uid: string } | undefined;
  readonly isMirror: boolean;
  readonly gracePeriodSeconds: number;
  labels: Readonly<Record<string, string>>;
  node: string | undefined;
  /** Milliseconds since the epoch, as all times here: the latest moment at which it was bound. */
  boundAt: number | undefined;
  /** When it was evicted or deleted for the first time. */
  leavingSince: number | undefined;
  /** The earliest moment at which it was gone. */
  goneAt: number | undefined;
  phase: string;
  /** Since when it is Ready, or is not. */
  ready: { readonly is: boolean; readonly since: number };
}

interface LoggedPod {
  readonly metadata?: {
    readonly name?: string;
    readonly uid?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { kind: string; uid: string; controller?: boolean }[];
  };
  readonly spec?: { readonly nodeName?: string; readonly terminationGracePeriodSeconds?: number };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

const MIRROR = 'kubernetes.io/config.mirror';
const DEFAULT_GRACE_SECONDS = 30;

export const receivedAt = (entry: AuditEntry): number => Date.parse(entry.requestReceivedTimestamp);
export const answeredAt = (entry: AuditEntry): number => Date.parse(entry.stageTimestamp);
export const isOk = ({ stage, responseStatus }: AuditEntry): boolean =>
  stage === 'ResponseComplete' &&
  responseStatus !== undefined &&
  responseStatus.code >= 200 &&
  responseStatus.code <= 299;

/** It may have been carried out all the same: an API server that has no time says 504 in the middle of its work. */
export const isUncertain = ({ stage, responseStatus }: AuditEntry): boolean =>
  stage !== 'ResponseStarted' && (responseStatus === undefined || responseStatus.code >= 500);

export class PodRegister {
  readonly #pods = new Map<string, PodLife>();
  /** By `namespace/name`: the last one that was called like this. */
  readonly #latest = new Map<string, PodLife>();

  /** Those that are not gone, and those that went after `since`. */
  *known(since = 0): Generator<PodLife> {
    for (const pod of this.#pods.values()) if ((pod.goneAt ?? Infinity) >= since) yield pod;
  }

  byUid(uid: string): PodLife | undefined {
    return this.#pods.get(uid);
  }

  see(entry: AuditEntry): void {
    const { objectRef, verb } = entry;
    if (objectRef?.resource !== 'pods') return;
    const what = objectRef.subresource === undefined ? verb : `${verb} ${objectRef.subresource}`;
    if ((what === 'delete' || what === 'deletecollection') && (isOk(entry) || isUncertain(entry)))
      this.#deleted(entry);
    else if (!isOk(entry)) return;
    else if (what === 'create') this.#created(entry);
    else if (what === 'create binding') this.#bound(entry);
    else if (what === 'create eviction') this.#evicted(entry);
    else if (verb === 'patch' || verb === 'update') this.#changed(entry);
  }

  /** Forgets the pods that were gone before. */
  forget(before: number): void {
    for (const pod of this.#pods.values()) {
      if (pod.goneAt === undefined || pod.goneAt >= before) continue;
      this.#pods.delete(pod.uid);
      if (this.#latest.get(keyOf(pod)) === pod) this.#latest.delete(keyOf(pod));
    }
  }

  #created(entry: AuditEntry): void {
    const { metadata = {}, spec = {}, status = {} } = as<LoggedPod>(entry.responseObject ?? {});
    if (metadata.uid === undefined || metadata.name === undefined) return;
    const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
    const at = answeredAt(entry);
    const namespace = entry.objectRef?.namespace ?? '';
    const predecessor = this.#latest.get(keyOf({ namespace, name: metadata.name }));
    if (predecessor) predecessor.goneAt ??= receivedAt(entry);
    const pod: PodLife = {
      uid: metadata.uid,
      namespace,
      name: metadata.name,
      controller: owner && { kind: owner.kind, uid: owner.uid },
      isMirror: metadata.annotations?.[MIRROR] !== undefined,
      gracePeriodSeconds: spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS,
      labels: metadata.labels ?? {},
      node: spec.nodeName,
      boundAt: spec.nodeName === undefined ? undefined : at,
      leavingSince: undefined,
      goneAt: undefined,
      phase: status.phase ?? 'Pending',
      ready: { is: false, since: at },
    };
    this.#pods.set(pod.uid, pod);
    this.#latest.set(keyOf(pod), pod);
  }

  #bound(entry: AuditEntry): void {
    const { target } = as<{ target?: { name?: string } }>(entry.requestObject ?? {});
    for (const pod of this.#meant(entry)) {
      pod.node = target?.name;
      pod.boundAt = answeredAt(entry);
    }
  }

  #changed(entry: AuditEntry): void {
    const { metadata, status } = as<LoggedPod>(entry.requestObject ?? {});
    for (const pod of this.#meant(entry)) {
      if (metadata?.labels) pod.labels = { ...pod.labels, ...metadata.labels };
      pod.phase = status?.phase ?? pod.phase;
      const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
      if (ready !== undefined && (ready === 'True') !== pod.ready.is)
        pod.ready = { is: ready === 'True', since: answeredAt(entry) };
    }
  }

  #evicted(entry: AuditEntry): void {
    if (toEviction(entry).dryRun) return;
    for (const pod of this.#meant(entry)) {
      pod.leavingSince ??= receivedAt(entry);
      if (endsAtOnce(pod)) pod.goneAt ??= receivedAt(entry);
    }
  }

  #deleted(entry: AuditEntry): void {
    const { gracePeriodSeconds, preconditions, dryRun = [] } = as<DeleteOptions>(entry.requestObject ?? {});
    if (dryRun.length > 0) return;
    const at = receivedAt(entry);
    for (const pod of this.#meant(entry, preconditions?.uid)) {
      pod.leavingSince ??= at;
      // Its successor may stand in the log before it: what is answered first is written down first.
      if (gracePeriodSeconds === 0 || endsAtOnce(pod)) pod.goneAt = Math.min(pod.goneAt ?? at, at);
    }
  }

  /** Who has this UID, or else is there under the name of the request; all of its namespace where it names none. */
  #meant({ objectRef }: AuditEntry, uid?: string): readonly PodLife[] {
    const { namespace = '', name } = objectRef ?? {};
    if (uid !== undefined) return [this.#pods.get(uid) ?? []].flat();
    const named = name === undefined ? undefined : this.#latest.get(keyOf({ namespace, name }));
    const pods = name === undefined ? [...this.#pods.values()] : named ? [named] : [];
    return pods.filter((pod) => pod.goneAt === undefined && pod.namespace === namespace);
  }
}

const keyOf = ({ namespace, name }: Pick<PodLife, 'namespace' | 'name'>): string => `${namespace}/${name}`;

/** The API server removes it in the moment in which it is deleted: nobody would have to stop anything. */
const endsAtOnce = ({ node, phase, gracePeriodSeconds }: PodLife): boolean =>
  node === undefined || gracePeriodSeconds === 0 || phase === 'Succeeded' || phase === 'Failed';
