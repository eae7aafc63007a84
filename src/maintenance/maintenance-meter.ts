import type { NodeMaintenance } from '../api/types.generated.ts';
import type { Store } from '../kube/store.ts';
import type { Node } from '../kube/types.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { isReadable } from './caches.ts';
import { carriesOurs } from './node-looks.ts';

export interface MaintenanceMeterOptions {
  readonly metrics: Metrics;
  readonly nodes: Store<Node>;
  readonly maintenances: Store<NodeMaintenance>;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * What alerts ask about single maintenances and nodes, read from the API's objects by every replica, so that it is known
 * without a leader, too. Labels are names of maintenances and nodes, never of pods: as many series as there are such
 * objects. Moments are given as timestamps: they do not stand still in a process that hangs.
 */
export class MaintenanceMeter {
  readonly #options: MaintenanceMeterOptions;
  /** When a drain came further last, by UID of the maintenance, in wall-clock milliseconds. */
  readonly #progressAt = new Map<string, number>();

  constructor(options: MaintenanceMeterOptions) {
    this.#options = options;
    options.maintenances.onChange((old, now) => this.#changed(old, now));
  }

  /** To be called before the metrics are read: sets the gauges to what is there now. */
  count(): void {
    const { metrics, maintenances } = this.#options;
    for (const gauge of [
      metrics.maintenanceInfo,
      metrics.maintenancePods,
      metrics.lastProgress,
      metrics.blockedSince,
      metrics.drainDeadline,
      metrics.drainTimeout,
    ])
      gauge.reset();
    for (const maintenance of maintenances.values()) if (isReadable(maintenance)) this.#describe(maintenance);
    this.#countHeld();
  }

  #describe({ metadata, spec, status }: NodeMaintenance): void {
    const { metrics } = this.#options;
    const labels = { maintenance: metadata.name, node: spec.nodeName };
    const policy = spec.nodeDrainPolicy ?? 'Evacuate';
    metrics.maintenanceInfo.set({ ...labels, policy, phase: status?.phase ?? 'Pending' }, 1);
    const { gone, remaining, terminating } = status?.drain?.pods ?? {};
    for (const [state, pods] of Object.entries({ gone, remaining, terminating }))
      if (pods !== undefined) metrics.maintenancePods.set({ ...labels, state }, pods);
    const startMs = activeSince(status);
    if (startMs === undefined) return;
    const progressMs = this.#progressAt.get(metadata.uid ?? '') ?? startMs;
    metrics.lastProgress.set(labels, Math.max(startMs, progressMs) / 1000);
    for (const [cause, ms] of blockedSince(status)) metrics.blockedSince.set({ ...labels, cause }, ms / 1000);
    const timeout = spec.drain?.timeoutSeconds;
    if (timeout === undefined) return;
    metrics.drainTimeout.set(labels, timeout);
    metrics.drainDeadline.set(labels, startMs / 1000 + timeout - (status?.drain?.activeSeconds ?? 0));
  }

  /** Nodes that carry marks of ours for nobody: the leader takes them off, if there is one and it may. */
  #countHeld(): void {
    const { metrics, nodes, maintenances } = this.#options;
    metrics.heldWithoutMaintenance.reset();
    for (const node of nodes.values()) {
      const { name } = node.metadata;
      if (!carriesOurs(node) || maintenances.byIndex('node', name).length > 0) continue;
      metrics.heldWithoutMaintenance.set({ node: name }, 1);
    }
  }

  #changed(old: NodeMaintenance | undefined, now: NodeMaintenance | undefined): void {
    const { uid } = (now ?? old)?.metadata ?? {};
    if (uid === undefined) return;
    if (!now) this.#progressAt.delete(uid);
    // What was before this process is not known: the benefit of the doubt, once.
    else if (!old || furtherness(old) !== furtherness(now))
      this.#progressAt.set(uid, this.#options.clock.now());
  }
}

/** Wall-clock milliseconds; undefined while nothing is being evacuated. */
function activeSince(status: NodeMaintenance['status']): number | undefined {
  const { startTime, completionTime, failure } = status?.drain ?? {};
  return startTime === undefined || completionTime !== undefined || failure
    ? undefined
    : Date.parse(startTime);
}

/** Another text whenever a pod begins to leave or has left, or its volumes came further. */
function furtherness({ status }: NodeMaintenance): string {
  const { startTime, pods, volumes = [] } = status?.drain ?? {};
  const moves = volumes.map(({ pod, phase }) => [pod.uid, phase]);
  return JSON.stringify([startTime, pods?.gone, pods?.remaining, pods?.terminating, moves]);
}

/** The earliest moment for each cause, in wall-clock milliseconds, of the blockers that the status lists. */
function blockedSince(status: NodeMaintenance['status']): ReadonlyMap<string, number> {
  const earliest = new Map<string, number>();
  for (const { cause, since } of status?.blockers ?? [])
    earliest.set(cause, Math.min(earliest.get(cause) ?? Number.POSITIVE_INFINITY, Date.parse(since)));
  return earliest;
}
