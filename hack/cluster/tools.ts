/** `node hack/cluster/tools.ts NAME...`: builds the named tools where they are not yet built, and prints their paths. */
import { ensureTools, isToolName } from './lib/tools.ts';
import { errorMessage } from './lib/untyped.ts';

try {
  const names = process.argv.slice(2).map((name) => {
    if (isToolName(name)) return name;
    throw new Error(`${name} is not among the pinned tools, see hack/cluster/lib/tools.ts`);
  });
  const paths = await ensureTools(names, (line) => void process.stderr.write(`${line}\n`));
  for (const name of names) process.stdout.write(`${paths[name]}\n`);
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exit(1);
}
