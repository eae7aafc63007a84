/** Where things are, whatever directory a script is started from. */
import { isAbsolute, join, resolve } from 'node:path';

export const repositoryRoot = resolve(import.meta.dirname, '..', '..', '..');
export const configDirectory = join(repositoryRoot, 'hack', 'cluster', 'config');

/** A cluster's directory: as given, below the repository when relative; `.cluster` when not given. */
export function clusterDirectory(dir = '.cluster'): string {
  return isAbsolute(dir) ? dir : join(repositoryRoot, dir);
}
