/** The operator in one file, which needs Node.js and nothing else beside it. */
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { repositoryRoot } from '../cluster/lib/paths.ts';
import { type BundledPackage, bundledPackages, licensesFile } from './packages.ts';
import { fixedVersion, slim } from './slim.ts';

export interface Bundle {
  /** haulout.mjs; its source map is beside it. */
  readonly file: string;
  readonly licenses: string;
  readonly packages: readonly BundledPackage[];
  readonly bytes: number;
}

/** CommonJS packages inside of an ES module still ask for Node's own modules by require. */
const REQUIRE = `import { createRequire as haulout_require } from 'node:module'; const require = haulout_require(import.meta.url);`;

/** The packages that it has something of; nothing is written. */
export async function packagesInBundle(): Promise<readonly BundledPackage[]> {
  return bundledPackages(repositoryRoot, (await compile(repositoryRoot)).metafile);
}

async function compile(outdir: string, more: readonly Plugin[] = []) {
  return build({
    absWorkingDir: repositoryRoot,
    entryPoints: ['src/main.ts'],
    outfile: join(outdir, 'haulout.mjs'),
    bundle: true,
    minify: true,
    keepNames: true, // names of classes and functions are in log lines and stack traces
    platform: 'node',
    format: 'esm',
    target: 'node24',
    mainFields: ['module', 'main'],
    conditions: ['node'],
    banner: { js: REQUIRE },
    sourcemap: 'linked',
    sourcesContent: true,
    legalComments: 'none', // all licences are in a file of their own
    preserveSymlinks: true, // in a work tree node_modules may be a link, and paths are to be the same everywhere
    metafile: true,
    write: false,
    plugins: [slim(repositoryRoot), fixedVersion(repositoryRoot), ...more],
  });
}

/** Writes it into `outdir`. The same sources and packages give the same bytes. `more`: for tests that want another one. */
export async function buildBundle(outdir: string, more: readonly Plugin[] = []): Promise<Bundle> {
  const { metafile, outputFiles } = await compile(outdir, more);
  mkdirSync(outdir, { recursive: true });
  for (const { path, contents } of outputFiles) replace(path, contents);
  const packages = bundledPackages(repositoryRoot, metafile);
  const licenses = join(outdir, 'THIRD-PARTY-LICENSES.txt');
  replace(licenses, licensesFile(packages));
  const file = join(outdir, 'haulout.mjs');
  const bytes = outputFiles.find(({ path }) => path === file)?.contents.length ?? 0;
  return { file, licenses, packages, bytes };
}

/** In one step: somebody may be running the one that is there. */
function replace(file: string, contents: string | Uint8Array): void {
  const unfinished = `${file}.${process.pid}`;
  try {
    writeFileSync(unfinished, contents);
    renameSync(unfinished, file);
  } finally {
    rmSync(unfinished, { force: true });
  }
}
