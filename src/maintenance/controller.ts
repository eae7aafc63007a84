import { maintenanceAnnotation } from '../api/names.ts';
import type { NodeMaintenance } from '../api/types.generated.ts';
import { budgetKey } from '../drain/budgets.ts';
import { Evictor } from '../drain/evictor.ts';
import { isTerminating } from '../drain/filters.ts';
import { EvictionPace } from '../drain/pace.ts';
import type { Answer } from '../kube/answer.ts';
import type { Client } from '../kube/client.ts';
import type { EventRecorder } from '../kube/events.ts';
import { NotLeading } from '../kube/guarded-client.ts';
import type { Node, Pod, PodDisruptionBudget } from '../kube/types.ts';
import { parseRecord } from '../node/record.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { SpareMemory } from '../runtime/spare-memory.ts';
import { WorkQueue, type WorkQueueMetrics } from '../runtime/work-queue.ts';
import { type Caches, type ReflectorContext, isReadable } from './caches.ts';
import { emitEvent } from './emit.ts';
import { LaneWaiters } from './lane-waiters.ts';
import { Memory } from './memory.ts';
import type { DrainMeter } from './meter.ts';
import { carriesOurs, sameButVersion } from './node-looks.ts';
import { OwnPodKeeper } from './own-pod.ts';
import type { Permissions } from '../drain/permissions.ts';
import { PodWatches } from './pod-watches.ts';
import { Reconciler, WriteRefused } from './reconciler.ts';
import { DeploymentRestarter } from './restarter.ts';
import type { Snapshot } from './snapshot.ts';
import { TurnKeeper } from './turn-keeper.ts';
import { type NodeLimit, byCreation } from './turns.ts';

export interface ControllerOptions {
  readonly client: Client;
  readonly caches: Caches;
  readonly context: ReflectorContext;
  readonly recorder: EventRecorder;
  readonly meter: DrainMeter;
  readonly queueMetrics: WorkQueueMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly evictionQps: number;
  readonly evictionBurst: number;
  readonly maxUnavailableNodes: NodeLimit;
  readonly permitted: Permissions;
  readonly spareMemory: Pick<SpareMemory, 'keep' | 'giveBackSoon'>;
  /** The pod that this process runs in. */
  readonly self: { readonly namespace: string; readonly name: string } | undefined;
  /** Stops leading so that another replica can; undefined where that is not possible, or was of no use. */
  readonly handOver: (() => void) | undefined;
}

// Reconciles wait for the API server, not for each other.
const concurrentNodes = 32;
/** Bursts of events about one node are planned together. */
const gatherMs = 20;

/**
 * The work of a leader, from gaining the Lease to losing it: watches events, keeps the queue of nodes, and begins with
 * an empty memory each time.
 */
export class Controller {
  readonly #options: ControllerOptions;
  readonly #memory = new Memory();
  readonly #queue: WorkQueue;
  readonly #turns: TurnKeeper;
  readonly #pods: PodWatches;
  readonly #pace: EvictionPace;
  readonly #evictor: Evictor;
  readonly #ownPod: OwnPodKeeper;
  readonly #restarter: DeploymentRestarter;
  readonly #waiting = new LaneWaiters();
  readonly #unsubscribe: (() => void)[] = [];
  #isWakingAll = false;

