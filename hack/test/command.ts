import { spawn } from 'node:child_process';

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** After so many seconds it is stopped and has failed. */
  readonly limitSeconds: number;
  /** Called with every line as it comes; without it the output is kept for the end. */
  readonly onLine?: (line: string) => void;
}

export interface Ended {
  readonly exitCode: number;
  readonly output: string;
  readonly seconds: number;
}

// To a child that was asked to end and does not.
const graceMs = 10_000;

/** Runs a program without standard input. Never rejects: what cannot be started has exit code 127. */
export function runCommand(command: Command, signal: AbortSignal): Promise<Ended> {
  const begin = performance.now();
  return new Promise((resolve) => {
    const child = spawn(command.program, command.args, {
      env: { ...process.env, ...command.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let rest = '';
    const take = (text: string): void => {
      output += text;
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) command.onLine?.(line);
    };
    const kills: NodeJS.Timeout[] = [];
    const stop = (): void => {
      child.kill('SIGTERM');
      kills.push(setTimeout(() => child.kill('SIGKILL'), graceMs));
    };
    kills.push(
      setTimeout(() => {
        take(`stopped: it took longer than ${command.limitSeconds} s\n`);
        stop();
      }, command.limitSeconds * 1_000),
    );
    const end = (exitCode: number): void => {
      for (const timer of kills) clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      if (rest !== '') command.onLine?.(rest);
      resolve({ exitCode, output, seconds: (performance.now() - begin) / 1_000 });
    };
    child.stdout.setEncoding('utf8').on('data', take);
    child.stderr.setEncoding('utf8').on('data', take);
    child.once('error', (error) => {
      take(`${error.message}\n`);
      end(127);
    });
    // `close`, not `exit`: the last lines may still be on their way.
    child.once('close', (code) => {
      end(code ?? 1);
    });
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
