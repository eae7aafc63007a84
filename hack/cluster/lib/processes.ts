/** Long-running processes that outlive the command that started them, each with a pid file and a log. */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRunning, type ProcessIdentity, parsePidFile } from './identity.ts';
import { errorCode } from './untyped.ts';

export interface ProcessSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
}

const POLL_MS = 20;
/** Writes its own identity, then becomes the program. The name is replaced in one step, so that it is never half there. */
const RECORD_AND_BECOME =
  'f=$1; shift; { cat /proc/$$/stat; cat /proc/sys/kernel/random/boot_id; } >"$f.new" && mv "$f.new" "$f" && exec "$@"';

/** The processes of one cluster directory: pids/NAME.pid and logs/NAME.log. */
export class ProcessTable {
  readonly #pids: string;
  readonly #logs: string;

  constructor(dir: string) {
    this.#pids = join(dir, 'pids');
    this.#logs = join(dir, 'logs');
  }

  logFile(name: string): string {
    return join(this.#logs, `${name}.log`);
  }

  names(): string[] {
    if (!existsSync(this.#pids)) return [];
    return readdirSync(this.#pids)
      .filter((file) => file.endsWith('.pid'))
      .map((file) => basename(file, '.pid'));
  }

  /** Starts it detached from this process, its terminal and its standard streams. */
  start(spec: ProcessSpec): void {
    mkdirSync(this.#pids, { recursive: true });
    mkdirSync(this.#logs, { recursive: true });
    rmSync(this.#pidFile(spec.name), { force: true });
    const log = openSync(this.logFile(spec.name), 'a');
    try {
      const child = spawn(
        '/bin/sh',
        ['-c', RECORD_AND_BECOME, 'sh', this.#pidFile(spec.name), spec.command, ...spec.args],
        { detached: true, stdio: ['ignore', log, log], ...(spec.cwd === undefined ? {} : { cwd: spec.cwd }) },
      );
      child.on('error', () => undefined); // shows as "not running" to whoever waits for it
      child.unref();
    } finally {
      closeSync(log);
    }
  }

  identity(name: string): ProcessIdentity | undefined {
    try {
      return parsePidFile(readFileSync(this.#pidFile(name), 'utf8'));
    } catch {
      return undefined;
    }
  }

  isRunning(name: string): boolean {
    const identity = this.identity(name);
    return identity !== undefined && isRunning(identity);
  }

  /** Waits until it has written its pid file; false where it died or never came up. */
  async isStarted(name: string, timeoutMs = 5000): Promise<boolean> {
    const deadline = Date.now() + timeoutMs;
    while (!this.identity(name)) {
      if (Date.now() > deadline) return false;
      await sleep(POLL_MS);
    }
    return this.isRunning(name);
  }

  /** Signals it, waits until it has gone, and kills it when it has not gone after `graceMs`. */
  async stop(name: string, signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL', graceMs = 10_000): Promise<void> {
    const identity = this.identity(name);
    if (identity && isRunning(identity)) {
      send(identity, signal);
      if (!(await hasGone(identity, graceMs))) {
        send(identity, 'SIGKILL');
        if (!(await hasGone(identity, 10_000)))
          throw new Error(`${name} (pid ${identity.pid}) does not go away`);
      }
    }
    rmSync(this.#pidFile(name), { force: true });
  }

  /** Its state is thrown away with the cluster, so nothing is gained by asking politely. */
  async killAll(): Promise<void> {
    await Promise.all(this.names().map(async (name) => this.stop(name, 'SIGKILL')));
  }

  /** The last lines of a log, for an error message. */
  tail(name: string, lines = 5): string {
    try {
      return readFileSync(this.logFile(name), 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
    } catch {
      return '';
    }
  }

  #pidFile(name: string): string {
    return join(this.#pids, `${name}.pid`);
  }
}

function send(identity: ProcessIdentity, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    if (isRunning(identity)) process.kill(identity.pid, signal);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

async function hasGone(identity: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (isRunning(identity)) {
    if (Date.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}
