/** kubectl and helm, as a user types them: each command is shown before it runs. */
import { execFile, spawn } from 'node:child_process';
import { join, relative } from 'node:path';
import { repositoryRoot } from '../cluster/lib/paths.ts';
import { as } from '../cluster/lib/untyped.ts';

export interface Surroundings {
  readonly binDir: string;
  readonly kubeconfig: string;
  /** Aborted when the demo is interrupted: whatever runs then ends. */
  readonly signal: AbortSignal;
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  /** Of the kind that was asked for. */
  readonly object: unknown;
}

export class Kubectl {
  readonly #surroundings: Surroundings;
  readonly #env: NodeJS.ProcessEnv;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
    this.#env = { ...process.env, KUBECONFIG: surroundings.kubeconfig };
  }

  /** The output of kubectl; a failure is an error with kubectl's own words. */
  async run(args: readonly string[], input?: string): Promise<string> {
    return this.#execute('kubectl', args, input);
  }

  async helm(args: readonly string[]): Promise<string> {
    return this.#execute('helm', args);
  }

  async json<T>(args: readonly string[]): Promise<T> {
    return as<T>(JSON.parse(await this.run([...args, '-o', 'json'])));
  }

  /** Calls back with each event of `kubectl get ARGS --watch` until `signal` is aborted; then it resolves. */
  async watch(
    args: readonly string[],
    onEvent: (event: WatchEvent) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const child = spawn(
      this.#program('kubectl'),
      ['get', ...args, '--watch', '--output-watch-events', '-o', 'json'],
      { env: this.#env, cwd: repositoryRoot, stdio: ['ignore', 'pipe', 'pipe'], signal },
    );
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-2000);
    });
    let pending = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      // With --output-watch-events each event is one line.
      const lines = (pending + text).split('\n');
      pending = lines.pop() ?? '';
      for (const line of lines) onEvent(as<WatchEvent>(JSON.parse(line)));
    });
    await new Promise<void>((resolve, reject) => {
      child.once('error', (error) => (signal.aborted ? resolve() : reject(error)));
      child.once('close', (code, killedBy) => {
        if (signal.aborted) resolve();
        else
          reject(
            new Error(`kubectl get ${args.join(' ')} --watch ended (${killedBy ?? code}): ${said.trim()}`),
          );
      });
    });
  }

  async #execute(program: string, args: readonly string[], input?: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const child = execFile(
        this.#program(program),
        args,
        {
          env: this.#env,
          cwd: repositoryRoot,
          maxBuffer: 64 * 1024 * 1024,
          signal: this.#surroundings.signal,
        },
        (error, stdout, stderr) => {
          if (!error) resolve(stdout);
          else if (this.#surroundings.signal.aborted) reject(error);
          else reject(new Error(`${commandLine(program, args)} failed: ${stderr.trim() || error.message}`));
        },
      );
      child.stdin?.end(input ?? '');
    });
  }

  #program(name: string): string {
    return join(this.#surroundings.binDir, name);
  }
}

/** As one would type it in a shell. */
export function commandLine(program: string, args: readonly string[]): string {
  const quoted = args.map((arg) =>
    /^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`,
  );
  return [program, ...quoted].join(' ');
}

/** A path as seen from the repository, where the demo's commands are meant to be typed. */
export function shown(path: string): string {
  return relative(repositoryRoot, path);
}
