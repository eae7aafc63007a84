/**
 * The rules of the chart beside what the operator did with them in the whole run: what was used is written down by each
 * test file, as clusters of their own are gone when the run ends, and compared once all have run.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { repositoryRoot } from '../../../hack/cluster/lib/paths.ts';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import type { AuditEntry } from './audit.ts';
import { OPERATOR_NAMESPACE } from './install.ts';
import { runProgram } from './kubectl.ts';
import { STATE_VARIABLE } from './variables.ts';

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules?: readonly Rule[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** A test file that has a cluster to look at. */
const usesBed = /\b(?:shared|own)TestBed\(/;
const testFiles = join(repositoryRoot, 'test', 'e2e');
const OPERATOR = `system:serviceaccount:${OPERATOR_NAMESPACE}:haulout`;

/** `verb group/resource`, each once. */
export function permissionsOf(rules: readonly Rule[]): Set<string> {
  return new Set(
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`)),
      ),
    ),
  );
}

/** What the operator's ServiceAccount did and was let do. */
export function permissionsUsed(entries: readonly AuditEntry[]): Set<string> {
  const used = new Set<string>();
  for (const { user, verb, objectRef, responseStatus } of entries) {
    const refused = responseStatus?.code === 401 || responseStatus?.code === 403;
    if (user.username !== OPERATOR || objectRef === undefined || refused) continue;
    const { apiGroup = '', resource, subresource } = objectRef;
    used.add(`${verb} ${apiGroup}/${resource}${subresource === undefined ? '' : `/${subresource}`}`);
  }
  return used;
}

/** One sentence for each difference; `isWhole`: all tests have run, so what was not used never is. */
export function compareRules(
  granted: ReadonlySet<string>,
  used: ReadonlySet<string>,
  isWhole: boolean,
): string[] {
  return [
    ...[...used]
      .filter((each) => !granted.has(each))
      .map((each) => `used, and not in the rules of the chart: ${each}`),
    ...[...granted]
      .filter((each) => isWhole && !used.has(each))
      .map((each) => `in the rules of the chart, and never used: ${each}`),
  ].toSorted();
}

/** Begins a run in which nothing has been used. */
export function forgetUse(state: string): void {
  rmSync(useDirectory(state), { recursive: true, force: true });
  mkdirSync(useDirectory(state), { recursive: true });
}

/** Writes down what was used while the tests of a file ran. */
export function recordUse(file: string, entries: readonly AuditEntry[]): void {
  const state = process.env[STATE_VARIABLE];
  if (state === undefined) return;
  const name = join(useDirectory(state), `${basename(file)}.json`);
  writeFileSync(name, JSON.stringify([...permissionsUsed(entries)].toSorted()));
}

/** Throws with the differences. `filtered`: single tests were chosen by their names. */
export async function checkRules(
  state: string,
  helm: string,
  filtered: boolean,
  say: (line: string) => void,
): Promise<void> {
  const recorded = readdirSync(useDirectory(state));
  const missing = readdirSync(testFiles)
    .filter((file) => file.endsWith('.test.ts') && usesBed.test(readFileSync(join(testFiles, file), 'utf8')))
    .filter((file) => !recorded.includes(`${file}.json`));
  const isWhole = missing.length === 0 && !filtered;
  const used = new Set(
    recorded.flatMap((file) =>
      as<string[]>(JSON.parse(readFileSync(join(useDirectory(state), file), 'utf8'))),
    ),
  );
  const differences = compareRules(await grantedPermissions(helm), used, isWhole);
  if (differences.length > 0) throw new Error(`RBAC and the audit log differ:\n${differences.join('\n')}`);
  const whether = isWhole ? '' : '; whether all of them are needed is not checked, as not all tests have run';
  say(`RBAC: all ${used.size} permissions that were used are in the rules of the chart${whether}`);
}

/** All that the chart ever grants to the operator's ServiceAccount, with every option that needs a permission. */
async function grantedPermissions(helm: string): Promise<Set<string>> {
  const chart = join(repositoryRoot, 'charts', 'haulout');
  const options = ['--set=monitoring.secureMetrics.enabled=true', '--kube-version=1.31.0'];
  const args = ['template', 'haulout', chart, `--namespace=${OPERATOR_NAMESPACE}`, ...options];
  const { code, stdout, stderr } = await runProgram(helm, args);
  if (code !== 0) throw new Error(`helm template: exit code ${code}: ${stderr.trim()}`);
  const manifests = parseAllDocuments(stdout).map((document) => as<Manifest | null>(document.toJS()));
  const bound = manifests.flatMap((each) =>
    each?.roleRef ? [`${each.roleRef.kind} ${each.roleRef.name}`] : [],
  );
  const roles = manifests.filter((each) => bound.includes(`${each?.kind} ${each?.metadata.name}`));
  return permissionsOf(roles.flatMap((each) => each?.rules ?? []));
}

function useDirectory(state: string): string {
  return join(dirname(state), 'rbac-used');
}
