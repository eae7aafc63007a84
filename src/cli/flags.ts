import { logLevels } from '../runtime/logger.ts';
import type { LogLevel } from '../runtime/logger.ts';
import { UsageError } from './exit.ts';
import {
  type Flag,
  type GivenFlags,
  flagTable,
  quote,
  readFlags,
  readPermissions,
  readSwitch,
} from './flag-reader.ts';
import type { Permissions } from '../drain/permissions.ts';
import type { NodeLimit } from '../maintenance/turns.ts';

export interface HttpAddress {
  readonly host: string;
  /** 0: the kernel picks a free one. */
  readonly port: number;
}

/** /metrics over TLS, for those whom the API server lets read it. */
export interface SecureMetricsOptions {
  readonly address: HttpAddress;
  /** Holds tls.crt and tls.key. Unset: a self-made certificate. */
  readonly certDir: string | undefined;
}

/** The settings of `haulout run`, checked. */
export interface RunOptions {
  /** Unset: $KUBECONFIG, then ~/.kube/config, then the service account of the pod. */
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  /** Where the Lease lives. */
  readonly namespace: string;
  /** Who holds the Lease; another one for every process that runs at the same time. */
  readonly identity: string;
  readonly evictionQps: number;
  readonly evictionBurst: number;
  readonly maxUnavailableNodes: NodeLimit;
  readonly permitted: Permissions;
  readonly logLevel: LogLevel;
  readonly httpAddress: HttpAddress;
  /** Unset: /metrics is on `httpAddress`, for everybody. */
  readonly secureMetrics: SecureMetricsOptions | undefined;
  readonly leaderElect: boolean;
  readonly leaseName: string;
  /** Begin with the rights of an administrator, too. */
  readonly allowExcessRights: boolean;
  /** The pod that the process runs in; undefined outside of a cluster. */
  readonly pod: { readonly namespace: string; readonly name: string } | undefined;
}

/** What the flags take their defaults from. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly hostname: string;
  /** Differs from process to process. */
  readonly randomId: string;
}

const flags = [
  {
    name: 'kubeconfig',
    value: 'FILE',
    help: 'kubeconfig to use (default $KUBECONFIG, ~/.kube/config, the service account of the pod)',
  },
  { name: 'context', value: 'NAME', help: 'context of the kubeconfig (default its current one)' },
  { name: 'namespace', value: 'NAME', help: 'namespace of the Lease (default $POD_NAMESPACE or haulout)' },
  { name: 'identity', value: 'TEXT', help: 'holder of the Lease (default $POD_NAME or HOSTNAME_RANDOM)' },
  { name: 'eviction-qps', value: 'NUMBER', help: 'evictions and deletions of pods a second (default 100)' },
  { name: 'eviction-burst', value: 'NUMBER', help: 'as many at once after a pause (default 200)' },
  {
    name: 'max-unavailable-nodes',
    value: 'NUMBER|PERCENT',
    help: 'nodes held out of service at once, never less than one (default 10%)',
  },
  {
    name: 'allow-pod-deletion',
    value: undefined,
    help: 'delete pods where a maintenance asks for it (default true; --allow-pod-deletion=false)',
  },
  {
    name: 'allow-deployment-restart',
    value: undefined,
    help: 'restart Deployments where one asks for it (default true; --allow-deployment-restart=false)',
  },
  { name: 'log-level', value: 'LEVEL', help: `${logLevels.join(', ')} (default info)` },
  {
    name: 'http-address',
    value: 'HOST:PORT',
    help: '/healthz, /readyz and /metrics; port 0 picks one and logs it (default 0.0.0.0:8080)',
  },
  {
    name: 'metrics-secure',
    value: undefined,
    help: '/metrics over TLS instead, for tokens that may get the URL /metrics (default false)',
  },
  {
    name: 'metrics-address',
    value: 'HOST:PORT',
    help: 'where that is; port 0 picks one and logs it (default 0.0.0.0:8443)',
  },
  {
    name: 'metrics-cert-dir',
    value: 'DIR',
    help: 'tls.crt and tls.key for it, read again when they change (default a self-made certificate)',
  },
  {
    name: 'leader-elect',
    value: undefined,
    help: 'work only while holding the Lease (default true; --leader-elect=false)',
  },
  { name: 'lease-name', value: 'NAME', help: 'name of the Lease (default haulout)' },
  {
    name: 'allow-excess-rights',
    value: undefined,
    help: 'begin although the account may do what is never needed, such as read Secrets (default false)',
  },
] as const satisfies readonly Flag[];

type FlagName = (typeof flags)[number]['name'];

/** The text of `haulout run --help`. */
export const runHelp = `Usage: haulout run [flags]

Runs the operator: takes nodes out of service as NodeMaintenance objects ask, and puts them back.

Flags (--flag VALUE or --flag=VALUE):
${flagTable(flags)}

SIGTERM and SIGINT stop it and hand over the Lease; a second one ends it at once.
Exit code: 0 stopped, 1 crashed, 2 could not start (the reason is one line on standard error).
`;

