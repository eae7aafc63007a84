/**
 * `make bundle`: dist/haulout.mjs, its source map, and the licences of all that is in it.
 *   node hack/bundle.ts [--outdir dist]
 */
import { join, relative, resolve } from 'node:path';
import { buildBundle } from './bundle/build.ts';
import { commandLine } from './cluster/lib/command-line.ts';
import { repositoryRoot } from './cluster/lib/paths.ts';

const { values } = commandLine('node hack/bundle.ts [--outdir dist]', {
  options: { outdir: { type: 'string' } },
});
const outdir = values.outdir === undefined ? join(repositoryRoot, 'dist') : resolve(values.outdir);
const { file, licenses, packages, bytes } = await buildBundle(outdir);
const shown = (path: string): string => relative(process.cwd(), path);
process.stdout.write(
  `${shown(file)}: ${(bytes / 1e6).toFixed(1)} MB, parts of ${packages.length} packages (${shown(licenses)})\n`,
);
