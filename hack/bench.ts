/**
 * `make bench`: drains by haulout beside drains by kubectl, on clusters of its own that are stopped at the end.
 *   make bench ARGS='[--quick] [--fill] [--json FILE] [ROW...]'
 * Plays all rows, or those that are named (bench/acts.ts). --quick (or BENCH_QUICK=1) leaves out the five minutes that
 * kubectl takes for twenty nodes. --fill writes what was measured into README.md and docs/volumes.md; bench/fill.ts
 * says where. Exit code 1 if a goal is missed.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readVersion } from '../src/cli/version.ts';
import { type Act, actsNamed } from './bench/acts.ts';
import { fillDocuments } from './bench/fill.ts';
import { describeMiss, isMet } from './bench/goals.ts';
import { markdown, type Report, thisMachine } from './bench/report.ts';
import type { NamedRow } from './bench/row.ts';
import { Stage } from './bench/stage.ts';
import { startCluster } from './cluster/lib/cluster.ts';
import { commandLine } from './cluster/lib/command-line.ts';
import { withLock } from './cluster/lib/lock.ts';
import { clusterDirectory } from './cluster/lib/paths.ts';
import { unlessAborted } from './cluster/lib/unless-aborted.ts';
import { as, errorMessage } from './cluster/lib/untyped.ts';

const DIR = '.cluster-bench';
const { values, positionals } = commandLine(`make bench ARGS='[--quick] [--fill] [--json FILE] [ROW...]'`, {
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: ['1', 'true', 'yes'].includes(process.env['BENCH_QUICK'] ?? '') },
    json: { type: 'string' },
    fill: { type: 'boolean', default: false },
  },
});

// A few cores play a whole control plane: a fifth of their time would go into garbage, with memory left over.
process.env['GOGC'] ??= '400';

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
const { signal } = interrupted;
const log = (line: string): void => void process.stderr.write(`${line}\n`);

async function bench(acts: readonly Act[]): Promise<number> {
  const machine = thisMachine();
  const started = performance.now();
  const played = [
    ...(await playOn(acts.filter((act) => act.volumes === undefined))),
    ...(await playOn(acts.filter((act) => act.volumes !== undefined))),
  ];
  const took = (performance.now() - started) / 1000;
  const rows = played.flatMap((part) => part.rows);
  const report: Report = {
    machine,
    kubernetes: played[0]?.kubernetes ?? '',
    haulout: readVersion(),
    took,
    rows,
  };
  process.stdout.write(markdown(report));
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, undefined, 2)}\n`);
  if (values.fill) for (const line of fillDocuments(report)) log(line);
  const missed = rows.flatMap(({ goals }) => goals).filter((goal) => !isMet(goal));
  for (const goal of missed) log(`missed: ${describeMiss(goal)}`);
  return missed.length === 0 ? 0 : 1;
}

interface Played {
  readonly kubernetes: string;
  readonly rows: readonly NamedRow[];
}

/** All of them on one new cluster; with volumes where they want some, and then without nodes. */
async function playOn(acts: readonly Act[]): Promise<readonly Played[]> {
  const [first] = acts;
  if (!first) return [];
  const { volumes } = first;
  const cluster = await startCluster({ dir: DIR, nodes: 0, signal, log, ...(volumes && { volumes }) });
  let stage: Stage | undefined;
  try {
    const playing = (async () => {
      stage = await (volumes ? Stage.openEmpty(cluster) : Stage.open(cluster));
      const rows: NamedRow[] = [];
      for (const { name, play } of acts)
        rows.push({ name, ...(await play({ stage, signal, quick: values.quick, log })) });
      return rows;
    })();
    const version = await cluster.withClient(async (client) => client.must('GET', '/version'));
    return [
      {
        kubernetes: as<{ gitVersion: string }>(version).gitVersion,
        rows: await unlessAborted(playing, signal),
      },
    ];
  } finally {
    await stage?.close().catch(() => undefined);
    await cluster.stop();
  }
}

try {
  const acts = actsNamed(positionals);
  const lock = join(clusterDirectory(DIR), 'bench.lock');
  process.exit(
    await withLock(
      lock,
      () => log('waiting for another bench to end'),
      async () => bench(acts),
    ),
  );
} catch (error) {
  log(signal.aborted ? 'the bench was interrupted' : `the bench failed: ${errorMessage(error)}`);
  process.exit(signal.aborted ? 130 : 1);
}
