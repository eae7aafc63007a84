/** kubectl as a person would call it: for what users do. Reading in a loop goes through Api, which starts no process. */
import { spawn } from 'node:child_process';

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program to its end; any exit code is an answer. */
export async function runProgram(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Output> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...options.env },
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? -1, stdout, stderr }));
    child.stdin.on('error', () => undefined); // it may end without having read everything
    child.stdin.end(options.stdin ?? '');
  });
}

export class Kubectl {
  readonly #program: string;
  readonly #kubeconfig: string;

  constructor(program: string, kubeconfig: string) {
    this.#program = program;
    this.#kubeconfig = kubeconfig;
  }

  async try(args: readonly string[], options: RunOptions = {}): Promise<Output> {
    return runProgram(this.#program, ['--kubeconfig', this.#kubeconfig, ...args], options);
  }

  /** Standard output; throws with what kubectl said when it fails. */
  async run(args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.try(args, options);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: exit code ${code}: ${stderr.trim()}`);
    return stdout;
  }

  /** `kubectl apply` of all of them in one call. */
  async apply(...objects: readonly object[]): Promise<void> {
    await this.run(['apply', '-f', '-'], { stdin: asList(objects) });
  }

  /** `kubectl apply` of an object that must be refused: what kubectl says. */
  async applyRefused(...objects: readonly object[]): Promise<string> {
    const { code, stdout, stderr } = await this.try(['apply', '-f', '-'], { stdin: asList(objects) });
    if (code === 0) throw new Error(`accepted, though it should have been refused: ${stdout.trim()}`);
    return stderr;
  }
}

function asList(objects: readonly object[]): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
}
