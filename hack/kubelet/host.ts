/** Whether real nodes can run on this machine, and what they need from its distribution. */
import { accessSync, constants, existsSync, mkdirSync, rmdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { errorMessage } from '../cluster/lib/untyped.ts';
import { run } from '../image/run.ts';
import { hierarchies } from './cgroups.ts';

export const CNI_BIN = '/usr/lib/cni';

/** Debian's package by the file or program that is looked for. */
const NEEDED: Readonly<Record<string, string>> = {
  containerd: 'containerd',
  ctr: 'containerd',
  runc: 'runc',
  buildah: 'buildah',
  ip: 'iproute2',
  nsenter: 'util-linux',
  [join(CNI_BIN, 'ptp')]: 'containernetworking-plugins',
  [join(CNI_BIN, 'host-local')]: 'containernetworking-plugins',
};

/** Why there can be no real node here, for people; undefined where there can. Changes nothing that stays. */
export async function whyNoRealNode(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'a kubelet needs Linux';
  if (process.getuid?.() !== 0) return 'a kubelet needs root';
  if (missing().length > 0 && !isProgram('apt-get'))
    return `${missing().join(', ')} are missing, and there is no apt-get to install them`;
  // The image is made from Debian packages.
  if (!isProgram('apt-get') || !isProgram('dpkg-deb')) return 'the image is built with apt-get and dpkg-deb';
  const found = hierarchies();
  if (found.length === 0) return 'no control groups are mounted';
  for (const { path } of found) {
    const probe = join(path, `haulout-probe-${process.pid}`);
    try {
      mkdirSync(probe);
      rmdirSync(probe);
    } catch (error) {
      return `control groups cannot be made: ${errorMessage(error)}`;
    }
  }
  return undefined;
}

/** Installs what is missing. After it, whatever keeps a node from running is an error and not a reason to skip. */
export async function installPackages(log: (line: string) => void): Promise<void> {
  const packages = missing();
  if (packages.length === 0) return;
  log(`installing ${packages.join(', ')} ...`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', ['-q', 'update'], { env });
  // Never at the price of what is installed: Docker's own packages of containerd stand against Debian's.
  const options = ['--yes', '--no-install-recommends', '--no-remove'];
  await run('apt-get', ['-q', 'install', ...options, ...packages], { env });
  if (missing().length > 0) throw new Error(`installed, and still missing: ${missing().join(', ')}`);
}

function missing(): string[] {
  const absent = Object.entries(NEEDED).filter(([name]) =>
    name.startsWith('/') ? !existsSync(name) : !isProgram(name),
  );
  return [...new Set(absent.map(([, name]) => name))];
}

function isProgram(name: string): boolean {
  const directories = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return directories.some((directory) => {
    try {
      accessSync(join(directory, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
