/** Go modules of which files are read and nothing is built, pinned below hack/cluster/tools like the programs. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { repositoryRoot } from './paths.ts';
import { as } from './untyped.ts';

/** Where the module lies, in the version that hack/cluster/tools/`tools` pins. @throws if it cannot be had */
export function goModuleDirectory(tools: string, module: string): string {
  const output = execFileSync('go', ['mod', 'download', '-json', module], {
    cwd: join(repositoryRoot, 'hack/cluster/tools', tools),
    env: { ...process.env, GOFLAGS: '-mod=readonly', GOWORK: 'off' },
    encoding: 'utf8',
  });
  return as<{ Dir: string }>(JSON.parse(output)).Dir;
}
