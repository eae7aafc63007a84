import { restartedForAnnotation } from '../api/names.ts';
import { controllerOf } from '../drain/filters.ts';
import type { Refusal } from '../kube/answer.ts';
import type { Client } from '../kube/client.ts';
import { isEndOfTerm } from '../kube/guarded-client.ts';
import { getReferred } from '../kube/referred.ts';
import type { KubeObject } from '../kube/types.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Memory } from './memory.ts';
import { permitDeploymentRestart } from '../drain/permissions.ts';
import {
  type Deployment,
  type PersistentVolumeClaim,
  type RestartFacts,
  claimNames,
  restartVerdict,
  restartedFor,
} from './restart-verdict.ts';
import type { RestartLook, RestartNote, RestartWork } from './restarts.ts';
import type { EventNote } from './snapshot.ts';

export interface RestarterOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly memory: Memory;
  readonly logger: Logger;
  /** Whether a maintenance with this UID exists; the annotation forgets the others. */
  readonly maintenanceExists: (uid: string) => boolean;
  readonly emit: (event: EventNote, nodeName: string) => void;
  readonly onRestarted: () => void;
  readonly wakeNode: (nodeName: string) => void;
}

/**
 * A budget may be closed for the moment in which an evicted pod is replaced, while the Deployment looks whole already, or
 * still. One that is whole and held up for so long waits for nothing that would come by itself.
 */
const settleMs = 5_000;
const conflictRetryMs = 1_000;
const longestRetryMs = 120_000;

/** Looks at Deployments whose pods are held up, and restarts them where it is safe. Returns at once; work goes on behind. */
export class DeploymentRestarter {
  readonly #options: RestarterOptions;
  readonly #running = new Set<Promise<void>>();
  // `Deployment maintenance`, by UID: where a tool takes the annotation off again, a second restart would be no better.
  readonly #done = new Set<string>();

  constructor(options: RestarterOptions) {
    this.#options = options;
  }

  /** Begins the looks that are due; what is looked at is noted before this returns. */
  start(nodeName: string, { looks, keep }: RestartWork, signal: AbortSignal): void {
    const notes = this.#options.memory.of(nodeName).restarts;
    for (const uid of notes.keys()) if (!keep.has(uid)) notes.delete(uid);
    for (const look of looks) {
      const { uid } = look.replicaSet;
      const { state = 'unknown', words, refusals = 0 } = notes.get(uid) ?? {};
      const note = {
        state: state === 'settling' ? 'confirming' : state,
        words,
        refusals,
        lookAt: undefined,
      } as const;
      notes.set(uid, note);
      this.#track(signal, this.#look(nodeName, look, note, signal));
    }
  }

