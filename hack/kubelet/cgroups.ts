/**
 * Control groups of a node. Each kubelet has a root of its own: it removes what it finds there and does not know, so that
 * two with one root would end each other's pods. All processes of a node are below it, and are found there at the end.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../cluster/lib/untyped.ts';

export interface Hierarchy {
  readonly path: string;
  /** `cpuset,cpu`; of version 2 empty. */
  readonly controllers: string;
  readonly version: 1 | 2;
}

const KILLED_MS = 10_000;

/** Those of version 1, or one of version 2, or both. */
export function hierarchies(): Hierarchy[] {
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '));
  const first = mounts.filter(([, , type]) => type === 'cgroup');
  // Beside version 1 there may be one of version 2, in which runc makes groups, too.
  const second = mounts.filter(([, , type]) => type === 'cgroup2');
  return [
    ...first.map(([, path = '']) => ({
      path,
      controllers: path.slice(path.lastIndexOf('/') + 1),
      version: 1 as const,
    })),
    ...second.map(([, path = '']) => ({ path, controllers: '', version: 2 as const })),
  ];
}

export class NodeCgroup {
  /** For the kubelet's configuration. */
  readonly root: string;

  constructor(name: string) {
    this.root = `/haulout-${name}`;
  }

  create(): void {
    for (const hierarchy of hierarchies()) {
      for (const path of [this.root, join(this.root, 'system')]) {
        const directory = join(hierarchy.path, path);
        mkdirSync(directory, { recursive: true });
        if (hierarchy.controllers === 'cpuset') inheritCpus(directory);
      }
    }
  }

  /** The files to which a process writes its pid to become part of the node. */
  get systemProcs(): string[] {
    return hierarchies().map(({ path }) => join(path, this.root, 'system', 'cgroup.procs'));
  }

  /** Of all containers of a pod, and its sandbox. */
  pidsOfPod(uid: string): number[] {
    // The cgroupfs driver names the group by the uid as it is.
    const directories = this.#directories().filter((path) => path.includes(`/pod${uid}`));
    return [...new Set(directories.flatMap(pidsIn))];
  }

  /** Ends every process below it, and removes it. */
  async remove(): Promise<void> {
    const deadline = Date.now() + KILLED_MS;
    for (;;) {
      const pids = new Set(this.#directories().flatMap(pidsIn));
      if (pids.size === 0) break;
      if (Date.now() > deadline) throw new Error(`${this.root} still has processes: ${[...pids].join(', ')}`);
      for (const pid of pids) kill(pid);
      await sleep(20);
    }
    // Children first.
    for (const directory of this.#directories().toSorted((a, b) => b.length - a.length)) {
      for (;;) {
        try {
          rmdirSync(directory);
          break;
        } catch (error) {
          // The last process is gone a moment before its group is free.
          if (errorCode(error) !== 'EBUSY' || Date.now() > deadline) throw error;
          await sleep(20);
        }
      }
    }
  }

  #directories(): string[] {
    return hierarchies()
      .map(({ path }) => join(path, this.root))
      .filter((path) => existsSync(path))
      .flatMap((path) => [path, ...directoriesBelow(path)]);
  }
}

/** Without processors and memory a group of version 1 takes no process. */
function inheritCpus(directory: string): void {
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    const own = join(directory, file);
    if (existsSync(own) && readFileSync(own, 'utf8').trim() === '')
      writeFileSync(own, readFileSync(join(directory, '..', file), 'utf8'));
  }
}

function directoriesBelow(path: string): string[] {
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => [join(path, name), ...directoriesBelow(join(path, name))]);
}

function pidsIn(directory: string): number[] {
  try {
    const text = readFileSync(join(directory, 'cgroup.procs'), 'utf8');
    return text.split('\n').filter(Boolean).map(Number);
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENODEV') return []; // removed meanwhile
    throw error;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}
