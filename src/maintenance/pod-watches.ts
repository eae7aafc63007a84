import type { Client } from '../kube/client.ts';
import { Reflector } from '../kube/reflector.ts';
import { Store, keyOf } from '../kube/store.ts';
import { trimBudget, trimPod, trimToIdentity } from '../kube/trim.ts';
import type { KubeObject, Pod, PodDisruptionBudget } from '../kube/types.ts';
import { daemonSetOf } from '../drain/filters.ts';
import { BudgetIndex } from '../drain/budget-index.ts';
import { DaemonSetRegister } from './daemon-set-register.ts';
import { type ReflectorContext, type RunningReflector, lastSeen } from './caches.ts';
import type { SpareMemory } from '../runtime/spare-memory.ts';
import { VolumeWatches } from './volume-watches.ts';
import type { Move, VolumeFacts } from '../volumes/moves.ts';

export interface PodWatchesOptions {
  readonly client: Client;
  readonly context: ReflectorContext;
  readonly spareMemory: Pick<SpareMemory, 'keep' | 'giveBackSoon'>;
  /** It was asked to leave: the watch will say so, or that it is gone. */
  readonly isLeaving: (pod: Pod) => boolean;
  readonly onPod: (nodeName: string, old: Pod | undefined, now: Pod | undefined) => void;
  readonly onBudget: (old: PodDisruptionBudget | undefined, now: PodDisruptionBudget | undefined) => void;
  /** Something about the volumes of a node changed; it may be a node that is not being emptied. */
  readonly onVolumes: (nodeName: string) => void;
  /** Something that all draining nodes depend on changed, or is known for the first time. */
  readonly onAll: () => void;
  /** The pod's node is not being emptied any more: nobody will hear of this pod again. */
  readonly onUnwatched: (pod: Pod) => void;
  /** No node is being emptied any more: nobody will hear of any budget. */
  readonly onBudgetsUnwatched: () => void;
}

interface PodWatch {
  readonly store: Store<Pod>;
  readonly reflector: Reflector<Pod>;
  /** Its pods were handed out before. */
  judged: boolean;
}

interface Shared {
  readonly budgets: BudgetIndex;
  readonly daemonSets: DaemonSetRegister;
  readonly volumes: VolumeWatches;
  readonly budgetReflector: RunningReflector;
  readonly daemonSetReflector: RunningReflector;
}

/**
 * One watch of pods for each node that is being emptied, and budgets and DaemonSets as long as there is such a node:
 * memory grows with the nodes in maintenance, not with the cluster.
 */
export class PodWatches {
  readonly #options: PodWatchesOptions;
  readonly #nodes = new Map<string, PodWatch>();
  #shared: Shared | undefined;

  constructor(options: PodWatchesOptions) {
    this.#options = options;
  }

