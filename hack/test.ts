/**
 * `make test`: every check of the repository. ONLY=unit,types runs just those; CLUSTER=kind or CLUSTER=current runs
 * the end-to-end tests elsewhere than on a control plane of their own. The last line is `N passed, N failed`, and how
 * many were skipped where some were.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { as } from './cluster/lib/untyped.ts';
import { clusterKind } from './cluster/lib/which-cluster.ts';
import { runCommand } from './test/command.ts';
import type { Ended } from './test/command.ts';
import { failures } from './test/failures.ts';
import type { JestReport } from './test/failures.ts';
import { chosenSteps } from './test/steps.ts';
import type { Step } from './test/steps.ts';
import { jestRun, oneStep, summary } from './test/tally.ts';
import type { Tally } from './test/tally.ts';

// Not .cluster: that one belongs to `make cluster` and may be in use.
const clusterDir = '.cluster-test';
const reports = join('.cache', 'test');
const summaryFile = join(reports, 'summary.txt');

const interrupted = new AbortController();

async function main(): Promise<number> {
  process.chdir(join(import.meta.dirname, '..'));
  const isOwn = clusterKind() === 'own';
  const steps = chosenSteps(process.env['ONLY'] ?? '');
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports, { recursive: true });
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interrupted.abort());

  const tallies: Tally[] = [];
  const needsCluster = steps.some((step) => step.needsCluster === true);
  try {
    // Building the control plane takes minutes the first time; all that needs no cluster goes on beside it.
    const cluster = needsCluster ? startCluster(isOwn) : undefined;
    for (const step of steps.filter((one) => one.needsCluster !== true)) tallies.push(await runStep(step));
    if (cluster !== undefined) {
      const started = await cluster;
      tallies.push(report('cluster', 'control plane', oneStep(started.exitCode === 0), started, true));
      for (const step of steps.filter((one) => one.needsCluster === true)) {
        tallies.push(started.exitCode === 0 ? await runStep(step) : notRun(step, 'no cluster'));
      }
    }
  } finally {
    if (needsCluster) await node(['hack/cluster/down.ts', '--dir', clusterDir], 300);
    // A run that was interrupted cannot stop them itself.
    if (steps.some(({ name }) => name === 'kubelet')) await node(['hack/kubelet/down.ts'], 300);
  }
  if (interrupted.signal.aborted) {
    print('interrupted');
    return 130;
  }
  const line = summary(tallies);
  writeFileSync(summaryFile, `${line}\n`);
  print(`\n${line}`);
  return tallies.some(({ failed }) => failed > 0) ? 1 : 0;
}

async function startCluster(isOwn: boolean): Promise<Ended> {
  // A run that was killed may have left one, with its objects in it, of this kind or of our own.
  await node(['hack/cluster/down.ts', '--dir', clusterDir], 300);
  if (!isOwn) await node(['hack/cluster/down.ts', '--dir', clusterDir], 300, undefined, { CLUSTER: '' });
  const nodes = isOwn ? [] : ['--nodes=0'];
  return node(['hack/cluster/up.ts', '--dir', clusterDir, ...nodes], 3_600, (line) => {
    if (line !== '') print(`  cluster | ${line}`);
  });
}

async function runStep(step: Step): Promise<Tally> {
  if (interrupted.signal.aborted) return notRun(step, 'interrupted');
  const reportFile = join(reports, `${step.name}.json`);
  const args = step.isJest === true ? [...step.args, '--json', `--outputFile=${reportFile}`] : step.args;
  if (step.isLive === true) print(`  ...   ${step.title}`);
  const ended = await node(args, step.limitSeconds, step.isLive === true ? print : undefined);
  if (step.isJest !== true) {
    return report(step.name, step.title, oneStep(ended.exitCode === 0), ended, step.isLive === true);
  }
  const jest = readReport(reportFile);
  const tally = jestRun(jest, ended.exitCode);
  return report(step.name, step.title, tally, ended, step.isLive === true, failures(jest ?? {}));
}

/** One line a step, and when something is wrong with it, what failed: its output where nothing shorter tells. */
function report(
  name: string,
  title: string,
  tally: Tally,
  ended: Ended,
  isShown: boolean,
  failed: readonly string[] = [],
): Tally {
  const isOk = tally.failed === 0;
  const counts = tally.passed + tally.failed + tally.skipped > 1 ? `: ${summary([tally])}` : '';
  print(`  ${isOk ? 'ok   ' : 'FAILED'} ${title}${counts} (${ended.seconds.toFixed(1)} s)`);
  if (isOk) return tally;
  const output = isShown ? [] : [ended.output.trimEnd()];
  for (const text of failed.length > 0 ? failed : output) print(text.replaceAll(/^(?=.)/gm, '    '));
  print(`    again: make test ONLY=${name === 'cluster' ? 'e2e' : name}`);
  return tally;
}

function notRun(step: Step, why: string): Tally {
  print(`  FAILED ${step.title}: ${why}`);
  return oneStep(false);
}

function node(
  args: readonly string[],
  limitSeconds: number,
  onLine?: (line: string) => void,
  more: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  // What stops a cluster or nodes has to run to its end after an interruption, too.
  const signal = args[0]?.endsWith('/down.ts') ? new AbortController().signal : interrupted.signal;
  const env = { HAULOUT_TEST_CLUSTER: clusterDir, ...more };
  return runCommand(
    { program: process.execPath, args, env, limitSeconds, ...(onLine === undefined ? {} : { onLine }) },
    signal,
  );
}

function readReport(file: string): JestReport | undefined {
  try {
    return as<JestReport>(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
