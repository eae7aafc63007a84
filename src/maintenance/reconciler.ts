import { nodeMaintenancePath, nodeMaintenanceStatusPath } from '../api/names.ts';
import type { NodeMaintenance } from '../api/types.generated.ts';
import type { Evictor } from '../drain/evictor.ts';
import type { Answer, Refusal } from '../kube/answer.ts';
import type { Client } from '../kube/client.ts';
import type { Store } from '../kube/store.ts';
import type { KubeObject, Node, Pod } from '../kube/types.ts';
import { nodeConditionsPatch } from '../node/conditions.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { timestamp } from './drain-clock.ts';
import type { Memory } from './memory.ts';
import type { DeploymentRestarter } from './restarter.ts';
import { plan } from './plan.ts';
import type { EventNote, FinalizerWrite, Plan, Snapshot, StatusWrite } from './snapshot.ts';
import { mergePatch } from './status-diff.ts';

export interface ReconcilerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly memory: Memory;
  readonly nodes: Store<Node>;
  readonly maintenances: Store<NodeMaintenance>;
  readonly evictor: Evictor;
  readonly restarter: DeploymentRestarter;
  readonly snapshot: (nodeName: string) => Snapshot;
  /** Starts or ends the watch of a node's pods. */
  readonly watchPods: (nodeName: string, wanted: boolean) => void;
  /** Whose volumes are on the move from this node. */
  readonly followMoves: (nodeName: string, moves: Plan['moves']) => void;
  /** Which budgets' changes this node has to hear of. */
  readonly waitFor: (nodeName: string, lanes: ReadonlySet<string>) => void;
  /** The operator's own pod is all that is left on the node. */
  readonly decideOwnPod: (nodeName: string, pod: Pod) => void;
  readonly emit: (event: EventNote, node: Node | undefined, nodeName: string) => void;
  readonly wakeAfter: (nodeName: string, delayMs: number) => void;
  /** The API server does not let the node be written, and would not if it were asked again at once. */
  readonly onNodeRefused: (nodeName: string) => void;
  /** A status was written. */
  readonly onStatus: (before: NodeMaintenance, after: NodeMaintenance) => void;
}

/** Progress that nobody waits for is written at most once in this time. */
const progressIntervalMs = 1_000;
// After a conflict the watch usually brings the newer object at once; this is for when it does not.
const conflictRetryMs = 250;
// A holder that exists and is in no cache: the watch lags and will wake the node, or the object cannot be read.
const holderRetryMs = 5_000;
/** Refusals after which it is known that nothing was written. */
const certain: ReadonlySet<Answer['kind']> = new Set(['admission', 'forbidden', 'invalid']);

/** The server refused a write: the key is tried again with the back-off of the queue. */
export class WriteRefused extends Error {
  override readonly name = 'WriteRefused';
  readonly refusal: Refusal;

  constructor(what: string, refusal: Refusal) {
    super(`${what}: ${refusal.message}`);
    this.refusal = refusal;
  }
}

/** Carries out the plan of one node: thin, in the plan's order, and idempotent. */
export class Reconciler {
  readonly #options: ReconcilerOptions;

