// Checks the alerts without a cluster: promtool reads them, its tests play time past them, and the chart gives just them.
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { repositoryRoot } from './cluster/lib/paths.ts';
import { ensureTools } from './cluster/lib/tools.ts';
import { as, errorMessage } from './cluster/lib/untyped.ts';

const chart = 'charts/haulout';
const rules = `${chart}/files/alerts.yaml`;
const tests = 'test/alerts';

async function main(): Promise<void> {
  const { promtool, helm } = await ensureTools(['promtool', 'helm'], (line) =>
    process.stderr.write(`${line}\n`),
  );
  run(promtool, ['check', 'rules', '--lint=all', '--lint-fatal', rules]);
  const files = readdirSync(join(repositoryRoot, tests)).map((file) => join(tests, file));
  run(promtool, ['test', 'rules', ...files]);
  checkRendering(helm);
  process.stdout.write('alerts: their rules and tests are right\n');
}

/** Templates of Helm and of Prometheus look alike: what arrives there has to be what was tested here. */
function checkRendering(helm: string): void {
  const template = 'templates/monitoring-prometheusrule.yaml';
  const enabled = 'monitoring.prometheusRule.enabled=true';
  const rendered = run(helm, ['template', 'haulout', chart, '--show-only', template, '--set', enabled]);
  const { spec } = as<{ readonly spec: unknown }>(parse(rendered));
  const source: unknown = parse(readFileSync(join(repositoryRoot, rules), 'utf8'));
  if (!isDeepStrictEqual(spec, source))
    throw new Error(`the PrometheusRule of the chart is not what ${rules} has`);
}

/** Runs a tool from the repository's root, and gives its output. @throws with what it said if it fails */
function run(program: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: repositoryRoot,
    encoding: 'utf8',
  });
  if (status === 0) return stdout;
  const said = [stdout, stderr, error?.message].filter(Boolean);
  throw new Error([`${basename(program)} ${args.join(' ')}`, ...said].join('\n'));
}

try {
  await main();
} catch (error) {
  process.stderr.write(`alerts: ${errorMessage(error)}\n`);
  process.exitCode = 1;
}
