/** The Node.js that package-lock.json pins, for the image's architecture and not only for this machine's. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from '../cluster/lib/paths.ts';
import { as } from '../cluster/lib/untyped.ts';
import { type Architecture, NODE_PACKAGES } from './arch.ts';
import { run } from './run.ts';

export interface NodeBinary {
  readonly version: string;
  /** With bin/node and LICENSE. */
  readonly directory: string;
}

interface Locked {
  readonly version: string;
  readonly integrity: string;
}

/** The one that is installed, or else the locked package from npm, checked against the lock. */
export async function nodeBinary(arch: Architecture): Promise<NodeBinary> {
  const name = NODE_PACKAGES[arch];
  const lock = as<{ packages: Record<string, Locked> }>(
    JSON.parse(readFileSync(join(repositoryRoot, 'package-lock.json'), 'utf8')),
  );
  const locked = lock.packages[`node_modules/${name}`];
  if (!locked) throw new Error(`package-lock.json has no ${name}`);
  const { version } = locked;
  const installed = join(repositoryRoot, 'node_modules', name);
  if (existsSync(join(installed, 'bin', 'node'))) return { version, directory: installed };
  // npm installs no package of another architecture, so this one is fetched like any other tarball.
  const kept = join(repositoryRoot, '.cache', 'image', `${name}-${version}`);
  if (!existsSync(kept)) await fetchPackage(name, locked, kept);
  return { version, directory: kept };
}

async function fetchPackage(name: string, { version, integrity }: Locked, target: string): Promise<void> {
  const temporary = mkdtempSync(join(tmpdir(), 'haulout-node-'));
  try {
    await run('npm', ['pack', `${name}@${version}`, '--pack-destination', temporary]);
    const [file] = readdirSync(temporary);
    if (file === undefined) throw new Error(`npm pack has made no file of ${name}`);
    const tarball = join(temporary, file);
    const digest = createHash('sha512').update(readFileSync(tarball)).digest('base64');
    if (`sha512-${digest}` !== integrity)
      throw new Error(`${name} ${version} is not the one of package-lock.json: sha512-${digest}`);
    const unfinished = `${target}.${process.pid}`;
    mkdirSync(unfinished, { recursive: true });
    await run('tar', ['-xzf', tarball, '-C', unfinished, '--strip-components=1', '--no-same-owner']);
    rmSync(target, { recursive: true, force: true });
    renameSync(unfinished, target);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}
