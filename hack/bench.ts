/**
 * `make bench`: drains by haulout beside drains by kubectl, on one cluster of its own that is stopped at the end.
 *   node hack/bench.ts [--quick] [--json FILE] [--only 1,4]
 * --quick (or BENCH_QUICK=1) leaves out the five minutes that kubectl takes for twenty nodes. Exit code 1 if a goal is missed.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readVersion } from '../src/cli/version.ts';
import { describeMiss, isMet } from './bench/goals.ts';
import { markdown, type Report, thisMachine } from './bench/report.ts';
import type { Play, Row } from './bench/row.ts';
import { blockedNodes } from './bench/rows/blocked-nodes.ts';
import { closedBudget } from './bench/rows/closed-budget.ts';
import { openingBudgets } from './bench/rows/opening-budgets.ts';
import { manyNodes, oneNode } from './bench/rows/whole-nodes.ts';
import { Stage } from './bench/stage.ts';
import { startCluster } from './cluster/lib/cluster.ts';
import { withLock } from './cluster/lib/lock.ts';
import { clusterDirectory } from './cluster/lib/paths.ts';
import { as, errorMessage } from './cluster/lib/untyped.ts';

const DIR = '.cluster-bench';
const ROWS: readonly ((play: Play) => Promise<Row>)[] = [
  oneNode,
  manyNodes,
  closedBudget,
  openingBudgets,
  blockedNodes,
];

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: ['1', 'true', 'yes'].includes(process.env['BENCH_QUICK'] ?? '') },
    json: { type: 'string' },
    only: { type: 'string', default: '' },
  },
});

// A few cores play a whole control plane: a fifth of their time would go into garbage, with memory left over.
process.env['GOGC'] ??= '400';

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
const { signal } = interrupted;
const log = (line: string): void => void process.stderr.write(`${line}\n`);

async function bench(): Promise<number> {
  const machine = thisMachine();
  const started = performance.now();
  const cluster = await startCluster({ dir: DIR, nodes: 0, signal, log });
  let stage: Stage | undefined;
  let rows: readonly Row[];
  let kubernetes: string;
  try {
    const playing = (async () => {
      stage = await Stage.open(cluster);
      return playRows({ stage, signal, quick: values.quick, log });
    })();
    const version = cluster.withClient(async (client) => client.must('GET', '/version'));
    kubernetes = as<{ gitVersion: string }>(await version).gitVersion;
    rows = await unlessInterrupted(playing);
  } finally {
    await stage?.close().catch(() => undefined);
    await cluster.stop();
  }
  const took = (performance.now() - started) / 1000;
  const report: Report = { machine, kubernetes, haulout: readVersion(), took, rows };
  process.stdout.write(markdown(report));
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, undefined, 2)}\n`);
  const missed = rows.flatMap(({ goals }) => goals).filter((goal) => !isMet(goal));
  for (const goal of missed) log(`missed: ${describeMiss(goal)}`);
  return missed.length === 0 ? 0 : 1;
}

async function playRows(play: Play): Promise<readonly Row[]> {
  const only = values.only === '' ? undefined : values.only.split(',').map(Number);
  const rows: Row[] = [];
  for (const [index, playRow] of ROWS.entries()) {
    if (only === undefined || only.includes(index + 1)) rows.push(await playRow(play));
  }
  return rows;
}

/** What waits for a drain does not know of the interruption: it is left behind, and the cluster stopped under it. */
async function unlessInterrupted<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(new Error('interrupted')));
  if (signal.aborted) reject(new Error('interrupted'));
  return Promise.race([work, promise]);
}

try {
  const lock = join(clusterDirectory(DIR), 'bench.lock');
  process.exit(await withLock(lock, () => log('waiting for another bench to end'), bench));
} catch (error) {
  log(signal.aborted ? 'the bench was interrupted' : `the bench failed: ${errorMessage(error)}`);
  process.exit(signal.aborted ? 130 : 1);
}
