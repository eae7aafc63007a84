/** Libraries to preload, from this machine's version of Debian. */
import { join } from 'node:path';
import { repositoryRoot } from '../../../hack/cluster/lib/paths.ts';
import { errorMessage } from '../../../hack/cluster/lib/untyped.ts';
import { downloadLibrary } from '../../../hack/image/debian.ts';
import { NotHere } from './not-here.ts';

/** The file that matches `pattern` in that package, without installing anything. Throws NotHere where that cannot be. */
export async function debianLibrary(name: string, pattern: string): Promise<string> {
  const file = join(repositoryRoot, '.cache', `${name}.so`);
  try {
    await downloadLibrary(name, pattern, file);
  } catch (error) {
    throw new NotHere(`Debian's ${name} is not to be had: ${errorMessage(error)}`);
  }
  return file;
}
