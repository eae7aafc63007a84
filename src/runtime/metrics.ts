import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { WorkQueueMetrics } from './work-queue.ts';

// From a moment to a day: a drain may wait for budgets as long as its user lets it.
const drainBuckets = [1, 5, 10, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400];
const quickBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

// Of these there are as many as objects that somebody made; pods would be too many, and each a new series.
const ofMaintenance = ['maintenance', 'node'] as const;

/**
 * The lag of the event loop is measured by a timer, and an idle loop shows as its period. With the 10 ms that are usual it
 * is by far the most of what an idle operator does: 0.4 % of a core, against less than 0.1 % for all else.
 */
const eventLoopTimerMs = 25;

/** Everything that haulout measures. The help texts say what each of them means. */
export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Metrics in a registry of their own: two operators in one process, or two tests, do not share numbers. Besides those
 * below it holds the usual ones of a Node.js process (CPU, resident memory, event-loop lag, garbage collection), under
 * their usual names.
 */
export function createMetrics(version: string) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopTimerMs });
  const registers = [registry];

  const metrics = {
    registry,
    drainSeconds: new Histogram({
      name: 'haulout_drain_duration_seconds',
      help: 'Active time of drains that ended, by outcome.',
      labelNames: ['outcome'],
      buckets: drainBuckets,
      registers,
    }),
    pods: new Counter({
      name: 'haulout_pods_total',
      help: 'Pods that a drain is done with, by what became of them.',
      labelNames: ['outcome'],
      registers,
    }),
    evictions: new Counter({
      name: 'haulout_evictions_total',
      help: 'Requests to the eviction API, by the answer.',
      labelNames: ['answer'],
      registers,
    }),
    evictionRate: new Gauge({
      name: 'haulout_eviction_rate',
      help: 'Evictions and deletions of pods a second that the leader allows itself: less than configured after the API server has said that it is overloaded.',
      registers,
    }),
    volumeMoves: new Counter({
      name: 'haulout_volume_moves_total',
      help: 'Pods whose volumes were followed to another node, by how that ended.',
      labelNames: ['outcome'],
      registers,
    }),
    deploymentRestarts: new Counter({
      name: 'haulout_deployment_restarts_total',
      help: 'Rolling restarts of Deployments whose pods were held up (blockedDeployments Restart).',
      registers,
    }),
    blockedPods: new Gauge({
      name: 'haulout_blocked_pods',
      help: 'Pods that cannot leave their node now, by cause.',
      labelNames: ['cause'],
      registers,
    }),
    maintenances: new Gauge({
      name: 'haulout_maintenances',
      help: 'NodeMaintenance objects, by phase.',
      labelNames: ['phase'],
      registers,
    }),
    maintenanceInfo: new Gauge({
      name: 'haulout_maintenance_info',
      help: 'Always 1, for each NodeMaintenance object; the labels say what it asks for and where it stands.',
      labelNames: [...ofMaintenance, 'policy', 'phase'],
      registers,
    }),
    maintenancePods: new Gauge({
      name: 'haulout_maintenance_pods',
      help: 'Pods of a drain: gone, remaining (the terminating ones included), terminating.',
      labelNames: [...ofMaintenance, 'state'],
      registers,
    }),
    lastProgress: new Gauge({
      name: 'haulout_maintenance_last_progress_timestamp_seconds',
      help: 'Unix time at which a pod began to leave, or had left, last; only while the drain is under way. A process that has just begun counts from its own beginning.',
      labelNames: [...ofMaintenance],
      registers,
    }),
    blockedSince: new Gauge({
      name: 'haulout_maintenance_blocked_since_timestamp_seconds',
      help: 'Unix time from which on a pod cannot leave, by cause: the earliest of the blockers that the status lists; only while the drain is under way.',
      labelNames: [...ofMaintenance, 'cause'],
      registers,
    }),
    drainDeadline: new Gauge({
      name: 'haulout_maintenance_deadline_timestamp_seconds',
      help: 'Unix time at which drain.timeoutSeconds is over; only while the drain is under way and has such a time.',
      labelNames: [...ofMaintenance],
      registers,
    }),
    drainTimeout: new Gauge({
      name: 'haulout_maintenance_timeout_seconds',
      help: 'The drain.timeoutSeconds of a drain that is under way.',
      labelNames: [...ofMaintenance],
      registers,
    }),
    heldWithoutMaintenance: new Gauge({
      name: 'haulout_node_held_without_maintenance',
      help: '1 for each node that carries marks of haulout while no NodeMaintenance object names it.',
      labelNames: ['node'],
      registers,
    }),
    queueDepth: new Gauge({
      name: 'haulout_queue_depth',
      help: 'Nodes that wait to be reconciled.',
      registers,
    }),
    queueLatencySeconds: new Histogram({
      name: 'haulout_queue_latency_seconds',
      help: 'Time from the wish to reconcile a node to its beginning.',
      buckets: quickBuckets,
      registers,
    }),
    reconcileSeconds: new Histogram({
      name: 'haulout_reconcile_duration_seconds',
      help: 'Time that reconciling a node took.',
      buckets: quickBuckets,
      registers,
    }),
    reconcileErrors: new Counter({
      name: 'haulout_reconcile_errors_total',
      help: 'Reconciliations that failed and are tried again.',
      registers,
    }),
    handlerErrors: new Counter({
      name: 'haulout_handler_errors_total',
      help: 'Changes of objects whose handler threw, by a bug; it hears of them again within 30 s.',
      registers,
    }),
    apiRequests: new Counter({
      name: 'haulout_api_requests_total',
      help: 'Requests to the API server, by verb, resource and HTTP status (or the kind of network error).',
      labelNames: ['verb', 'resource', 'code'],
      registers,
    }),
    watchRestarts: new Counter({
      name: 'haulout_watch_restarts_total',
      help: 'Watches that ended other than by their own time-out and were started again.',
      labelNames: ['resource'],
      registers,
    }),
    relists: new Counter({
      name: 'haulout_relists_total',
      help: 'Full lists, the first one included.',
      labelNames: ['resource'],
      registers,
    }),
    // The time and not the age: the age would stand still in a process that hangs.
    watchLastEvent: new Gauge({
      name: 'haulout_watch_last_event_timestamp_seconds',
      help: 'Unix time of the last event or bookmark of a watch.',
      labelNames: ['resource'],
      registers,
    }),
    leader: new Gauge({
      name: 'haulout_leader',
      help: '1 while this process holds the Lease, otherwise 0.',
      registers,
    }),
    buildInfo: new Gauge({
      name: 'haulout_build_info',
      help: 'Always 1; the labels say what runs.',
      labelNames: ['version', 'node_version'],
      registers,
    }),
  } as const;

  // A counter that appears with its first 1 has not risen, for Prometheus: what can be known beforehand begins at 0.
  for (const outcome of ['completed', 'failed']) metrics.drainSeconds.zero({ outcome });
  for (const outcome of ['evicted', 'deleted', 'left']) metrics.pods.inc({ outcome }, 0);
  for (const outcome of ['settled', 'detachTimedOut', 'attachTimedOut'])
    metrics.volumeMoves.inc({ outcome }, 0);
  metrics.buildInfo.set({ version, node_version: process.versions.node }, 1);
  return metrics;
}

/** What a work queue reports, put into the metrics of the queue and of reconciling. */
export function workQueueMetrics(metrics: Metrics): WorkQueueMetrics {
  return {
    depth: (keys) => metrics.queueDepth.set(keys),
    started: (latencySeconds) => metrics.queueLatencySeconds.observe(latencySeconds),
    finished: (seconds, outcome) => {
      metrics.reconcileSeconds.observe(seconds);
      if (outcome === 'error') metrics.reconcileErrors.inc();
    },
  };
}

/**
 * Sets a gauge with one label to exactly `counts`: a label value that is no longer among them disappears instead of
 * showing its last number for ever.
 */
export function setCounts<Label extends string>(
  gauge: Gauge<Label>,
  counts: ReadonlyMap<string, number>,
): void {
  gauge.reset();
  for (const [value, count] of counts) gauge.labels(value).set(count);
}
