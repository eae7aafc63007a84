/** Programs of the system, run to their end. */
import { execFile } from 'node:child_process';
import { errorCode } from '../cluster/lib/untyped.ts';

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutSeconds?: number;
}

const LIMIT_SECONDS = 600;

/** Its standard output. Throws with what it said on standard error where it fails. */
export async function run(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const { cwd, env, timeoutSeconds = LIMIT_SECONDS } = options;
  return new Promise((resolve, reject) => {
    const settings = {
      encoding: 'utf8' as const,
      maxBuffer: 64 * 1024 * 1024,
      timeout: timeoutSeconds * 1000,
      env: { ...process.env, ...env },
      ...(cwd === undefined ? {} : { cwd }),
    };
    execFile(program, args, settings, (error, stdout, stderr) => {
      if (!error) resolve(stdout);
      else if (errorCode(error) === 'ENOENT') reject(new Error(`${program} is missing`));
      else reject(new Error(`${program} ${args.join(' ')} failed: ${(stderr || error.message).trim()}`));
    });
  });
}