  get nodeNames(): readonly string[] {
    return [...this.#nodes.keys()];
  }

  want(nodeName: string, wanted: boolean): void {
    if (wanted === this.#nodes.has(nodeName)) return;
    if (wanted) {
      this.#options.spareMemory.keep();
      this.#shared ??= this.#startShared();
      this.#nodes.set(nodeName, this.#start(nodeName));
      return;
    }
    const watch = this.#nodes.get(nodeName);
    this.#nodes.delete(nodeName);
    this.#shared?.volumes.follow(nodeName, []);
    for (const pod of watch?.store.values() ?? []) {
      this.#shared?.volumes.podGone(pod);
      this.#options.onUnwatched(pod);
    }
    if (watch) this.#stop(watch.reflector);
    if (this.#nodes.size === 0) this.#stopShared();
    // One of many: others may stay in maintenance for days.
    this.#options.spareMemory.giveBackSoon();
  }

  /** `undefined` until all that judging a pod needs is known. */
  pods(nodeName: string): readonly Pod[] | undefined {
    const watch = this.#nodes.get(nodeName);
    if (!watch?.reflector.hasSynced || !this.#sharedReflectors().every(({ hasSynced }) => hasSynced))
      return undefined;
    const pods = [...watch.store.values()];
    const daemonSets = this.#shared?.daemonSets;
    const owners = pods.map(daemonSetOf).filter((owner) => owner !== undefined);
    for (const { uid, namespace, name } of owners) daemonSets?.exists(uid, namespace, name);
    // The first word about a node has to be right; later ones need not be held back for a watch that lags.
    if (!watch.judged && owners.some(({ uid }) => daemonSets?.isUncertain(uid))) return undefined;
    watch.judged = true;
    return pods;
  }

  /** The watch shows this very pod, and not terminating. */
  isPresent(pod: Pod): boolean {
    const shown = this.#nodes.get(pod.spec.nodeName ?? '')?.store.get(keyOf(pod));
    return shown?.metadata.uid === pod.metadata.uid && shown.metadata.deletionTimestamp === undefined;
  }

  budgetsOf(pod: Pod): readonly PodDisruptionBudget[] {
    return this.#shared?.budgets.select(pod) ?? [];
  }

  get volumes(): VolumeFacts {
    return this.#shared?.volumes.facts ?? noVolumes;
  }

  /** Pods of this node whose volumes are on the move. */
  follow(nodeName: string, moves: readonly Move[]): void {
    if (this.#nodes.has(nodeName)) this.#shared?.volumes.follow(nodeName, moves);
  }

  daemonSetExists(uid: string, namespace: string, name: string): boolean {
    return this.#shared?.daemonSets.exists(uid, namespace, name) ?? true;
  }

  lastSeen(): [string, number][] {
    const pods = [...this.#nodes.values()].map(({ reflector }) => reflector);
    const budgets = this.#shared ? [this.#shared.budgetReflector] : [];
    const daemonSets = this.#shared ? [this.#shared.daemonSetReflector] : [];
    return [
      ...lastSeen('pods', pods),
      ...lastSeen('poddisruptionbudgets', budgets),
      ...lastSeen('daemonsets', daemonSets),
      ...(this.#shared?.volumes.lastSeen() ?? []),
    ];
  }

  #sharedReflectors(): readonly RunningReflector[] {
    if (!this.#shared) return [];
    const { budgetReflector, daemonSetReflector, volumes } = this.#shared;
    return [budgetReflector, daemonSetReflector, ...volumes.reflectors];
  }

  async stop(): Promise<void> {
    const reflectors = [...this.#nodes.values()].map(({ reflector }) => reflector);
    const shared = this.#sharedReflectors();
    const volumes = this.#shared?.volumes;
    this.#nodes.clear();
    this.#shared = undefined;
    await Promise.all([volumes?.stop(), ...[...reflectors, ...shared].map((reflector) => reflector.stop())]);
  }

  #start(nodeName: string): PodWatch {
    const { client, context, isLeaving, onPod, onAll } = this.#options;
    const store = new Store<Pod>({ trim: trimPod, ...context.store });
    store.onChange((old, now) => {
      if (old && old.metadata.uid !== now?.metadata.uid) this.#shared?.volumes.podGone(old);
      onPod(nodeName, old, now);
    });
    const query = { fieldSelector: `spec.nodeName=${nodeName}` };
    const reflector = new Reflector<Pod>({
      ...context.reflector('pods'),
      client,
      store,
      path: '/api/v1/pods',
      query,
      isChangeDue: () => [...store.values()].some(isLeaving),
    });
    reflector.start();
    void reflector.synced.then(onAll, () => undefined);
    return { store, reflector, judged: false };
  }

  #startShared(): Shared {
    const { client, context, onBudget, onVolumes, onAll } = this.#options;
    const budgetStore = new Store<PodDisruptionBudget>({ trim: trimBudget, ...context.store });
    const budgets = new BudgetIndex(budgetStore);
    budgetStore.onChange(onBudget);
    const daemonSetStore = new Store<KubeObject>({ trim: trimToIdentity, ...context.store });
    const { clock, logger } = context.reflector('daemonsets');
    const daemonSets = new DaemonSetRegister({
      store: daemonSetStore,
      client,
      clock,
      logger,
      onChange: onAll,
    });
    const budgetReflector = new Reflector({
      ...context.reflector('poddisruptionbudgets'),
      client,
      store: budgetStore,
      path: '/apis/policy/v1/poddisruptionbudgets',
    });
    const daemonSetReflector = new Reflector({
      ...context.reflector('daemonsets'),
      client,
      store: daemonSetStore,
      path: '/apis/apps/v1/daemonsets',
      metadataOnly: true,
    });
    const volumes = new VolumeWatches(client, context, onVolumes);
    for (const reflector of [budgetReflector, daemonSetReflector, ...volumes.reflectors]) {
      reflector.start();
      void reflector.synced.then(onAll, () => undefined);
    }
    return { budgets, daemonSets, volumes, budgetReflector, daemonSetReflector };
  }

  #stopShared(): void {
    for (const reflector of this.#sharedReflectors()) this.#stop(reflector);
    void this.#shared?.volumes.stop();
    this.#shared = undefined;
    this.#options.onBudgetsUnwatched();
  }

  /** Nobody waits for it: after stop() begins no event is delivered any more. */
  #stop(reflector: Pick<RunningReflector, 'stop'>): void {
    void reflector.stop();
  }
}

/** Without a node that is being emptied nobody asks. */
const noVolumes: VolumeFacts = {
  volumesOf: () => ({ kind: 'unknown', problem: undefined }),
  attachments: { toNode: () => [], ofVolume: () => [] },
  successionOf: () => undefined,
};