  // No node is written before; monotonic milliseconds. The server counts what the whole process asks.
  #overloadedUntil = Number.NEGATIVE_INFINITY;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  async reconcile(nodeName: string, signal: AbortSignal): Promise<void> {
    const { memory, evictor, restarter, watchPods, followMoves, waitFor, wakeAfter } = this.#options;
    const snapshot = this.#options.snapshot(nodeName);
    const work = plan(snapshot);
    const notes = memory.of(nodeName);
    notes.tallies = work.tallies;
    notes.carriers = work.carriers;
    notes.heldUpSince = work.heldUpSince;
    watchPods(nodeName, work.watchPods);
    followMoves(nodeName, work.moves);
    waitFor(nodeName, work.waitsFor);
    // First of all and before any wait: these rest on what the snapshot said of budgets and of other nodes' lanes.
    const asked = [...work.posts, ...work.deletions].map(({ pod }) => pod);
    memory.asked(nodeName, asked, snapshot.pods ?? []);
    evictor.start(nodeName, work, signal);
    if (work.undecided) this.#options.decideOwnPod(nodeName, work.undecided);
    restarter.start(nodeName, work.restarts, signal);
    if (work.wakeAfterMs !== undefined) wakeAfter(nodeName, work.wakeAfterMs);
    const pauseMs = this.#overloadedUntil - snapshot.monotonic;
    if (pauseMs > 0) return wakeAfter(nodeName, pauseMs);
    try {
      await this.#write(nodeName, snapshot, work, signal);
    } catch (error) {
      if (error instanceof WriteRefused) this.#heed(error.refusal);
      throw error;
    }
    if (snapshot.maintenances.length === 0 && work.verifyHolders.length === 0) memory.forget(nodeName);
  }

  #heed(refusal: Refusal): void {
    if (refusal.kind !== 'throttled') return;
    this.#overloadedUntil = this.#options.clock.monotonic() + refusal.retryAfterSeconds * 1_000;
  }

  /** Every step sees to it that the node is planned again if it changed something: the stores wake it. */
  async #write(nodeName: string, snapshot: Snapshot, work: Plan, signal: AbortSignal): Promise<void> {
    await this.#verifyHolders(nodeName, work, signal);
    for (const write of work.addFinalizers)
      await this.#writeFinalizers(nodeName, write, snapshot.node, signal);
    for (const write of work.statuses) {
      if (!(await this.#writeStatus(nodeName, write, signal)) && work.nodePatch) return;
    }
    if (work.nodePatch && !(await this.#patchNode(nodeName, snapshot, work, signal))) return;
    await this.#writeNodeConditions(snapshot, work, signal);
    for (const write of work.dropFinalizers)
      await this.#writeFinalizers(nodeName, write, snapshot.node, signal);
  }

  async #verifyHolders(nodeName: string, { verifyHolders }: Plan, signal: AbortSignal): Promise<void> {
    const { client, memory, wakeAfter, logger } = this.#options;
    for (const { name, uid } of verifyHolders) {
      const answer = await client.get<NodeMaintenance>(nodeMaintenancePath(name), { signal });
      const absent =
        answer.kind === 'notFound' || (answer.kind === 'ok' && answer.object.metadata.uid !== uid);
      if (absent) {
        logger.info('a maintenance on the node does not exist any more', {
          node: nodeName,
          maintenance: name,
          uid,
        });
        memory.absentHolders.add(uid);
      } else if (answer.kind !== 'ok')
        throw new WriteRefused(`maintenance ${name} could not be read`, answer);
      wakeAfter(nodeName, absent ? 0 : holderRetryMs);
    }
  }

  async #writeFinalizers(
    nodeName: string,
    write: FinalizerWrite,
    node: Node | undefined,
    signal: AbortSignal,
  ) {
    const { client, maintenances, logger } = this.#options;
    const { name, resourceVersion } = write.maintenance.metadata;
    const body = { metadata: { resourceVersion, finalizers: write.finalizers } };
    const path = nodeMaintenancePath(name);
    const answer = await client.patch<NodeMaintenance>(path, 'merge', body, { signal });
    // Without its last finalizer the object is gone: there is nothing left to observe.
    if (answer.kind === 'notFound') return;
    if (
      !(await this.#taken(nodeName, `finalizers of maintenance ${name}`, answer, path, maintenances, signal))
    )
      return;
    logger.info('finalizers written', { node: nodeName, maintenance: name, finalizers: write.finalizers });
    for (const event of write.events) this.#options.emit(event, node, nodeName);
  }

  /** False when the status is not what the plan wants it to be. */
  async #writeStatus(nodeName: string, write: StatusWrite, signal: AbortSignal): Promise<boolean> {
    const { client, clock, maintenances, memory, logger, wakeAfter } = this.#options;
    const { metadata, status: before = {} } = write.maintenance;
    const { statusWrittenAt } = memory.of(nodeName);
    const since = clock.monotonic() - (statusWrittenAt.get(metadata.uid) ?? -Infinity);
    if (!write.urgent && since < progressIntervalMs) {
      wakeAfter(nodeName, progressIntervalMs - since);
      return true;
    }
    const status = mergePatch(before, write.status);
    const body = { metadata: { resourceVersion: metadata.resourceVersion }, status };
    const path = nodeMaintenanceStatusPath(metadata.name);
    statusWrittenAt.set(metadata.uid, clock.monotonic());
    const answer = await client.patch<NodeMaintenance>(path, 'merge', body, { signal });
    if (answer.kind === 'notFound') return false;
    const main = nodeMaintenancePath(metadata.name);
    if (
      !(await this.#taken(
        nodeName,
        `status of maintenance ${metadata.name}`,
        answer,
        main,
        maintenances,
        signal,
      ))
    )
      return false;
    const ready = write.status.conditions?.find(({ type }) => type === 'Ready');
    const { phase, drain } = write.status;
    const fields = {
      node: nodeName,
      maintenance: metadata.name,
      phase,
      reason: ready?.reason,
      progress: drain?.progress,
    };
    logger.info('status written', { ...fields, detail: ready?.message });
    for (const event of write.events) {
      this.#options.emit(event, undefined, nodeName);
      if (event.cause !== undefined) this.#options.memory.told(nodeName, metadata.uid, event.cause);
    }
    if (answer.kind === 'ok') this.#options.onStatus(write.maintenance, answer.object);
    return true;
  }

  async #patchNode(nodeName: string, snapshot: Snapshot, work: Plan, signal: AbortSignal): Promise<boolean> {
    const { client, clock, memory, nodes, logger } = this.#options;
    if (!work.nodePatch) return true;
    const notes = memory.of(nodeName);
    const path = nodePath(nodeName);
    const answer = await client.patch<Node>(path, 'merge', work.nodePatch, { signal });
    if (answer.kind === 'notFound') return false;
    if (answer.kind !== 'ok' && answer.kind !== 'conflict') {
      notes.nodeWriteProblem = answer.message;
      if (certain.has(answer.kind)) this.#options.onNodeRefused(nodeName);
      throw new WriteRefused(`node ${nodeName} could not be written`, answer);
    }
    if (!(await this.#taken(nodeName, `node ${nodeName}`, answer, path, nodes, signal))) return false;
    notes.nodeWriteProblem = undefined;
    if (work.recordon) memory.recordoned(nodeName, clock.monotonic());
    const holders = snapshot.maintenances.map(({ metadata }) => metadata.name);
    logger.info('node written', { node: nodeName, maintenances: holders });
    logger.debug('node patch', { node: nodeName, patch: work.nodePatch });
    for (const event of work.nodeEvents) this.#options.emit(event, snapshot.node, nodeName);
    return true;
  }

  async #writeNodeConditions(
    { node, now }: Snapshot,
    { nodeConditions }: Plan,
    signal: AbortSignal,
  ): Promise<void> {
    if (!node || !nodeConditions) return;
    const { client, nodes } = this.#options;
    const { name } = node.metadata;
    // With the version that the write before this one has made.
    const body = nodeConditionsPatch(nodes.get(name) ?? node, nodeConditions, timestamp(now));
    const answer = await client.patch<Node>(`${nodePath(name)}/status`, 'strategic', body, { signal });
    if (answer.kind === 'notFound') return;
    await this.#taken(name, `conditions of node ${name}`, answer, nodePath(name), nodes, signal);
  }

  /** Puts the answer's object into its store; after a conflict the live one, so that the next plan starts from it. */
  async #taken<T extends KubeObject>(
    nodeName: string,
    what: string,
    answer: Answer<T>,
    path: string,
    store: Store<T>,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (answer.kind === 'ok') {
      store.observe(answer.object);
      return true;
    }
    if (answer.kind !== 'conflict') throw new WriteRefused(`${what} could not be written`, answer);
    const live = await this.#options.client.get<T>(path, { signal });
    if (live.kind === 'ok') store.observe(live.object);
    this.#options.wakeAfter(nodeName, conflictRetryMs);
    return false;
  }
}

function nodePath(name: string): string {
  return `/api/v1/nodes/${name}`;
}
