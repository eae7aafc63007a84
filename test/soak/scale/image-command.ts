/** How the image starts the operator: what is measured is what users run. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../../hack/cluster/lib/paths.ts';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import { debianLibrary } from '../../e2e/support/debian-library.ts';

/**
 * What Node.js gives its old objects where the pod has the chart's limit of memory, of 512 MB. Without a limit, and with as
 * much memory as machines for tests have, it would hardly ever collect them.
 */
const CHART_HEAP = '--max-old-space-size=256';

export interface ImageCommand {
  readonly program: readonly [string, ...string[]];
  readonly environment: Readonly<Record<string, string>>;
}

/** The library that the image preloads. Throws NotHere where that cannot be had. */
export async function imageAllocator(): Promise<string> {
  return debianLibrary('libjemalloc2', 'usr/lib/**/libjemalloc.so.2');
}

/** This Node.js with the flags and variables that the image gives its own, the bundle at `file`, and that allocator. */
export function imageCommand(file: string, allocator: string, ...more: readonly string[]): ImageCommand {
  const text = readFileSync(join(repositoryRoot, 'Containerfile'), 'utf8');
  const entrypoint = /^ENTRYPOINT (\[.*\])$/m.exec(text)?.[1];
  const variables = /^ENV (.*)$/m.exec(text)?.[1];
  if (entrypoint === undefined || variables === undefined)
    throw new Error('Containerfile has no ENTRYPOINT or no ENV');
  const [, ...words] = as<string[]>(JSON.parse(entrypoint));
  return {
    program: [process.execPath, CHART_HEAP, ...words.slice(0, -1), ...more, file],
    environment: {
      ...Object.fromEntries(variables.split(' ').map((one) => one.split('=', 2))),
      LD_PRELOAD: allocator,
    },
  };
}
