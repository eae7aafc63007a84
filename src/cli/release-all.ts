// `haulout release-all`: puts every node back and takes all finalizers off, before the operator goes for good.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { guardWrites } from '../kube/guarded-client.ts';
import { KubeClient } from '../kube/kube-client.ts';
import type { LoadedKubeConfig } from '../kube/kubeconfig.ts';
import { LeaderElector } from '../kube/lease.ts';
import { ServerClock } from '../kube/server-clock.ts';
import { findDeployment, type OwnDeployment } from '../release/deployment.ts';
import { Releaser } from '../release/releaser.ts';
import { systemClock } from '../runtime/clock.ts';
import { nullLogger } from '../runtime/logger.ts';
import { firstContact, loadAccess } from './access.ts';
import { exitCodes, UsageError } from './exit.ts';
import { flagTable, quote, readFlags } from './flag-reader.ts';
import type { ValidateIo } from './validate.ts';
import { readVersion } from './version.ts';

const flags = [
  { name: 'namespace', value: 'NAME', help: 'namespace of the Lease (default $POD_NAMESPACE or haulout)' },
  { name: 'lease-name', value: 'NAME', help: 'name of the Lease (default haulout)' },
  {
    name: 'deployment',
    value: 'NAME',
    help: 'Deployment of the operator in that namespace: scaled to 0 first, and back if the release fails',
  },
  { name: 'timeout', value: 'SECONDS', help: 'when to give up (default 120)' },
  {
    name: 'kubeconfig',
    value: 'FILE',
    help: 'kubeconfig to use (default $KUBECONFIG, ~/.kube/config, the service account of the pod)',
  },
  { name: 'context', value: 'NAME', help: 'context of the kubeconfig (default its current one)' },
] as const;

/** The text of `haulout release-all --help`. */
export const releaseAllHelp = `Usage: haulout release-all [flags]

Puts every node back as it was before maintenance and takes haulout's finalizers off all objects, so that the operator
can be uninstalled. The NodeMaintenance objects stay; an operator that is installed later begins them anew.

It waits for the Lease: no operator may work meanwhile. Those that are not in --deployment have to be ended by hand, and
must not be started again.

Flags (--flag VALUE or --flag=VALUE):
${flagTable(flags)}

Exit code: 0 nothing of haulout is left on the nodes, 1 something is (a list is on standard error), 2 could not start.
`;

interface ReleaseOptions {
  readonly namespace: string;
  readonly leaseName: string;
  readonly deployment: string | undefined;
  readonly timeoutSeconds: number;
  readonly access: LoadedKubeConfig;
}

/**
 * Runs the command.
 * @param args what comes after `release-all`
 * @returns the exit code. Rejects with a UsageError or StartError where it could not begin
 */
export async function releaseAllCommand(
  args: readonly string[],
  io: ValidateIo,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    io.stdout.write(releaseAllHelp);
    return exitCodes.ok;
  }
  const options = parse(args, env);
  const left = await release(options, (line) => io.stdout.write(`${line}\n`));
  if (left.length === 0) {
    io.stdout.write('nothing of haulout is left on the nodes\n');
    return exitCodes.ok;
  }
  io.stderr.write(`haulout: not everything is released:\n${left.map((each) => `  ${each}\n`).join('')}`);
  return exitCodes.failed;
}

function parse(args: readonly string[], env: Readonly<Record<string, string | undefined>>): ReleaseOptions {
  const { given } = readFlags(args, { command: 'release-all', flags });
  for (const [name, value] of given) {
    if (value?.trim() === '')
      throw new UsageError(`--${name} "" cannot be used: write a value, or leave the flag out`);
  }
  const timeout = given.get('timeout') ?? '120';
  if (!/^[1-9]\d{0,5}$/.test(timeout))
    throw new UsageError(`--timeout ${quote(timeout)} cannot be used: write whole seconds, for example 120`);
  const [kubeconfig, context] = [given.get('kubeconfig'), given.get('context')];
  return {
    namespace: given.get('namespace') ?? (env['POD_NAMESPACE'] || 'haulout'),
    leaseName: given.get('lease-name') ?? 'haulout',
    deployment: given.get('deployment'),
    timeoutSeconds: Number(timeout),
    access: loadAccess({ kubeconfig, context }),
  };
}

/** Returns what is left, as sentences. */
async function release(options: ReleaseOptions, say: (line: string) => void): Promise<readonly string[]> {
  const { namespace, leaseName, deployment, timeoutSeconds } = options;
  const clock = new ServerClock(systemClock);
  const late = new AbortController();
  // A pod that is deleted meanwhile brings the operator back as well.
  for (const name of ['SIGTERM', 'SIGINT'] as const)
    process.once(name, () => late.abort(new Error(`ended by ${name}`)));
  const cancel = clock.after(timeoutSeconds * 1000, () => late.abort(new Error('time is over')));
  const client = newClient(options.access, clock);
  const leaseClient = newClient(options.access, clock);
  let toBringBack: OwnDeployment | undefined;
  let elector: LeaderElector | undefined;
  try {
    await firstContact(client, late.signal);
    if (deployment !== undefined) {
      // Before it is stopped: whether it was is not known where no answer comes.
      toBringBack = await findDeployment(client, { namespace, name: deployment }, late.signal);
      await toBringBack?.stop(late.signal);
    }
    const leading = Promise.withResolvers<void>();
    elector = new LeaderElector({
      client: leaseClient,
      namespace,
      name: leaseName,
      identity: `release-all_${hostname()}_${randomUUID().slice(0, 8)}`,
      clock,
      logger: nullLogger,
      onStartedLeading: () => leading.resolve(),
      // Writes are refused from then on, and the Lease is tried again.
      onStoppedLeading: () => {},
    });
    elector.start();
    say(`waiting for Lease ${namespace}/${leaseName}`);
    late.signal.addEventListener('abort', () => leading.resolve(), { once: true });
    await leading.promise;
    const { holder } = elector;
    if (late.signal.aborted)
      return [
        `Lease ${namespace}/${leaseName}: held by ${holder ?? 'nobody that is known'}; end that operator first`,
      ];
    const held = elector;
    const releaser = new Releaser({ client: guardWrites(client, () => held.isLeader()), clock, say });
    const left = await finished(releaser, late.signal);
    if (left.length === 0) toBringBack = undefined;
    return left;
  } finally {
    cancel();
    await elector?.stop();
    const problem = await toBringBack?.bringBack();
    if (problem !== undefined) say(problem);
    await Promise.all([client.close(), leaseClient.close()]);
  }
}

async function finished(releaser: Releaser, signal: AbortSignal): Promise<readonly string[]> {
  try {
    await releaser.run(signal);
  } catch (error) {
    // What was on the wire when the time was over.
    if (!signal.aborted) throw error;
  }
  return releaser.left;
}

function newClient(config: LoadedKubeConfig, clock: ServerClock): KubeClient {
  // Told apart from the operator in the API server's audit log.
  const version = `${readVersion()} (release-all)`;
  return new KubeClient({ access: config, version, clock, logger: nullLogger, onDate: clock.heard });
}
