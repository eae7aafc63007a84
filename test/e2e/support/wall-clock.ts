/** A wall clock of its own for a process, which can be set while it runs: Debian's libfaketime, preloaded. */
import { existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../../hack/cluster/lib/paths.ts';
import { errorMessage } from '../../../hack/cluster/lib/untyped.ts';
import { ownApt } from '../../../hack/image/debian.ts';
import { run } from '../../../hack/image/run.ts';
import { NotHere } from './not-here.ts';

const CACHE = join(repositoryRoot, '.cache');
const LIBRARY = join(CACHE, 'libfaketime.so');

export class WallClock {
  /** For the process. Its monotonic clock stays as it is. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #file: string;

  /** Gets the library where it is missing, without installing anything. Throws NotHere where that cannot be. */
  static async create(dir: string): Promise<WallClock> {
    if (!existsSync(LIBRARY)) {
      try {
        await download();
      } catch (error) {
        throw new NotHere(`Debian's libfaketime is not to be had: ${errorMessage(error)}`);
      }
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

async function download(): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  const work = mkdtempSync(join(CACHE, 'libfaketime-'));
  try {
    const options = ownApt(join(work, 'apt'));
    await run('apt-get', [...options, '-q', 'update']);
    await run('apt-get', [...options, '-q', 'download', 'libfaketime'], { cwd: work });
    const [deb] = globSync('*.deb', { cwd: work });
    await run('dpkg-deb', ['--extract', deb ?? '', work], { cwd: work });
    const [library] = globSync('usr/lib/**/libfaketimeMT.so.1', { cwd: work });
    renameSync(join(work, library ?? ''), LIBRARY);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