/** Reads the arguments after `run`. Throws a UsageError that says what to write instead. */
export function parseRunOptions(args: readonly string[], surroundings: Surroundings): RunOptions {
  const { given } = readFlags(args, { command: 'run', flags });
  const { env } = surroundings;
  const identity = filled(env['POD_NAME']) ?? `${surroundings.hostname}_${surroundings.randomId}`;
  return {
    kubeconfig: text(given, 'kubeconfig', undefined),
    context: text(given, 'context', undefined),
    namespace: name(given, 'namespace', filled(env['POD_NAMESPACE']) ?? 'haulout', dnsLabel, 63),
    identity: text(given, 'identity', identity),
    evictionQps: number(given, 'eviction-qps', 100, 'a number above 0, for example 100', (n) => n > 0),
    evictionBurst: number(
      given,
      'eviction-burst',
      200,
      'a whole number of at least 1, for example 200',
      (n) => Number.isInteger(n) && n >= 1,
    ),
    maxUnavailableNodes: nodeLimit(given),
    permitted: readPermissions(given),
    logLevel: logLevel(given),
    httpAddress: address(given, 'http-address', '0.0.0.0:8080'),
    secureMetrics: secureMetrics(given),
    leaderElect: readSwitch(given, 'leader-elect', true),
    leaseName: name(given, 'lease-name', 'haulout', dnsSubdomain, 253),
    allowExcessRights: readSwitch(given, 'allow-excess-rights', false),
    pod: ownPod(filled(env['POD_NAMESPACE']), filled(env['POD_NAME'])),
  };
}

function ownPod(podNamespace: string | undefined, podName: string | undefined): RunOptions['pod'] {
  return podNamespace === undefined || podName === undefined
    ? undefined
    : { namespace: podNamespace, name: podName };
}

type Given = GivenFlags<FlagName>;

function wrong(flag: FlagName, value: string, instead: string): UsageError {
  return new UsageError(`--${flag} ${quote(value)} cannot be used: write ${instead}`);
}

function text<T extends string | undefined>(given: Given, flag: FlagName, otherwise: T): string | T {
  const value = given.get(flag);
  if (value === undefined) return otherwise;
  if (value.trim() === '') throw wrong(flag, value, 'a value, or leave the flag out');
  return value;
}

const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const dnsSubdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

function name(given: Given, flag: FlagName, otherwise: string, pattern: RegExp, longest: number): string {
  const value = text(given, flag, otherwise);
  if (pattern.test(value) && value.length <= longest) return value;
  throw wrong(flag, value, `lower-case letters, digits and '-', at most ${longest} characters`);
}

function number(
  given: Given,
  flag: FlagName,
  otherwise: number,
  instead: string,
  fits: (value: number) => boolean,
): number {
  const value = given.get(flag);
  if (value === undefined) return otherwise;
  // Number() also takes '', '0x10' and 'Infinity'.
  if (!/^\d+(\.\d+)?$/.test(value) || !fits(Number(value))) throw wrong(flag, value, instead);
  return Number(value);
}

function nodeLimit(given: Given): NodeLimit {
  const value = given.get('max-unavailable-nodes') ?? '10%';
  const parts = /^(\d{1,9})(%?)$/.exec(value);
  const amount = Number(parts?.[1]);
  if (parts === null || amount < 1) {
    throw wrong('max-unavailable-nodes', value, 'at least 1 or 1%, for example 3 or 10%');
  }
  if (parts[2] === '') return { kind: 'count', count: amount };
  if (amount > 100) throw wrong('max-unavailable-nodes', value, '100% or less');
  return { kind: 'percent', percent: amount };
}

function logLevel(given: Given): LogLevel {
  const value = given.get('log-level') ?? 'info';
  const level = logLevels.find((one) => one === value);
  if (level === undefined) throw wrong('log-level', value, `one of ${logLevels.join(', ')}`);
  return level;
}

function secureMetrics(given: Given): SecureMetricsOptions | undefined {
  if (readSwitch(given, 'metrics-secure', false))
    return {
      address: address(given, 'metrics-address', '0.0.0.0:8443'),
      certDir: text(given, 'metrics-cert-dir', undefined),
    };
  for (const flag of ['metrics-address', 'metrics-cert-dir'] as const)
    if (given.has(flag)) throw new UsageError(`--${flag} is for --metrics-secure: add that, or leave it out`);
  return undefined;
}

function address(given: Given, flag: 'http-address' | 'metrics-address', otherwise: string): HttpAddress {
  const value = given.get(flag) ?? otherwise;
  const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]]*)):(\d{1,5})$/.exec(value);
  const port = Number(parts?.[3]);
  if (parts === null || port > 65_535) {
    throw wrong(flag, value, 'HOST:PORT, for example 127.0.0.1:8080, [::]:8080 or 127.0.0.1:0');
  }
  // ':8080' is how many tools write "every address".
  return { host: parts[1] ?? (parts[2] === '' ? '0.0.0.0' : (parts[2] ?? '0.0.0.0')), port };
}

function filled(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value;
}
