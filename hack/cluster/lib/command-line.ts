import { type ParseArgsConfig, parseArgs } from 'node:util';
import { errorMessage } from './untyped.ts';

/** What a script was called with. A command line that it does not take ends it with exit code 2, why, and its usage. */
export function commandLine<T extends ParseArgsConfig>(
  usage: string,
  config: T,
): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    const [why = ''] = errorMessage(error).split('. ');
    process.stderr.write(`${why}\nusage: ${usage}\n`);
    process.exit(2);
  }
}
