/** A wall clock of its own for a process, which can be set while it runs: Debian's libfaketime, preloaded. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { debianLibrary } from './debian-library.ts';

export class WallClock {
  /** For the process. Its monotonic clock stays as it is. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #file: string;

  /** Gets the library where it is missing, without installing anything. Throws NotHere where that cannot be. */
  static async create(dir: string): Promise<WallClock> {
    const library = await debianLibrary('libfaketime', 'usr/lib/**/libfaketimeMT.so.1');
    return new WallClock(library, join(dir, 'wall-clock'));
  }

  private constructor(library: string, file: string) {
    this.#file = file;
    this.set(0);
    this.environment = {
      LD_PRELOAD: library,
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
