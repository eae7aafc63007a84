/** A wall clock of its own for a process, which can be set while it runs: Debian's libfaketime, preloaded. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../../hack/cluster/lib/paths.ts';
import { errorMessage } from '../../../hack/cluster/lib/untyped.ts';
import { downloadLibrary } from '../../../hack/image/debian.ts';
import { NotHere } from './not-here.ts';

const LIBRARY = join(repositoryRoot, '.cache', 'libfaketime.so');

export class WallClock {
  /** For the process. Its monotonic clock stays as it is. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #file: string;

  /** Gets the library where it is missing, without installing anything. Throws NotHere where that cannot be. */
  static async create(dir: string): Promise<WallClock> {
    try {
      await downloadLibrary('libfaketime', 'usr/lib/**/libfaketimeMT.so.1', LIBRARY);
    } catch (error) {
      throw new NotHere(`Debian's libfaketime is not to be had: ${errorMessage(error)}`);
    }
    return new WallClock(join(dir, 'wall-clock'));
  }

  private constructor(file: string) {
    this.#file = file;
    this.set(0);
    this.environment = {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** From now on it is so many seconds ahead of the machine's; behind it where negative. */
  set(seconds: number): void {
    // In one step: the library reads it again at each look at the clock.
    writeFileSync(`${this.#file}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`);
    renameSync(`${this.#file}.new`, this.#file);
  }
}
