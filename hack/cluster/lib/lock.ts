/** One holder at a time across processes; a lock whose holder has died is taken over. */
import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identityOf, isRunning, type ProcessIdentity } from './identity.ts';
import { as, errorCode } from './untyped.ts';

/** Runs `work` while holding the lock file; `onWait` is called once when somebody else holds it. */
export async function withLock<T>(file: string, onWait: () => void, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  const own = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  writeFileSync(own, JSON.stringify(identityOf(process.pid)));
  let told = false;
  try {
    while (!tryLink(own, file)) {
      const holder = readHolder(file);
      if (!holder || !isRunning(holder)) {
        removeStale(file, `${own}.stale`);
        continue;
      }
      if (!told) onWait();
      told = true;
      await sleep(100);
    }
    removeLeftBehind(file);
    try {
      return await work();
    } finally {
      rmSync(file, { force: true });
    }
  } finally {
    rmSync(own, { force: true });
  }
}

/** What killed processes that held the lock or waited for it have left beside it. */
function removeLeftBehind(file: string): void {
  const beside = `${basename(file)}.`;
  for (const name of readdirSync(dirname(file))) {
    if (!name.startsWith(beside)) continue;
    const path = join(dirname(file), name);
    const owner = readHolder(path);
    if (owner && !isRunning(owner)) rmSync(path, { force: true });
  }
}

/** A link to a file that is complete already: the lock never exists without its holder's identity in it. */
function tryLink(own: string, file: string): boolean {
  try {
    linkSync(own, file);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

function readHolder(file: string): ProcessIdentity | undefined {
  try {
    return as<ProcessIdentity>(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}

/** Moved away first and looked at again: in between another process may have taken the lock over. */
function removeStale(file: string, aside: string): void {
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  const holder = readHolder(aside);
  if (holder && isRunning(holder)) {
    try {
      linkSync(aside, file);
    } catch {
      // A third process took it in this very moment; the first holder finishes its work unlocked.
    }
  }
  rmSync(aside, { force: true });
}
