// Nothing comes into the build but what the lock file names by its content.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { repositoryRoot } from '../../../hack/cluster/lib/paths.ts';
import { as } from '../../../hack/cluster/lib/untyped.ts';

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
}

interface PackageFile {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
}

const read = (file: string): unknown => JSON.parse(readFileSync(join(repositoryRoot, file), 'utf8'));
const lock = as<{ packages: Readonly<Record<string, Locked>> }>(read('package-lock.json'));
const own = as<PackageFile>(read('package.json'));
const locked = Object.entries(lock.packages).filter(([path]) => path !== '');
const named = (check: (locked: Locked) => boolean): string[] =>
  locked.filter(([, one]) => check(one)).map(([path]) => path);

test('each package is known by a digest of its content, and comes from the registry', () => {
  expect(locked.length).toBeGreaterThan(100);
  expect(named(({ integrity }) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''))).toEqual([]);
  expect(named(({ resolved, link }) => resolved !== undefined || link === true)).toEqual([]);
});

test('each one that is asked for is asked for in one version', () => {
  const { dependencies, devDependencies, optionalDependencies } = own;
  const asked = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies });
  expect(asked.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  for (const [name, version] of asked)
    expect([name, lock.packages[`node_modules/${name}`]?.version]).toEqual([name, version]);
});

test('none that runs something when it is installed may, and none of those is in the operator', () => {
  const scripted = locked.filter(([, { hasInstallScript }]) => hasInstallScript === true);
  for (const [path, { dev }] of scripted) {
    expect([path, own.allowScripts[path.replace(/^.*node_modules\//, '')]]).toEqual([path, false]);
    expect([path, dev]).toEqual([path, true]);
  }
});
