// Writes everything that is generated, from the CRD and other files; with --check it only says what is stale (exit code 1).
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packagesInBundle } from './bundle/build.ts';
import { generateArgoConfig } from './generate/argo-cd.ts';
import { generateChartCrd } from './generate/chart.ts';
import { generateDashboard } from './generate/dashboard.ts';
import { generateDocs } from './generate/docs.ts';
import { generateMetricsDoc } from './generate/metrics-doc.ts';
import { generateSchemaConst } from './generate/schema-const.ts';
import { parseCrd } from './generate/schema.ts';
import { generateThirdParty } from './generate/third-party.ts';
import { generateValuesTable } from './generate/values-table.ts';
import { generateTypes } from './generate/types.ts';
import { createMetrics } from '../src/runtime/metrics.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const crdPath = 'crds/haulout.dev_nodemaintenances.yaml';
const argoCd = 'gitops/argo-cd';
const healthScript = `${argoCd}/resource_customizations/haulout.dev/NodeMaintenance/health.lua`;

async function main(args: readonly string[]): Promise<number> {
  const unknown = args.filter((arg) => arg !== '--check');
  if (unknown.length > 0) {
    process.stderr.write(
      `generate: unknown argument ${unknown.join(' ')}; usage: hack/generate.ts [--check]\n`,
    );
    return 2;
  }
  const files = await generateAll(readFileSync(join(root, crdPath), 'utf8'));
  const stale = [...files].filter(([path, text]) => current(path) !== text).map(([path]) => path);
  if (args.includes('--check')) {
    for (const path of stale) process.stderr.write(`${path} is stale: run \`make generate\` and commit it\n`);
    return stale.length === 0 ? 0 : 1;
  }
  for (const path of stale) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), files.get(path) ?? '');
    process.stdout.write(`wrote ${path}\n`);
  }
  return 0;
}

/** All generated files: path from the repository's root, and text. */
async function generateAll(crdText: string): Promise<Map<string, string>> {
  const { crd, version, schema } = parseCrd(crdText);
  const files = new Map<string, string>();
  files.set('src/api/types.generated.ts', formatted('types.generated.ts', await generateTypes(schema)));
  files.set('src/api/crd.generated.ts', formatted('crd.generated.ts', generateSchemaConst(schema)));
  for (const chart of ['haulout', 'haulout-crds'] as const) {
    files.set(`charts/${chart}/templates/crd.yaml`, generateChartCrd(crdText, chart));
    const [readme, values] = [`charts/${chart}/README.md`, `charts/${chart}/values.yaml`];
    files.set(readme, generateValuesTable(current(readme) ?? '', current(values) ?? ''));
  }
  const script = readFileSync(join(root, healthScript), 'utf8');
  files.set(`${argoCd}/argocd-cm.yaml`, generateArgoConfig(script));
  files.set('docs/api-reference.md', generateDocs(crd, version, schema));
  files.set('charts/haulout/files/dashboard.json', generateDashboard());
  files.set('docs/third-party.md', generateThirdParty(await packagesInBundle()));
  files.set('docs/metrics.md', await generateMetricsDoc(createMetrics('').registry));
  return files;
}

function current(path: string): string | undefined {
  return existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined;
}

function formatted(name: string, text: string): string {
  return execFileSync(
    join(root, 'node_modules/.bin/biome'),
    ['format', `--stdin-file-path=${join('src/api', name)}`],
    { cwd: root, input: text, encoding: 'utf8' },
  );
}

process.exitCode = await main(process.argv.slice(2));