  /** Resolves when nothing is on the wire any more. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #look(nodeName: string, look: RestartLook, note: RestartNote, signal: AbortSignal): Promise<void> {
    const { clock, memory, wakeNode } = this.#options;
    const notes = memory.of(nodeName).restarts;
    const { uid } = look.replicaSet;
    // If anything goes wrong on the way it is looked at again.
    let result: RestartNote = { ...note, lookAt: clock.monotonic() + look.retryIntervalMs };
    try {
      result = await this.#judge(nodeName, look, note, signal);
    } finally {
      // Nobody may have asked for it any more meanwhile; what has begun counts nevertheless.
      if (notes.get(uid) === note || result.state === 'rolling') notes.set(uid, result);
      wakeNode(nodeName);
    }
  }

  async #judge(
    nodeName: string,
    look: RestartLook,
    note: RestartNote,
    signal: AbortSignal,
  ): Promise<RestartNote> {
    const read = await this.#read(look, signal);
    if ('refusal' in read) return this.#unread(look, note, read.refusal);
    if ('why' in read) return this.#not(look, note, read.why);
    const { facts } = read;
    const verdict = restartVerdict(facts);
    const { metadata } = facts.deployment;
    const name = `${metadata.namespace ?? ''}/${metadata.name}`;
    if (verdict.kind === 'no') return this.#not(look, note, verdict.why);
    if (verdict.kind === 'rolling') return this.#rolling(look, name);
    if (this.#done.has(`${metadata.uid} ${look.maintenance.metadata.uid}`))
      return this.#not(look, note, `somebody undid the restart of Deployment ${name} for this maintenance`);
    if (note.state !== 'confirming') return this.#settling(name, settleMs);
    if (this.#options.memory.of(nodeName).restarts.get(look.replicaSet.uid) !== note)
      return this.#settling(name, settleMs);
    return this.#restart(nodeName, look, note, facts.deployment, signal);
  }

  /** All that the verdict needs, as the API server has it now. */
  async #read(
    look: RestartLook,
    signal: AbortSignal,
  ): Promise<{ readonly facts: RestartFacts } | { readonly why: string } | { readonly refusal: Refusal }> {
    const { client } = this.#options;
    const { namespace, replicaSet, maintenances } = look;
    const apps = `/apis/apps/v1/namespaces/${namespace}`;
    const set = await getReferred<KubeObject>(client, `${apps}/replicasets`, replicaSet.name, { signal });
    if (set.kind === 'notFound' || (set.kind === 'ok' && set.object.metadata.uid !== replicaSet.uid))
      return { why: 'its ReplicaSet does not exist any more' };
    if (set.kind !== 'ok') return { refusal: set };
    const owner = controllerOf(set.object);
    if (owner?.kind !== 'Deployment' || !owner.apiVersion.startsWith('apps/'))
      return { why: 'its ReplicaSet belongs to no Deployment' };
    const deployment = await getReferred<Deployment>(client, `${apps}/deployments`, owner.name, { signal });
    if (deployment.kind === 'notFound') return { why: 'its Deployment does not exist any more' };
    if (deployment.kind !== 'ok') return { refusal: deployment };
    const claims = new Map<string, PersistentVolumeClaim | undefined>();
    for (const name of claimNames(deployment.object)) {
      const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims`;
      const claim = await getReferred<PersistentVolumeClaim>(client, path, name, { signal });
      if (claim.kind !== 'ok' && claim.kind !== 'notFound') return { refusal: claim };
      claims.set(name, claim.kind === 'ok' ? claim.object : undefined);
    }
    return { facts: { deployment: deployment.object, replicaSet: set.object, claims, maintenances } };
  }

  async #restart(
    nodeName: string,
    look: RestartLook,
    note: RestartNote,
    deployment: Deployment,
    signal: AbortSignal,
  ): Promise<RestartNote> {
    const { client, logger, maintenanceExists, emit, onRestarted } = this.#options;
    const { metadata } = deployment;
    const name = `${metadata.namespace ?? ''}/${metadata.name}`;
    const { uid } = look.maintenance.metadata;
    const uids = [...restartedFor(deployment).filter(maintenanceExists), uid];
    const annotations = { [restartedForAnnotation]: uids.join(',') };
    const path = `/apis/apps/v1/namespaces/${metadata.namespace ?? ''}/deployments/${metadata.name}`;
    // What was read is what is restarted: nobody has begun a rollout or scaled it meanwhile.
    const body = {
      metadata: { resourceVersion: metadata.resourceVersion },
      spec: { template: { metadata: { annotations } } },
    };
    const answer = await client.patch<Deployment>(path, 'merge', body, { signal });
    const fields = { node: nodeName, maintenance: look.maintenance.metadata.name, deployment: name };
    if (answer.kind === 'conflict') return this.#settling(name, conflictRetryMs);
    if (answer.kind !== 'ok') {
      logger.warn('deployment not restarted', { ...fields, cause: answer.kind, answer: answer.message });
      // The ClusterRole may say less than the flags.
      const message =
        answer.kind === 'forbidden' ? `${answer.message}; ${permitDeploymentRestart}` : answer.message;
      return this.#unread(look, note, { ...answer, message });
    }
    this.#done.add(`${metadata.uid} ${uid}`);
    logger.info('deployment restarted', fields);
    onRestarted();
    const text = `Deployment ${name} gets a rolling restart, so that its pod on node ${nodeName} is replaced before it stops`;
    emit(
      {
        maintenance: look.maintenance,
        type: 'Normal',
        reason: 'DeploymentRestarted',
        action: 'Restart',
        note: text,
      },
      nodeName,
    );
    return this.#rolling(look, name);
  }

  #rolling(look: RestartLook, deployment: string): RestartNote {
    const words = `leaves with the rolling restart of Deployment ${deployment}`;
    return { state: 'rolling', words, refusals: 0, lookAt: this.#after(look.retryIntervalMs) };
  }

  #settling(deployment: string, ms: number): RestartNote {
    const words = `Deployment ${deployment} is about to get a rolling restart`;
    return { state: 'settling', words, refusals: 0, lookAt: this.#after(ms) };
  }

  #not({ retryIntervalMs }: RestartLook, { refusals }: RestartNote, why: string): RestartNote {
    const wait = Math.max(retryIntervalMs, Math.min(retryIntervalMs * 2 ** refusals, longestRetryMs));
    return { state: 'no', words: `not restarted: ${why}`, refusals: refusals + 1, lookAt: this.#after(wait) };
  }

  /** Where nobody answered, what was known before still counts; a rollout may be going on. */
  #unread(look: RestartLook, note: RestartNote, refusal: Refusal): RestartNote {
    const passes = ['network', 'serverError', 'throttled'].includes(refusal.kind);
    const why = `the API server says: ${refusal.message}`;
    if (!passes) return this.#not(look, note, why);
    const state = note.state === 'confirming' ? 'unknown' : note.state;
    const words = note.words ?? `not restarted: ${why}`;
    return { ...note, state, words, lookAt: this.#after(Math.min(look.retryIntervalMs, settleMs)) };
  }

  #after(ms: number): number {
    return this.#options.clock.monotonic() + ms;
  }

  #track(signal: AbortSignal, work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => {
        if (!isEndOfTerm(error, signal))
          this.#options.logger.error('restarting a Deployment failed', { error });
      })
      .finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }
}
