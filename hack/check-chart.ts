// Checks the charts without a cluster: lint, its own unit tests, and all that it renders against the schemas of the pinned
// Kubernetes version. Exit code 1 and the tools' own words if something is wrong.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parse } from 'yaml';
import { repositoryRoot } from './cluster/lib/paths.ts';
import { CHART_TOOLS, ensureTools } from './cluster/lib/tools.ts';
import { as } from './cluster/lib/untyped.ts';
import { writeKubernetesSchemas } from './kubernetes-schemas.ts';
import { writeMonitoringSchemas } from './monitoring-schemas.ts';

const chart = 'charts/haulout';
const crdsChart = 'charts/haulout-crds';
/** As Chart.yaml has it. */
const oldestKubernetes = '1.31.0';

/** Values to render with: each switch of the chart in both positions. */
const renderings: readonly object[] = [
  {},
  { replicaCount: 0 },
  { replicaCount: 1, crds: { install: false }, image: { tag: 'dev' } },
  { crds: { keep: false }, serviceAccount: { create: false, name: 'other' } },
  {
    fullnameOverride: 'maintenance',
    serviceAccount: { annotations: { a: 'b' } },
    extraArgs: ['--log-level=debug'],
    imagePullSecrets: [{ name: 'pull' }],
    commonLabels: { team: 'nodes' },
    maxUnavailableNodes: 3,
    allowPodDeletion: false,
    allowDeploymentRestart: false,
    extraEnv: [{ name: 'A', value: 'b' }],
    extraEnvFrom: [{ configMapRef: { name: 'a' } }],
    extraVolumes: [{ name: 'a', emptyDir: {} }],
    extraVolumeMounts: [{ name: 'a', mountPath: '/a' }],
    rbac: { aggregateToView: false, aggregateToEdit: true },
    authorization: { enabled: true, verb: 'maintain' },
    uninstall: { timeoutSeconds: 10 },
    podDisruptionBudget: { maxUnavailable: '50%' },
    networkPolicy: {
      enabled: true,
      ingressFrom: [{ namespaceSelector: {} }],
      extraEgress: [{ ports: [{ port: 3128 }] }],
    },
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'a', whenUnsatisfiable: 'DoNotSchedule' }],
    deploymentAnnotations: { a: 'b' },
    extraObjects: [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-extra' }, data: {} },
    ],
    podAnnotations: { a: 'b' },
    podLabels: { a: 'b' },
    nodeSelector: { a: 'b' },
    tolerations: [],
    affinity: { nodeAffinity: {} },
    priorityClassName: '',
    resources: {},
    monitoring: {
      serviceMonitor: { enabled: true, interval: '15s', labels: { a: 'b' } },
      prometheusRule: { enabled: true, labels: { a: 'b' }, runbookBaseUrl: 'https://example.com' },
      grafanaDashboard: { enabled: true, labels: { a: 'b' }, annotations: { a: 'b' } },
    },
  },
  {
    uninstall: { releaseNodes: false },
    podDisruptionBudget: { enabled: false },
    networkPolicy: { enabled: true },
    rbac: { aggregateToView: false },
    monitoring: { podMonitor: { enabled: true, interval: '15s', labels: { a: 'b' } } },
  },
  {
    networkPolicy: { enabled: true },
    monitoring: {
      secureMetrics: {
        enabled: true,
        certSecret: 'tls',
        authorization: { credentials: { name: 'a', key: 'b' } },
      },
      podMonitor: { enabled: true },
    },
  },
  { monitoring: { secureMetrics: { enabled: true }, serviceMonitor: { enabled: true } } },
];

