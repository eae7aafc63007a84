// Checks the alerts without a cluster: promtool reads them, and its tests play time past them.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './cluster/lib/paths.ts';
import { ensureTools } from './cluster/lib/tools.ts';
import { errorMessage } from './cluster/lib/untyped.ts';

const rules = 'charts/haulout/files/alerts.yaml';
const tests = 'test/alerts';

async function main(): Promise<void> {
  const { promtool } = await ensureTools(['promtool'], (line) => process.stderr.write(`${line}\n`));
  run(promtool, ['check', 'rules', '--lint=all', '--lint-fatal', rules]);
  const files = readdirSync(join(repositoryRoot, tests)).map((file) => join(tests, file));
  run(promtool, ['test', 'rules', ...files]);
  process.stdout.write('alerts: their rules and tests are right\n');
}

/** Runs promtool from the repository's root. @throws with what it said if it fails */
function run(promtool: string, args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync(promtool, args, {
    cwd: repositoryRoot,
    encoding: 'utf8',
  });
  if (status === 0) return;
  throw new Error([`promtool ${args.join(' ')}`, stdout, stderr, error?.message].filter(Boolean).join('\n'));
}

try {
  await main();
} catch (error) {
  process.stderr.write(`alerts: ${errorMessage(error)}\n`);
  process.exitCode = 1;
}
