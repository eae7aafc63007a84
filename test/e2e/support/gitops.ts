/** What Argo CD, Flux and Helm make of objects, and the test data beside Argo CD's health.lua. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parse, stringify } from 'yaml';
import { goModuleDirectory } from '../../../hack/cluster/lib/go-modules.ts';
import { repositoryRoot } from '../../../hack/cluster/lib/paths.ts';
import { toolPath } from '../../../hack/cluster/lib/tools.ts';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import { runProgram } from './kubectl.ts';

const customization = join(
  repositoryRoot,
  'gitops/argo-cd/resource_customizations/haulout.dev/NodeMaintenance',
);
export const healthScript = join(customization, 'health.lua');
const casesFile = join(customization, 'health_test.yaml');

/** Set: write what the cluster says into the test data, instead of comparing it with that. */
export const isUpdate = process.env['UPDATE_TESTDATA'] === '1';

export interface Verdict {
  readonly status: string;
  readonly message: string;
}

/** As Argo CD's own tests have it. */
interface HealthCase {
  readonly healthStatus: Verdict;
  readonly inputPath: string;
}

/** Files with the CRDs of Argo CD and Flux that gitops/ and its guide have examples for. @throws if they cannot be had */
export function gitopsCrds(): readonly string[] {
  const argo = goModuleDirectory('gitops-crds', 'github.com/argoproj/argo-cd/v3');
  const flux = goModuleDirectory('gitops-crds', 'github.com/fluxcd/kustomize-controller');
  return [
    join(argo, 'manifests/crds/application-crd.yaml'),
    join(argo, 'manifests/crds/appproject-crd.yaml'),
    join(flux, 'config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml'),
  ];
}

export async function argoHealth(yaml: string): Promise<Verdict> {
  return judge(['lua', healthScript], yaml);
}

export async function kstatusOf(yaml: string): Promise<Verdict> {
  return judge(['kstatus'], yaml);
}

async function judge(args: readonly string[], yaml: string): Promise<Verdict> {
  const { code, stdout, stderr } = await runProgram(toolPath('health'), args, { stdin: yaml });
  if (code !== 0) throw new Error(`health ${args.join(' ')}: ${stderr.trim()}`);
  const { status, message } = as<Verdict>(JSON.parse(stdout));
  return { status, message };
}

export function healthCases(): readonly HealthCase[] {
  return existsSync(casesFile)
    ? as<{ tests: HealthCase[] }>(parse(readFileSync(casesFile, 'utf8'))).tests
    : [];
}

export const inputPath = (name: string): string => `testdata/${name}.yaml`;

const fileOf = (name: string): string => join(customization, inputPath(name));

export function testdata(name: string): string {
  return readFileSync(fileOf(name), 'utf8');
}

/** Writes the files anew of which more has changed than times and identities, and health_test.yaml about all of them. */
export async function writeTestdata(printed: ReadonlyMap<string, string>): Promise<void> {
  mkdirSync(join(customization, 'testdata'), { recursive: true });
  const tests: HealthCase[] = [];
  for (const [name, yaml] of printed) {
    const isKept =
      existsSync(fileOf(name)) && isDeepStrictEqual(comparable(testdata(name)), comparable(yaml));
    if (!isKept) writeFileSync(fileOf(name), yaml);
    tests.push({ healthStatus: await argoHealth(testdata(name)), inputPath: inputPath(name) });
  }
  writeFileSync(casesFile, stringify({ tests }, { lineWidth: 0 }));
}

/** What must be the same in every run. */
export function comparable(yaml: string): unknown {
  return masked(parse(yaml));
}

/** Without what differs from run to run: times, durations, identities, the random part of names. */
function masked(value: unknown): unknown {
  if (typeof value === 'string') return maskedText(value);
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, VARYING.has(key) ? key : masked(inner)]),
  );
}

const VARYING = new Set(['resourceVersion', 'uid', 'activeSeconds']);

export function maskedText(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME')
    .replaceAll(/-[a-z0-9]{6,10}-[a-z0-9]{5}\b/g, '-RANDOM')
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'UID');
}
