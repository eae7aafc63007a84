/** Many nodes at once, with pods that controllers make again elsewhere. */
import { deployment } from '../../e2e/support/builders.ts';
import { createAll } from '../bulk.ts';
import { type Cost, idleCost, observed } from './cost.ts';
import type { Fleet } from './fleet.ts';
import { numbered } from './manifests.ts';
import { ALL, describe, PATIENCE_MS, type Play, settle } from './play.ts';

export interface DrainSize {
  readonly nodes: number;
  /** On all of these nodes, in Deployments of 50 that the scheduler spreads. */
  readonly pods: number;
  /** How many of the nodes are drained at once. */
  readonly maintained: number;
  /** Nodes that come when the pods are placed. */
  readonly spares: number;
  /** What is configured; what a control plane on few cores can follow, with all that an eviction causes. */
  readonly evictionQps: number;
}

export interface DrainFigures extends DrainSize {
  readonly evictions: number;
  readonly refused: number;
  /** From the first creation of a maintenance until the last one is Ready. */
  readonly readySeconds: number;
  /** From the first accepted eviction to the last one. */
  readonly evictingSeconds: number;
  /** What so many evictions take at the configured rate, after a burst of one second. */
  readonly leastSeconds: number;
  readonly before: Cost;
  readonly drain: Cost;
  /** All of them are Ready, and kept empty. */
  readonly ready: Cost;
  readonly restoreSeconds: number;
  readonly afterwards: Cost;
}

const PODS_PER_DEPLOYMENT = 50;
const NAMESPACE = 'fleet';

export async function drainMany(play: Play, size: DrainSize): Promise<DrainFigures> {
  const { fleet, signal, log, idleSeconds } = play;
  const { nodes, pods, maintained, spares, evictionQps } = size;
  const names = numbered('node', nodes);
  await fleet.addNodes(names);
  log(`${nodes} nodes are there`);
  await place(fleet, pods);
  await fleet.addNodes(numbered('spare', spares));
  log(`${pods} pods are there`);
  // A burst of one second: with less, what a busy machine is late with is lost.
  await fleet.operate([ALL, `--eviction-qps=${evictionQps}`, `--eviction-burst=${evictionQps}`]);
  await settle(play);
  const before = await idleCost(fleet, idleSeconds, signal);
  log(`before: ${describe(before)}`);
  const targets = names.slice(0, maintained);
  const mark = fleet.traffic.entries().length;
  const { cost: drain } = await observed(fleet, async () => {
    await fleet.maintain(targets);
    await fleet.drained(targets, PATIENCE_MS);
  });
  const evictions = fleet.traffic.evictionsSince(mark);
  const accepted = evictions.filter((one) => one.accepted);
  const times = accepted.map(({ answeredAt }) => answeredAt).toSorted((a, b) => a - b);
  const evictingSeconds = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000;
  await settle(play);
  const ready = await idleCost(fleet, idleSeconds, signal);
  log(
    `${accepted.length} evictions in ${evictingSeconds.toFixed(0)} s, all Ready after ${drain.seconds.toFixed(0)} s; ${describe(ready)}`,
  );
  await fleet.bed.checkInvariants({ timeoutMs: PATIENCE_MS });
  const started = performance.now();
  await fleet.endMaintenances(targets, PATIENCE_MS);
  const restoreSeconds = (performance.now() - started) / 1000;
  await settle(play);
  const afterwards = await idleCost(fleet, idleSeconds, signal);
  log(`all put back in ${restoreSeconds.toFixed(0)} s; ${describe(afterwards)}`);
  await fleet.bed.checkInvariants({ timeoutMs: PATIENCE_MS });
  return {
    ...size,
    evictions: accepted.length,
    refused: evictions.length - accepted.length,
    readySeconds: drain.seconds,
    evictingSeconds,
    leastSeconds: (accepted.length - evictionQps) / evictionQps,
    before,
    drain,
    ready,
    restoreSeconds,
    afterwards,
  };
}

async function place(fleet: Fleet, pods: number): Promise<void> {
  await fleet.bed.namespace(NAMESPACE);
  const full = Math.floor(pods / PODS_PER_DEPLOYMENT);
  const sizes = [...Array.from({ length: full }, () => PODS_PER_DEPLOYMENT), pods % PODS_PER_DEPLOYMENT];
  const manifests = numbered('app', sizes.length).map((name, index) =>
    deployment(NAMESPACE, name, { replicas: sizes[index] ?? 0, stopsIn: '1s' }),
  );
  await createAll(fleet.client, `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`, manifests);
  await fleet.podsReady(NAMESPACE, pods, PATIENCE_MS);
}
