/** How cost grows: with nodes, with pods of nodes that are being emptied, with maintenances. */
import { createAll, forAll } from '../bulk.ts';
import { type Cost, idleCost, observed } from './cost.ts';
import { boundPod, numbered } from './manifests.ts';
import { ALL, describe, PATIENCE_MS, type Play, settle } from './play.ts';

export interface NodesPoint {
  readonly nodes: number;
  readonly inSyncSeconds: number;
  /** Pages of the first lists. */
  readonly firstLists: number;
  readonly idle: Cost;
}

/** A new process for each number of nodes. */
export async function growNodes(play: Play, steps: readonly number[]): Promise<NodesPoint[]> {
  const { fleet, signal, log, idleSeconds } = play;
  const points: NodesPoint[] = [];
  let there = 0;
  for (const nodes of steps) {
    await fleet.addNodes(numbered('node', nodes - there, there));
    there = nodes;
    const mark = fleet.traffic.entries().length;
    const { inSyncSeconds } = await fleet.operate();
    const firstLists = fleet.traffic
      .entries()
      .slice(mark)
      .filter(({ verb }) => verb === 'list').length;
    await settle(play);
    const idle = await idleCost(fleet, idleSeconds, signal);
    log(`${nodes} nodes: in sync after ${inSyncSeconds.toFixed(1)} s, ${describe(idle)}`);
    points.push({ nodes, inSyncSeconds, firstLists, idle });
  }
  return points;
}

export interface PodsPoint {
  readonly pods: number;
  readonly idle: Cost;
}

/** Pods that nothing would create again, on nodes in maintenance: they are watched, and stay until somebody decides. */
export async function growPods(play: Play, nodes: number, perNode: readonly number[]): Promise<PodsPoint[]> {
  const { fleet, signal, log, idleSeconds } = play;
  const names = numbered('held', nodes);
  await fleet.addNodes(names);
  await fleet.bed.namespace('pods');
  await fleet.operate([ALL]);
  await fleet.maintain(names);
  await fleet.drained(names, PATIENCE_MS);
  const collection = '/api/v1/namespaces/pods/pods';
  const points: PodsPoint[] = [];
  let there = 0;
  for (const each of perNode) {
    const manifests = names.flatMap((node) =>
      numbered(node, each - there, there).map((name) => boundPod('pods', name, node, name)),
    );
    there = each;
    await createAll(fleet.client, collection, manifests);
    await fleet.until(
      `all of ${nodes * each} pods are known to hold up their nodes`,
      (all) => names.every((name) => (all.get(name)?.status?.blockersTotal ?? 0) === each),
      PATIENCE_MS,
    );
    await settle(play);
    const idle = await idleCost(fleet, idleSeconds, signal);
    log(`${nodes * each} pods: ${describe(idle)}`);
    points.push({ pods: nodes * each, idle });
  }
  // One by one: all of a collection in one request takes longer than any client waits.
  const pods = names.flatMap((node) => numbered(node, there));
  const body = { gracePeriodSeconds: 0 };
  await forAll(pods, async (name) => fleet.client.must('DELETE', `${collection}/${name}`, { body }));
  await fleet.endMaintenances(names, PATIENCE_MS);
  return points;
}

export interface MaintenancesPoint {
  readonly maintenances: number;
  /** Of those that came with this step: from the first creation until the last one is Ready. */
  readonly readySeconds: number;
  readonly working: Cost;
  readonly idle: Cost;
}

export interface MaintenancesGrowth {
  readonly points: readonly MaintenancesPoint[];
  /** All of them are over. */
  readonly afterwards: Cost;
}

/** Of empty nodes, all in effect at the same time. */
export async function growMaintenances(play: Play, steps: readonly number[]): Promise<MaintenancesGrowth> {
  const { fleet, signal, log, idleSeconds } = play;
  const names = numbered('kept', steps.at(-1) ?? 0);
  await fleet.addNodes(names);
  await fleet.operate([ALL]);
  const points: MaintenancesPoint[] = [];
  let there = 0;
  for (const maintenances of steps) {
    const added = names.slice(there, maintenances);
    there = maintenances;
    const { cost: working } = await observed(fleet, async () => {
      await fleet.maintain(added);
      await fleet.drained(added, PATIENCE_MS);
    });
    await settle(play);
    const idle = await idleCost(fleet, idleSeconds, signal);
    log(
      `${maintenances} maintenances: ${describe(idle)}, ${added.length} Ready in ${working.seconds.toFixed(1)} s`,
    );
    points.push({ maintenances, readySeconds: working.seconds, working, idle });
  }
  await fleet.endMaintenances(names, PATIENCE_MS);
  await settle(play);
  const afterwards = await idleCost(fleet, idleSeconds, signal);
  log(`and after them: ${describe(afterwards)}`);
  return { points, afterwards };
}
