/** Maintenances that nobody cleans up. */
import { rssMb } from '../../../hack/bench/proc.ts';
import { type Cost, idleCost } from './cost.ts';
import type { Fleet } from './fleet.ts';
import { numbered } from './manifests.ts';
import { ALL, describe, PATIENCE_MS, type Play, settle } from './play.ts';

export interface FinishedPoint {
  readonly finished: number;
  /** Of the process that has drained all of these nodes, in MB. */
  readonly wornMb: number;
  /** Of a new process, as is all that follows. */
  readonly inSyncSeconds: number;
  readonly idle: Cost;
  /** What a scrape of /metrics takes, in ms. */
  readonly scrapeMs: number;
}

export interface FinishedGrowth {
  readonly points: readonly FinishedPoint[];
  /** From the creation of one more until its node is drained: alone, and beside all of them. */
  readonly oneMoreSeconds: { readonly alone: number; readonly beside: number };
}

/** Maintenances whose nodes were drained and then removed for good, with nobody to delete them. */
export async function growFinished(
  play: Play,
  steps: readonly number[],
  batch: number,
): Promise<FinishedGrowth> {
  const { fleet, signal, log, idleSeconds } = play;
  await fleet.addNodes(['other-1', 'other-2']);
  await fleet.operate([ALL]);
  const alone = await oneMore(fleet, 'other-1');
  const points: FinishedPoint[] = [];
  let there = 0;
  for (const finished of steps) {
    while (there < finished) {
      const names = numbered('gone', Math.min(batch, finished - there), there);
      there += names.length;
      await finish(fleet, names);
    }
    await settle(play);
    const wornMb = rssMb(fleet.operator.pid);
    const { inSyncSeconds } = await fleet.operate([ALL]);
    await settle(play);
    const idle = await idleCost(fleet, idleSeconds, signal);
    const scrapeMs = await timeOf(async () =>
      fleet.operator.http('/metrics').then(async (answer) => answer?.text()),
    );
    log(
      `${finished} finished: ${wornMb.toFixed(0)} MB, restarted ${describe(idle)}, in sync after ${inSyncSeconds.toFixed(1)} s, a scrape takes ${scrapeMs.toFixed(0)} ms`,
    );
    points.push({ finished, wornMb, inSyncSeconds, idle, scrapeMs });
  }
  const beside = await oneMore(fleet, 'other-2');
  log(`one more takes ${beside.toFixed(1)} s, ${alone.toFixed(1)} s alone`);
  return { points, oneMoreSeconds: { alone, beside } };
}

async function finish(fleet: Fleet, names: readonly string[]): Promise<void> {
  await fleet.addNodes(names);
  await fleet.maintain(names);
  await fleet.drained(names, PATIENCE_MS);
  await fleet.removeNodes(names);
  await fleet.nodesGone(names, PATIENCE_MS);
}

async function oneMore(fleet: Fleet, node: string): Promise<number> {
  const started = performance.now();
  await fleet.maintain([node]);
  await fleet.drained([node], PATIENCE_MS);
  return (performance.now() - started) / 1000;
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}
