/** The operator as a process of its own, started as a user would start it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../../hack/cluster/lib/paths.ts';
import { as, errorMessage } from '../../../hack/cluster/lib/untyped.ts';
import { eventually } from './eventually.ts';

export interface OperatorOptions {
  /** The cluster's directory: logs/NAME.log and pids/NAME.pid are there, so that stopping the cluster stops it too. */
  readonly dir: string;
  readonly name: string;
  /** Of its ServiceAccount. */
  readonly kubeconfig: string;
  readonly identity?: string;
  /** Program and first arguments instead of bin/haulout, which runs the sources. */
  readonly program?: readonly [string, ...string[]];
  /** Added to the command line. */
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The pod that stands for it, as the chart's downward API would name it. */
  readonly pod?: { readonly namespace: string; readonly name: string };
}

export interface LogLine {
  readonly timestamp: string;
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Of the operator that was started last on a cluster, by the cluster's directory. */
const limits = new Map<string, string>();

/** Its --max-unavailable-nodes; `undefined`: this process has started none there. */
export const nodesLimit = (dir: string): string | undefined => limits.get(dir);

export class OperatorProcess {
  readonly name: string;
  readonly identity: string;
  readonly logFile: string;
  readonly #pidFile: string;
  readonly #child: ChildProcess;
  readonly #exit: Promise<Exit>;
  /** Where this process's lines begin: a name that is used again goes on in the same file. */
  readonly #logStart: number;
  #hasExited = false;

  /** Returns at once; `ready` waits. */
  constructor(options: OperatorOptions) {
    this.name = options.name;
    this.identity = options.identity ?? options.name;
    this.logFile = join(options.dir, 'logs', `${options.name}.log`);
    this.#pidFile = join(options.dir, 'pids', `${options.name}.pid`);
    mkdirSync(join(options.dir, 'logs'), { recursive: true });
    mkdirSync(join(options.dir, 'pids'), { recursive: true });
    this.#logStart = existsSync(this.logFile) ? readFileSync(this.logFile, 'utf8').length : 0;
    const log = openSync(this.logFile, 'a');
    const [program, ...first] = options.program ?? [join(repositoryRoot, 'bin', 'haulout')];
    const args = [
      ...first,
      'run',
      `--kubeconfig=${options.kubeconfig}`,
      `--identity=${this.identity}`,
      '--http-address=127.0.0.1:0',
      '--log-level=debug',
      ...(options.flags ?? []),
    ];
    try {
      this.#child = spawn(program, args, {
        stdio: ['ignore', log, log],
        env: { ...process.env, ...podVariables(options.pod), ...options.environment },
      });
    } finally {
      closeSync(log);
    }
    this.#exit = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('exit', (code, signal) => {
        this.#hasExited = true;
        rmSync(this.#pidFile, { force: true });
        resolve({ code, signal });
      });
    });
    this.#exit.catch(() => undefined); // whoever waits for it gets it
    this.#recordPid();
    limits.set(options.dir, limitOf(options.flags));
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  get isRunning(): boolean {
    return !this.#hasExited;
  }

  /** Its log so far, the lines that are JSON. */
  log(): readonly LogLine[] {
    return parseLog(readFileSync(this.logFile, 'utf8').slice(this.#logStart));
  }

  /** The port that it listens on, from its log. */
  port(): number | undefined {
    return this.log()
      .map((line) => line['port'])
      .find((port): port is number => typeof port === 'number');
  }

  /** The answer of one of its HTTP paths; undefined while it does not listen. */
  async http(path: '/healthz' | '/readyz' | '/readyz?verbose' | '/metrics'): Promise<Response | undefined> {
    const port = this.port();
    if (port === undefined) return undefined;
    try {
      return await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(5000) });
    } catch {
      return undefined;
    }
  }

  /** Waits for /readyz: caches in sync, whoever holds the Lease. */
  async ready(timeoutMs = 30_000): Promise<this> {
    await eventually(
      `${this.name} is ready`,
      async () => {
        if (this.#hasExited) throw new Error('it has ended');
        return (await this.http('/readyz'))?.status === 200;
      },
      { timeoutMs, explain: () => this.tail() },
    );
    return this;
  }

  /** Waits for its end and says how it ended. */
  async exited(timeoutMs = 20_000): Promise<Exit> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${this.name} is still there\n${this.tail()}`)), timeoutMs);
    });
    try {
      return await Promise.race([this.#exit, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** SIGTERM; the exit code of an orderly stop is 0. */
  async stop(): Promise<Exit> {
    if (!this.#hasExited) this.#child.kill('SIGTERM');
    return this.exited();
  }

  /** SIGKILL: as when its machine loses power. */
  async kill(): Promise<Exit> {
    if (!this.#hasExited) this.#child.kill('SIGKILL');
    return this.exited();
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  tail(lines = 20): string {
    return tailOf(this.logFile, lines);
  }

  /** As hack/cluster/lib/processes.ts does it: whoever stops the cluster stops this process, and no other of its pid. */
  #recordPid(): void {
    if (this.#child.pid === undefined) return;
    try {
      const stat = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8');
      writeFileSync(this.#pidFile, stat + readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'));
    } catch {
      // It has ended already.
    }
  }
}

const LIMIT = '--max-unavailable-nodes=';

function limitOf(flags: OperatorOptions['flags'] = []): string {
  return flags.findLast((flag) => flag.startsWith(LIMIT))?.slice(LIMIT.length) ?? '10%';
}

function podVariables(pod: OperatorOptions['pod']): Record<string, string> {
  return pod ? { POD_NAMESPACE: pod.namespace, POD_NAME: pod.name } : {};
}

export function parseLog(text: string): readonly LogLine[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return [];
    try {
      return [as<LogLine>(JSON.parse(line))];
    } catch {
      return []; // being written
    }
  });
}

/** The last lines of a log, of those that mention one of the words where words are given. */
export function tailOf(file: string, lines: number, words: readonly string[] = []): string {
  try {
    const all = readFileSync(file, 'utf8').trimEnd().split('\n');
    const some = words.length === 0 ? all : all.filter((line) => words.some((word) => line.includes(word)));
    return some.slice(-lines).join('\n');
  } catch (error) {
    return errorMessage(error);
  }
}
