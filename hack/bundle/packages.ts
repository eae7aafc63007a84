/** The packages of which a bundle has something, from esbuild's own account of what went into it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import { as } from '../cluster/lib/untyped.ts';

export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** SPDX expression, as its package.json has it. */
  readonly license: string;
  readonly homepage: string | undefined;
  /** The text, and that of a NOTICE; empty where the package ships none. */
  readonly texts: readonly string[];
}

/** Those that ask for no more than that their text goes along. */
const PERMISSIVE: readonly string[] = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'];

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly homepage?: string;
}

/** Sorted by name and version; haulout itself is not among them. */
export function bundledPackages(root: string, metafile: Metafile): BundledPackage[] {
  const directories = new Set<string>();
  for (const { inputs } of Object.values(metafile.outputs)) {
    for (const [file, { bytesInOutput }] of Object.entries(inputs)) {
      const directory = bytesInOutput > 0 ? packageDirectory(file) : undefined;
      if (directory !== undefined) directories.add(directory);
    }
  }
  const packages = [...directories].map((directory) => describe(join(root, directory)));
  return packages.toSorted((a, b) => compare(a.name, b.name) || compare(a.version, b.version));
}

/** `node_modules/a/node_modules/@b/c/lib/d.js`: node_modules/a/node_modules/@b/c */
function packageDirectory(file: string): string | undefined {
  return /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];
}

function describe(directory: string): BundledPackage {
  const manifest = as<Manifest>(JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')));
  const { name, version, license, homepage } = manifest;
  // Whoever adds a package without a licence hears of it here, and not from a user.
  if (license === undefined) throw new Error(`${name} ${version} does not say its licence`);
  if (!PERMISSIVE.includes(license)) throw new Error(`${name} ${version}: may ${license} be handed on?`);
  return { name, version, license, homepage, texts: licenseTexts(directory) };
}

export function licenseTexts(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file) && !/\.(js|ts|json)$/.test(file))
    .toSorted(compare)
    .map((file) => readFileSync(join(directory, file), 'utf8').trim());
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** What has to be handed on with the bundle. */
export function licensesFile(packages: readonly BundledPackage[]): string {
  const line = '-'.repeat(80);
  const index = packages.map(({ name, version, license }) => `${name} ${version}: ${license}`);
  const texts = packages.map(({ name, version, license, homepage, texts: own }) =>
    [line, `${name} ${version} (${license})`, homepage ?? '', line, ...own].filter(Boolean).join('\n\n'),
  );
  return ['haulout contains parts of these packages:', index.join('\n'), ...texts, ''].join('\n\n');
}
