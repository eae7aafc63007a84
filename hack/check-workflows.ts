// Checks the GitHub workflows with actionlint, and that every action is pinned to a commit, with its version beside it.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './cluster/lib/paths.ts';
import { ensureTools } from './cluster/lib/tools.ts';
import { errorMessage } from './cluster/lib/untyped.ts';

const folder = join('.github', 'workflows');
/** `actions/checkout@COMMIT # v1.2.3`, or a workflow of ours. A tag could lead elsewhere tomorrow. */
const pinned = /^(\.\/\S+|[\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/;

async function main(): Promise<void> {
  const files = readdirSync(join(repositoryRoot, folder)).map((name) => join(folder, name));
  const unpinned = files.flatMap((file) => unpinnedIn(file));
  if (unpinned.length > 0)
    throw new Error(`not pinned as OWNER/NAME@COMMIT # vX.Y.Z:\n${unpinned.join('\n')}`);
  const { actionlint } = await ensureTools(['actionlint'], (line) => void process.stderr.write(`${line}\n`));
  // Without the programs that it would call where they happen to be: the same result everywhere.
  const args = ['-no-color', '-shellcheck=', '-pyflakes=', ...files];
  const { status, stdout, stderr } = spawnSync(actionlint, args, { cwd: repositoryRoot, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${stdout}${stderr}`);
  process.stdout.write(`workflows: ${files.length} are right\n`);
}

function unpinnedIn(file: string): string[] {
  const lines = readFileSync(join(repositoryRoot, file), 'utf8').split('\n');
  return lines.flatMap((line, index) => {
    const used = /^\s*(?:- )?uses:\s*(.*?)\s*$/.exec(line)?.[1];
    return used === undefined || pinned.test(used) ? [] : [`${file}:${index + 1}: ${used}`];
  });
}

try {
  await main();
} catch (error) {
  process.stderr.write(`workflows: ${errorMessage(error)}\n`);
  process.exitCode = 1;
}
