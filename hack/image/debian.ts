/** The few Debian packages that Node.js needs, of the release that this machine runs, for any architecture. */
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Architecture } from './arch.ts';
import { run } from './run.ts';

/** No shell, no package manager; gcc-12-base only holds the copyright of the two libraries of gcc. */
const PACKAGES = ['libc6', 'libgcc-s1', 'libstdc++6', 'ca-certificates', 'tzdata'];
/** What Containerfile preloads. */
const ALLOCATOR = 'libjemalloc2';

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  readonly sha256: string;
  readonly file: string;
  /** As dpkg keeps it: what scanners look for. */
  readonly control: string;
}

export interface DebianPackages {
  readonly base: readonly DebianPackage[];
  readonly allocator: DebianPackage;
}

/**
 * Downloads them with apt, which checks signatures, in a state of its own: nothing of the machine's is changed, and the
 * machine's own architecture does not matter.
 */
export async function downloadPackages(arch: Architecture, directory: string): Promise<DebianPackages> {
  const debs = join(directory, 'debs');
  mkdirSync(debs, { recursive: true });
  const options = ownApt(join(directory, 'apt'), [
    `APT::Architecture=${arch}`,
    `APT::Architectures=${arch}`,
    'Dir::State::status=/dev/null',
  ]);
  await run('apt-get', [...options, '-q', 'update']);
  const names = [...PACKAGES, ALLOCATOR, await gccBase(options)];
  await run('apt-get', [...options, '-q', 'download', ...names], { cwd: debs });
  const files = readdirSync(debs).toSorted();
  const all = await Promise.all(files.map(async (file) => describe(join(debs, file))));
  const allocator = all.find(({ name }) => name === ALLOCATOR);
  if (allocator === undefined) throw new Error(`apt downloaded no ${ALLOCATOR}`);
  return { base: all.filter((one) => one !== allocator), allocator };
}

/**
 * The file that matches `pattern` in the machine's own version of a package, put to `target`. Nothing is installed, and
 * what is there already is taken.
 */
export async function downloadLibrary(name: string, pattern: string, target: string): Promise<void> {
  if (existsSync(target)) return;
  mkdirSync(dirname(target), { recursive: true });
  const work = mkdtempSync(`${target}-`);
  try {
    const options = ownApt(join(work, 'apt'));
    await run('apt-get', [...options, '-q', 'update']);
    await run('apt-get', [...options, '-q', 'download', name], { cwd: work });
    const [deb] = globSync('*.deb', { cwd: work });
    await run('dpkg-deb', ['--extract', deb ?? '', work], { cwd: work });
    copyFound(work, pattern, `${target}.new`);
    renameSync(`${target}.new`, target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The file of an extracted package that matches `pattern`, whatever the architecture. */
export function copyFound(extracted: string, pattern: string, target: string): void {
  const [found] = globSync(pattern, { cwd: extracted });
  if (found === undefined) throw new Error(`the package has no ${pattern}`);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(join(extracted, found), target);
}

/** Options for apt: its own lists and cache in that directory, instead of the machine's. */
export function ownApt(state: string, more: readonly string[] = []): string[] {
  for (const path of [join(state, 'lists', 'partial'), join(state, 'cache', 'archives', 'partial')])
    mkdirSync(path, { recursive: true });
  return [
    ...more,
    `Dir::State::Lists=${join(state, 'lists')}`,
    `Dir::Cache=${join(state, 'cache')}`,
    // The user of apt may not write into a directory of somebody else's.
    'APT::Sandbox::User=root',
    'Acquire::Languages=none',
  ].flatMap((option) => ['-o', option]);
}

/** Its name holds the version of gcc, which another release of Debian has another one of. */
async function gccBase(options: readonly string[]): Promise<string> {
  const found = /^\s*Depends: (gcc-[\d]+-base)/m.exec(
    await run('apt-cache', [...options, 'depends', 'libgcc-s1']),
  );
  if (found?.[1] === undefined) throw new Error('libgcc-s1 depends on no gcc-N-base');
  return found[1];
}

async function describe(file: string): Promise<DebianPackage> {
  const control = await run('dpkg-deb', ['--field', file]);
  const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(control)?.[1] ?? '';
  return {
    name: field('Package'),
    version: field('Version'),
    architecture: field('Architecture'),
    sha256: createHash('sha256').update(readFileSync(file)).digest('hex'),
    file,
    control,
  };
}
