import { randomUUID } from 'node:crypto';
import { constants, hostname } from 'node:os';
import { closest } from './runtime/closest.ts';
import { exitCodes, explain, UsageError } from './cli/exit.ts';
import { parseRunOptions, runHelp } from './cli/flags.ts';
import { readVersion } from './cli/version.ts';
import { createLogger } from './runtime/logger.ts';
import type { Logger } from './runtime/logger.ts';

const help = `Usage: haulout COMMAND

Takes Kubernetes nodes out of service for maintenance and puts them back.

Commands:
  run                run the operator (haulout run --help lists the flags)
  plan NODE          show what a maintenance of the node would do, changing nothing
  release-all        put all nodes back, before uninstalling
  validate FILE...   check NodeMaintenance manifests without a cluster

  --help, --version
`;

/** Runs the command of `args` and resolves to the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args;
  switch (command) {
    case 'run':
      return run(rest);
    case 'validate': {
      // Loaded only here: the operator needs no schema compiler, and validate no Kubernetes client.
      const { validateCommand } = await import('./cli/validate.ts');
      return validateCommand(rest, { stdout: process.stdout, stderr: process.stderr });
    }
    case 'plan': {
      const { planCommand } = await import('./cli/plan.ts');
      return planCommand(rest, { stdout: process.stdout, stderr: process.stderr });
    }
    case 'release-all': {
      const { releaseAllCommand } = await import('./cli/release-all.ts');
      return releaseAllCommand(rest, { stdout: process.stdout, stderr: process.stderr });
    }
    case '--help':
    case '-h':
    case 'help':
      if (rest[0] === 'plan' || rest[0] === 'validate' || rest[0] === 'release-all')
        return main([rest[0], '--help']);
      process.stdout.write(rest[0] === 'run' ? runHelp : help);
      return exitCodes.ok;
    case '--version':
    case 'version':
      process.stdout.write(`haulout ${readVersion()}\n`);
      return exitCodes.ok;
    case undefined:
      process.stderr.write(help);
      return exitCodes.unusable;
    default: {
      const match = closest(command, ['run', 'plan', 'release-all', 'validate', '--help', '--version']);
      const advice = match === undefined ? 'see haulout --help' : `did you mean haulout ${match}?`;
      throw new UsageError(`unknown command ${JSON.stringify(command.slice(0, 80))}: ${advice}`);
    }
  }
}

async function run(args: readonly string[]): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(runHelp);
    return exitCodes.ok;
  }
  const randomId = randomUUID().slice(0, 8);
  const options = parseRunOptions(args, { env: process.env, hostname: hostname(), randomId });
  const logger = createLogger({ level: options.logLevel });
  // Handlers of single objects catch what can go wrong with an object. What nobody caught is a bug that may have left
  // work half done: the process ends visibly, and a fresh one goes on from what the API holds.
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (error: unknown) => {
      logger.error('crashed: please report this bug', { event, error });
      process.exit(exitCodes.failed);
    });
  }
  const signal = stopOnSignals(logger);
  try {
    const { runOperator } = await import('./operator.ts');
    await runOperator(options, signal, logger);
  } catch (error) {
    // Told to stop before it had begun: what was cut off then is no failure.
    if (signal.aborted && (error === signal.reason || explain(error) !== undefined)) return exitCodes.ok;
    if (explain(error) === undefined) logger.error('failed', { error });
    throw error;
  }
  logger.info('stopped');
  return exitCodes.ok;
}

/** Aborted by the first SIGTERM or SIGINT; the second one ends the process at once. */
function stopOnSignals(logger: Logger): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) {
        logger.warn('second signal: ending at once', { signal: name });
        // As the shell reports a process that a signal ended.
        process.exit(128 + constants.signals[name]);
      }
      logger.info('stopping', { signal: name });
      stop.abort();
    });
  }
  return stop.signal;
}

let exitCode: number;
try {
  exitCode = await main(process.argv.slice(2));
} catch (error) {
  const line = explain(error);
  exitCode = line === undefined ? exitCodes.failed : exitCodes.unusable;
  // A bug: `run` has logged it already.
  if (line === undefined && process.argv[2] !== 'run') console.error(error);
  if (line !== undefined) process.stderr.write(`${line}\n`);
}
// Not process.exitCode: a connection that is still kept open must not hold up the end.
process.exit(exitCode);