async function main(): Promise<void> {
  const packaged = versionIn('package.json', 'version');
  for (const each of [chart, crdsChart]) {
    const app = versionIn(join(each, 'Chart.yaml'), 'appVersion');
    if (app !== packaged)
      throw new Error(
        `${each} has appVersion ${app} and package.json version ${packaged}: they must be the same`,
      );
    checkSchema(each);
  }
  const tools = await ensureTools(CHART_TOOLS, (line) => process.stderr.write(`${line}\n`));
  const schemas = mkdtempSync(join(tmpdir(), 'haulout-schemas-'));
  try {
    for (const each of [chart, crdsChart]) {
      run(tools.helm, ['lint', '--strict', '--quiet', each]);
      run(tools['helm-unittest'], ['--strict', each]);
    }
    writeKubernetesSchemas(schemas);
    writeMonitoringSchemas(schemas);
    const location = join(schemas, '{{ .ResourceKind }}{{ .KindSuffix }}.json');
    for (const values of renderings) {
      for (const helm of [tools.helm, tools.helm3]) {
        // What helm 3 takes for the cluster's version depends on how it was built.
        const version = `--kube-version=${oldestKubernetes}`;
        const args = ['template', 'haulout', chart, version, '--namespace=haulout', '--values=-'];
        const manifests = run(helm, args, JSON.stringify(values));
        run(tools.kubeconform, ['-strict', '-schema-location', location, '-'], manifests);
      }
    }
    run(
      tools.kubeconform,
      ['-strict', '-schema-location', location, '-'],
      run(tools.helm, ['template', 'haulout-crds', crdsChart, `--kube-version=${oldestKubernetes}`]),
    );
    process.stdout.write(`charts: lint, unit tests and ${renderings.length} renderings are right\n`);
  } finally {
    rmSync(schemas, { recursive: true });
  }
}

function versionIn(file: string, field: string): string {
  const content: unknown = parse(readFileSync(join(repositoryRoot, file), 'utf8'));
  return String(as<Record<string, unknown>>(content)[field]);
}

/** Every value is in the schema, and nothing else. */
function checkSchema(directory: string): void {
  const values: unknown = parse(readFileSync(join(repositoryRoot, directory, 'values.yaml'), 'utf8'));
  const schema: unknown = JSON.parse(
    readFileSync(join(repositoryRoot, directory, 'values.schema.json'), 'utf8'),
  );
  const { definitions = {} } = as<{ readonly definitions?: Readonly<Record<string, unknown>> }>(schema);
  compare(values, schema, directory, definitions);
}

interface SchemaPart {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly additionalProperties?: unknown;
}

/** Types of Kubernetes: what may be in them need not be listed among the values. */
const FOREIGN = ['#/definitions/resources'];

function compare(
  values: unknown,
  schema: unknown,
  where: string,
  definitions: Readonly<Record<string, unknown>>,
): void {
  const { $ref } = as<SchemaPart>(schema);
  if ($ref !== undefined && FOREIGN.includes($ref)) return;
  const part = $ref === undefined ? schema : definitions[basename($ref)];
  const { properties, additionalProperties } = as<SchemaPart>(part);
  if (properties === undefined) return;
  if (additionalProperties !== false) throw new Error(`${where}: the schema allows unknown keys`);
  // helm hands "global" to every chart.
  const said = Object.keys(properties).filter((key) => key !== 'global');
  const there = as<Record<string, unknown>>(values);
  const [missing] = [
    ...said.filter((key) => !(key in there)).map((key) => `values.yaml lacks ${key}`),
    ...Object.keys(there)
      .filter((key) => !said.includes(key))
      .map((key) => `the schema lacks ${key}`),
  ];
  if (missing !== undefined) throw new Error(`${where}: ${missing}`);
  for (const key of said) compare(there[key], properties[key], `${where}: ${key}`, definitions);
}

/** Runs a tool from the repository's root. @throws with what it said if it fails */
function run(program: string, args: readonly string[], input = ''): string {
  const result = spawnSync(program, args, {
    cwd: repositoryRoot,
    input,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  if (result.status === 0) return result.stdout;
  const said = [result.stdout, result.stderr, result.error?.message].filter(Boolean).join('\n');
  throw new Error(`${basename(program)} ${args.join(' ')}\n${said}`);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`chart: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
