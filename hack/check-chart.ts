// Checks the chart without a cluster: lint, its own unit tests, and all that it renders against the schemas of the pinned
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

const chart = 'charts/haulout';

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
    podAnnotations: { a: 'b' },
    podLabels: { a: 'b' },
    nodeSelector: { a: 'b' },
    tolerations: [],
    affinity: { nodeAffinity: {} },
    priorityClassName: '',
    resources: {},
  },
];

async function main(): Promise<void> {
  const [app, packaged] = [
    versionIn(join(chart, 'Chart.yaml'), 'appVersion'),
    versionIn('package.json', 'version'),
  ];
  if (app !== packaged) {
    throw new Error(
      `Chart.yaml has appVersion ${app} and package.json version ${packaged}: they must be the same`,
    );
  }
  const tools = await ensureTools(CHART_TOOLS, (line) => process.stderr.write(`${line}\n`));
  const schemas = mkdtempSync(join(tmpdir(), 'haulout-schemas-'));
  try {
    run(tools.helm, ['lint', '--strict', '--quiet', chart]);
    run(tools['helm-unittest'], ['--strict', chart]);
    writeKubernetesSchemas(schemas);
    const location = join(schemas, '{{ .ResourceKind }}{{ .KindSuffix }}.json');
    for (const values of renderings) {
      const args = ['template', 'haulout', chart, '--namespace', 'haulout', '--values', '-'];
      const manifests = run(tools.helm, args, JSON.stringify(values));
      run(tools.kubeconform, ['-strict', '-schema-location', location, '-'], manifests);
    }
    process.stdout.write(`chart: lint, unit tests and ${renderings.length} renderings are right\n`);
  } finally {
    rmSync(schemas, { recursive: true });
  }
}

function versionIn(file: string, field: string): string {
  const content: unknown = parse(readFileSync(join(repositoryRoot, file), 'utf8'));
  return String(as<Record<string, unknown>>(content)[field]);
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