  constructor(options: ControllerOptions) {
    this.#options = options;
    const { client, caches, context, clock, logger, meter } = options;
    const wake = (nodeName: string) => this.#queue.add(nodeName);
    const wakeSoon = (nodeName: string) => this.#queue.addAfter(nodeName, gatherMs);
    this.#pods = new PodWatches({
      client,
      context,
      spareMemory: options.spareMemory,
      isLeaving: (pod) => isTerminating(pod) || this.#memory.drain.accepted.has(pod.metadata.uid),
      onPod: (nodeName, old, now) => this.#podChanged(nodeName, old, now),
      onBudget: (old, now) => this.#budgetChanged(old, now),
      onVolumes: (nodeName) => this.#pods.nodeNames.includes(nodeName) && wakeSoon(nodeName),
      onAll: () => this.#wakeAll(),
      onUnwatched: (pod) => {
        this.#memory.drain.podGone(pod.metadata.uid);
        meter.podUnwatched(pod);
      },
      onBudgetsUnwatched: () => this.#memory.budgetsUnwatched(),
    });
    this.#pace = new EvictionPace({
      clock,
      logger,
      ratePerSecond: options.evictionQps,
      burst: options.evictionBurst,
      onRate: (ratePerSecond) => meter.evictionRate(ratePerSecond),
    });
    this.#evictor = new Evictor({
      client,
      pace: this.#pace,
      clock,
      memory: this.#memory.drain,
      logger,
      onAnswer: (what, kind, pod) => this.#answered(what, kind, pod),
      isPresent: (pod) => this.#pods.isPresent(pod),
      wakeNode: wakeSoon,
      wakeLane: (key) => this.#wakeWaiters(key),
    });
    this.#ownPod = new OwnPodKeeper({
      client,
      clock,
      logger,
      isHeld: (nodeName) => this.#turns.isHeld(nodeName),
      handOver: options.handOver,
      fateOf: (nodeName) => this.#memory.of(nodeName).ownPod,
      onFate: (nodeName, fate) => {
        this.#memory.of(nodeName).ownPod = fate;
        wake(nodeName);
      },
    });
    const { nodes, maintenances } = caches;
    this.#restarter = new DeploymentRestarter({
      client,
      clock,
      memory: this.#memory,
      logger,
      maintenanceExists: (uid) => [...maintenances.values()].some(({ metadata }) => metadata.uid === uid),
      emit: (event, nodeName) => emitEvent(options.recorder, event, nodes.get(nodeName), nodeName),
      onRestarted: () => meter.deploymentRestarted(),
      wakeNode: wakeSoon,
    });
    this.#turns = new TurnKeeper({ nodes, maintenances, limit: options.maxUnavailableNodes, onTurn: wake });
    const reconciler = new Reconciler({
      client,
      clock,
      logger,
      memory: this.#memory,
      nodes,
      maintenances,
      evictor: this.#evictor,
      restarter: this.#restarter,
      snapshot: (nodeName) => this.#snapshot(nodeName),
      watchPods: (nodeName, wanted) => this.#pods.want(nodeName, wanted),
      followMoves: (nodeName, moves) => this.#pods.follow(nodeName, moves),
      waitFor: (nodeName, lanes) => this.#waiting.waitFor(nodeName, lanes),
      decideOwnPod: (nodeName, pod) => this.#ownPod.decide(nodeName, pod),
      emit: (event, node, nodeName) => emitEvent(options.recorder, event, node, nodeName),
      wakeAfter: (nodeName, delayMs) => this.#queue.addAfter(nodeName, delayMs),
      onNodeRefused: (nodeName) => this.#turns.refused(nodeName),
      onStatus: (before, after) => meter.statusWritten(before, after),
    });
    this.#queue = new WorkQueue({
      clock,
      random: Math.random,
      concurrency: concurrentNodes,
      handle: (nodeName, signal) => reconciler.reconcile(nodeName, signal),
      onError: (nodeName, error, retryMs) => this.#failed(nodeName, error, retryMs),
      baseDelayMs: 100,
      maxDelayMs: 30_000,
      metrics: options.queueMetrics,
    });
  }

  /** Begins with every node that has a maintenance, or carries something of ours. */
  start(): void {
    const { nodes, maintenances } = this.#options.caches;
    this.#unsubscribe.push(
      nodes.onChange((old, now) => this.#nodeChanged(old, now)),
      maintenances.onChange((old, now) => this.#maintenanceChanged(old, now)),
    );
    for (const maintenance of maintenances.values()) this.#maintenanceChanged(undefined, maintenance);
    for (const node of nodes.values()) if (carriesOurs(node)) this.#queue.add(node.metadata.name);
  }

  /** Ends all work; what is on the wire is aborted. */
  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await Promise.all([this.#queue.stop(), this.#pods.stop(), this.#ownPod.stop()]);
    await Promise.all([this.#evictor.idle(), this.#restarter.idle()]);
    this.#pace.stop();
  }

  /** Pods that are held up now, by cause. */
  blockedByCause(): ReadonlyMap<string, number> {
    return this.#memory.blockedByCause();
  }

  lastSeen(): [string, number][] {
    return this.#pods.lastSeen();
  }

  #snapshot(nodeName: string): Snapshot {
    const { caches, clock, self, permitted } = this.#options;
    const node = caches.nodes.get(nodeName);
    const text = node?.metadata.annotations?.[maintenanceAnnotation];
    const record = text === undefined ? undefined : parseRecord(text);
    if (node && record) this.#memory.of(nodeName).lastRecord = { nodeUid: node.metadata.uid, record };
    return {
      now: clock.now(),
      monotonic: clock.monotonic(),
      nodeName,
      node,
      maintenances: caches.maintenances.byIndex('node', nodeName).toSorted(byCreation),
      pods: this.#pods.pods(nodeName),
      budgetsOf: (pod) => this.#pods.budgetsOf(pod),
      volumes: this.#pods.volumes,
      daemonSetExists: (uid, namespace, name) => this.#pods.daemonSetExists(uid, namespace, name),
      admitted: this.#turns.admits(nodeName),
      permitted,
      self,
      memory: this.#memory.view(nodeName),
    };
  }

  #nodeChanged(old: Node | undefined, now: Node | undefined): void {
    const node = now ?? old;
    if (!node || (old && now && sameButVersion(old, now))) return;
    this.#turns.changed();
    const { name } = node.metadata;
    const concerned = this.#options.caches.maintenances.byIndex('node', name).length > 0 || carriesOurs(node);
    if (concerned) this.#queue.add(name);
  }

  #maintenanceChanged(old: NodeMaintenance | undefined, now: NodeMaintenance | undefined): void {
    this.#turns.changed();
    const maintenance = now ?? old;
    if (maintenance && isReadable(maintenance)) this.#queue.add(maintenance.spec.nodeName);
    else if (now) this.#reportUnreadable(now);
  }

  #reportUnreadable({ metadata: { name } }: NodeMaintenance): void {
    this.#options.logger.error('a maintenance cannot be read and is left alone', {
      maintenance: name,
      advice: 'spec.nodeName has to be the name of a node, and spec.drain an object',
    });
  }

  #podChanged(nodeName: string, old: Pod | undefined, now: Pod | undefined): void {
    const { drain } = this.#memory;
    if (now?.metadata.deletionTimestamp !== undefined) drain.podTerminates(now.metadata.uid);
    if (old && !now) {
      drain.podGone(old.metadata.uid);
      this.#options.meter.podGone(old);
    }
    this.#queue.addAfter(nodeName, gatherMs);
  }

  #answered(what: 'eviction' | 'deletion', kind: Answer['kind'], pod: Pod): void {
    this.#options.meter.answered(what, kind, pod);
    if (kind !== 'ok') return;
    const { maintenances } = this.#options.caches;
    this.#memory.evicted(pod, maintenances.byIndex('node', pod.spec.nodeName ?? ''));
  }

  #budgetChanged(old: PodDisruptionBudget | undefined, now: PodDisruptionBudget | undefined): void {
    const budget = now ?? old;
    if (!budget) return;
    if (now) this.#memory.budgetChanged(old, now, this.#options.clock.monotonic());
    else this.#memory.budgetGone(budget);
    // A new or another selector may concern pods that wait for nothing yet.
    if (!old || !now || old.metadata.generation !== now.metadata.generation) this.#wakeAll();
    this.#wakeWaiters(budgetKey(budget));
  }

  /** Once for all that comes at the same time: a list may bring tens of thousands of budgets for hundreds of nodes. */
  #wakeAll(): void {
    if (this.#isWakingAll) return;
    this.#isWakingAll = true;
    queueMicrotask(() => {
      this.#isWakingAll = false;
      for (const nodeName of this.#pods.nodeNames) this.#queue.addAfter(nodeName, gatherMs);
    });
  }

  #wakeWaiters(key: string): void {
    for (const nodeName of this.#waiting.of(key)) this.#queue.addAfter(nodeName, gatherMs);
  }

  #failed(node: string, error: unknown, retryMs: number): void {
    const { logger } = this.#options;
    // A Lease that was lost a moment ago; whoever has it now does the work.
    if (error instanceof NotLeading) logger.warn(error.message, { node, retryMs });
    else if (error instanceof WriteRefused)
      logger.warn(error.message, { node, cause: error.refusal.kind, retryMs });
    else {
      logger.error('reconciling failed', { node, error, retryMs });
      // A node that fails for good must not keep all others waiting for its turn.
      this.#turns.refused(node);
    }
  }
}
