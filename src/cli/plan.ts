// `haulout plan NODE`: what a maintenance of the node would do, without doing it.
import type { NodeMaintenanceSpec } from '../api/types.generated.ts';
import type { Permissions } from '../drain/permissions.ts';
import { KubeClient } from '../kube/kube-client.ts';
import { ServerClock } from '../kube/server-clock.ts';
import { compose } from '../preview/compose.ts';
import { observe } from '../preview/observe.ts';
import { imagine, lookAhead } from '../preview/outlook.ts';
import type { Preview } from '../preview/preview.ts';
import { rehearse } from '../preview/rehearsal.ts';
import { renderJson, renderPreview } from '../preview/text.ts';
import { systemClock } from '../runtime/clock.ts';
import { nullLogger } from '../runtime/logger.ts';
import { loadAccess } from './access.ts';
import { exitCodes, UsageError } from './exit.ts';
import { flagTable, quote, readFlags, readPermissions } from './flag-reader.ts';
import type { ValidateIo } from './validate.ts';
import { readVersion } from './version.ts';

const flags = [
  {
    name: 'filename',
    short: 'f',
    value: 'FILE',
    help: "manifest of the NodeMaintenance, '-' for standard input (default: all its defaults)",
  },
  { name: 'output', short: 'o', value: 'FORMAT', help: 'text or json (default text)' },
  {
    name: 'allow-pod-deletion',
    value: undefined,
    help: 'what the operator is told by its flag of this name (default true; --allow-pod-deletion=false)',
  },
  {
    name: 'allow-deployment-restart',
    value: undefined,
    help: 'the same (default true; --allow-deployment-restart=false)',
  },
  {
    name: 'kubeconfig',
    value: 'FILE',
    help: 'kubeconfig to use (default $KUBECONFIG, ~/.kube/config, the service account of the pod)',
  },
  { name: 'context', value: 'NAME', help: 'context of the kubeconfig (default its current one)' },
] as const;

/** The text of `haulout plan --help`. */
export const planHelp = `Usage: haulout plan NODE [-f FILE] [flags]

Prints what a maintenance of the node would do, and changes nothing: which pods leave, stay or are lost, which budgets
refuse them (evictions are asked for as a dry run), which volumes move, whether the pods fit on other nodes, and how
long it takes. It plans as the operator does. NODE may be left out where the manifest names it.

Flags (--flag VALUE or --flag=VALUE):
${flagTable(flags)}

Exit code: 0 nothing stands in the way, 1 something does, 2 the input or the cluster cannot be used.
`;

interface PlanOptions {
  readonly node: string | undefined;
  readonly file: string | undefined;
  readonly output: 'text' | 'json';
  /** Of the operator. */
  readonly permitted: Permissions;
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
}

/** What is asked about. */
interface Subject {
  readonly node: string;
  /** Of the manifest; `undefined` for the defaults. */
  readonly name: string | undefined;
  readonly spec: NodeMaintenanceSpec;
}

/**
 * Runs the command.
 * @param args what comes after `plan`
 * @returns the exit code. Rejects with a UsageError or StartError where nothing could be planned
 */
export async function planCommand(args: readonly string[], io: ValidateIo): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    io.stdout.write(planHelp);
    return exitCodes.ok;
  }
  const options = parsePlanOptions(args);
  const subject = await findSubject(options, io);
  if (subject === 'invalid') return exitCodes.unusable;
  const preview = await look(subject, options);
  io.stdout.write(options.output === 'json' ? renderJson(preview) : renderPreview(preview));
  return preview.clear ? exitCodes.ok : exitCodes.failed;
}

function parsePlanOptions(args: readonly string[]): PlanOptions {
  const { given, operand } = readFlags(args, { command: 'plan', flags, operand: 'NODE' });
  const output = given.get('output') ?? 'text';
  if (output !== 'text' && output !== 'json') {
    throw new UsageError(`--output ${quote(output)} cannot be used: write text or json`);
  }
  for (const name of ['filename', 'kubeconfig', 'context'] as const) {
    if (given.get(name)?.trim() === '') {
      throw new UsageError(`--${name} "" cannot be used: write a value, or leave the flag out`);
    }
  }
  const file = given.get('filename');
  if (operand === undefined && file === undefined) {
    throw new UsageError('no node given: write haulout plan NODE, or haulout plan -f FILE');
  }
  return {
    node: operand,
    file,
    output,
    permitted: readPermissions(given),
    kubeconfig: given.get('kubeconfig'),
    context: given.get('context'),
  };
}

async function findSubject({ node, file }: PlanOptions, io: ValidateIo): Promise<Subject | 'invalid'> {
  if (file === undefined) {
    const nodeName = node ?? '';
    return { node: nodeName, name: undefined, spec: { nodeName } };
  }
  // Loaded only here: without a manifest no schema compiler is needed.
  const { readMaintenances } = await import('./maintenance-file.ts');
  const maintenances = await readMaintenances(file, io);
  if (maintenances === 'invalid') return 'invalid';
  const where = file === '-' ? 'standard input' : file;
  const nodes = maintenances.map(({ spec }) => spec.nodeName);
  const fitting = maintenances.filter(({ spec }) => node === undefined || spec.nodeName === node);
  const [only, ...others] = fitting;
  if (nodes.length === 0) throw new UsageError(`${where} holds no NodeMaintenance`);
  if (only === undefined) {
    const about = [...new Set(nodes)].join(', ');
    throw new UsageError(
      `${where} is about node ${about} and not ${node ?? ''}: write haulout plan ${nodes[0] ?? ''} -f ${file}, or leave the node out`,
    );
  }
  if (others.length > 0) {
    const advice =
      node === undefined && new Set(nodes).size > 1 ? 'name the node' : 'keep one of them in the file';
    throw new UsageError(`${where} holds ${fitting.length} NodeMaintenances that could be meant: ${advice}`);
  }
  return { node: only.spec.nodeName, name: only.metadata.name, spec: only.spec };
}

async function look({ node, name, spec }: Subject, options: PlanOptions): Promise<Preview> {
  const clock = new ServerClock(systemClock);
  const client = new KubeClient({
    access: loadAccess(options),
    // Told apart from the operator in the API server's audit log.
    version: `${readVersion()} (plan)`,
    clock,
    logger: nullLogger,
    onDate: clock.heard,
  });
  const { signal } = new AbortController();
  try {
    const seen = await observe(client, clock, node, signal);
    // It takes the place of an object of the same name that is there already.
    const others = seen.maintenances.filter(({ metadata }) => metadata.name !== name);
    const scene = { ...seen, maintenances: others };
    const outlook = lookAhead(scene, imagine(name ?? node, spec, scene.now), options.permitted);
    return compose(scene, outlook, await rehearse(client, outlook.leavers, signal), name);
  } finally {
    await client.close();
  }
}
