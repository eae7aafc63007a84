/** From what was measured to what larger clusters would take: straight lines, drawn on. */
import { type Line, lineThrough, type Pair } from '../../../test/soak/scale/trend.ts';
import type { Records } from './record.ts';

/** Of one more, in MB of resident memory. */
export interface Prices {
  readonly baseMb: number;
  readonly nodeMb: number;
  readonly podMb: number;
  readonly maintenanceMb: number;
  readonly finishedMb: number;
  readonly budgetMb: number;
  /** Of one core, for each node that reports its status every five minutes. */
  readonly nodeCpuPercent: number;
  readonly baseCpuPercent: number;
  readonly nodeSyncSeconds: number;
  readonly baseSyncSeconds: number;
}

/** Of fewer, the memory that Node.js has not given back is most of what grows: a line through them says nothing. */
const LEAST_NODES = 5_000;

/** Undefined as long as something of it was never measured, or nodes only in small numbers. */
export function pricesOf({ nodes, pods, maintenances, finished, budgets }: Records): Prices | undefined {
  if (!nodes || !pods || !maintenances || !finished || !budgets) return undefined;
  if ((nodes.figures.points.at(-1)?.nodes ?? 0) < LEAST_NODES) return undefined;
  const memory = trendOf(nodes.figures.points, (one) => [one.nodes, one.idle.rssAfterMb]);
  const cpu = trendOf(nodes.figures.points, (one) => [one.nodes, one.idle.cpuPercent]);
  const sync = trendOf(nodes.figures.points, (one) => [one.nodes, one.inSyncSeconds]);
  const { before, waiting, budgets: count } = budgets.figures;
  return {
    baseMb: memory.base,
    nodeMb: memory.slope,
    podMb: trendOf(pods.figures.points, (one) => [one.pods, one.idle.rssAfterMb]).slope,
    maintenanceMb: trendOf(maintenances.figures.points, (one) => [one.maintenances, one.idle.rssAfterMb])
      .slope,
    finishedMb: trendOf(finished.figures.points, (one) => [one.finished, one.idle.rssAfterMb]).slope,
    budgetMb: (waiting.rssAfterMb - before.rssAfterMb) / count,
    nodeCpuPercent: cpu.slope,
    baseCpuPercent: cpu.base,
    nodeSyncSeconds: sync.slope,
    baseSyncSeconds: sync.base,
  };
}

function trendOf<T>(points: readonly T[], pair: (point: T) => Pair): Line {
  return lineThrough(points.map(pair));
}

export interface Size {
  readonly nodes: number;
  /** In maintenance at the same time. */
  readonly maintained: number;
  /** On each of those. */
  readonly podsPerNode: number;
  readonly budgets: number;
  /** That nobody has cleaned up. */
  readonly finished: number;
}

export interface Need {
  readonly idleMb: number;
  readonly busyMb: number;
  readonly idleCpuPercent: number;
  readonly syncSeconds: number;
  readonly watches: number;
  readonly firstListPages: number;
  readonly statusReportsPerSecond: number;
}

const NODES_PER_PAGE = 100;
const STATUS_REPORT_SECONDS = 300;
/** Nodes, maintenances and the Lease; while nodes are emptied also budgets, DaemonSets, CSIDrivers and VolumeAttachments. */
const WATCHES = { always: 3, shared: 4 };

export function needOf(prices: Prices, size: Size): Need {
  const { nodes, maintained, podsPerNode, budgets, finished } = size;
  const idleMb = prices.baseMb + prices.nodeMb * nodes + prices.finishedMb * finished;
  const perNode = prices.maintenanceMb + prices.podMb * podsPerNode;
  return {
    idleMb,
    busyMb: idleMb + perNode * maintained + prices.budgetMb * budgets,
    idleCpuPercent: prices.baseCpuPercent + prices.nodeCpuPercent * nodes,
    syncSeconds: prices.baseSyncSeconds + prices.nodeSyncSeconds * nodes,
    watches: WATCHES.always + WATCHES.shared + maintained,
    firstListPages: Math.ceil(nodes / NODES_PER_PAGE),
    statusReportsPerSecond: nodes / STATUS_REPORT_SECONDS,
  };
}
