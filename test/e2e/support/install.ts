/** The chart as users install it, except that the operator runs as a process: CRD, RBAC and its ServiceAccount. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { repositoryRoot } from '../../../hack/cluster/lib/paths.ts';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import { nodeMaintenancesPath } from '../../../src/api/names.ts';
import { Api } from './api.ts';
import { eventually } from './eventually.ts';
import { Kubectl, runProgram } from './kubectl.ts';

export const OPERATOR_NAMESPACE = 'haulout';

/** What all kinds of clusters have: an own control plane, kind, or somebody's. */
export interface ClusterFiles {
  readonly dir: string;
  readonly kubeconfig: string;
  readonly binDir: string;
}

/** What a test file is given. */
export interface BedFiles extends ClusterFiles {
  /** Of the operator's ServiceAccount. */
  readonly operatorKubeconfig: string;
  /** The log of an operator that serves several test files. */
  readonly operatorLog?: string;
  /** Its --max-unavailable-nodes. */
  readonly nodesLimit?: string;
  /** Only a control plane of ours has one. */
  readonly auditLog?: string;
}

/** Makes the namespace, or takes it as it is: from now on the API server refuses pods in it that are not `restricted`. */
export async function enforceRestrictedPods(kubectl: Kubectl): Promise<void> {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: OPERATOR_NAMESPACE, labels },
  });
}

/** Installs the chart, or brings it up to date. Returns when the API server serves NodeMaintenances. */
export async function installChart(
  cluster: ClusterFiles,
  values: Readonly<Record<string, string>> = {},
): Promise<void> {
  const settings = Object.entries({ replicaCount: '0', ...values }).flatMap(([key, value]) => [
    '--set',
    `${key}=${value}`,
  ]);
  const { code, stderr } = await runProgram(join(cluster.binDir, 'helm'), [
    'upgrade',
    'haulout',
    join(repositoryRoot, 'charts', 'haulout'),
    '--install',
    `--namespace=${OPERATOR_NAMESPACE}`,
    '--create-namespace',
    `--kubeconfig=${cluster.kubeconfig}`,
    ...settings,
  ]);
  if (code !== 0) throw new Error(`helm upgrade --install: exit code ${code}: ${stderr.trim()}`);
  const api = new Api(cluster.kubeconfig);
  try {
    await eventually(
      'NodeMaintenances are served',
      async () => (await api.request('GET', nodeMaintenancesPath)).status === 200,
    );
  } finally {
    await api.close();
  }
}

/** A kubeconfig of the chart's ServiceAccount, as the operator in a pod would have it. Returns the file. */
export async function operatorKubeconfig(cluster: ClusterFiles): Promise<string> {
  const kubectl = new Kubectl(join(cluster.binDir, 'kubectl'), cluster.kubeconfig);
  const name = (
    await kubectl.run([
      'get',
      'serviceaccount',
      `--namespace=${OPERATOR_NAMESPACE}`,
      '--selector=app.kubernetes.io/name=haulout',
      '--output=jsonpath={.items[0].metadata.name}',
    ])
  ).trim();
  if (name === '') throw new Error(`the chart has made no ServiceAccount in namespace ${OPERATOR_NAMESPACE}`);
  const token = (
    await kubectl.run(['create', 'token', name, `--namespace=${OPERATOR_NAMESPACE}`, '--duration=24h'])
  ).trim();
  const admin = as<{ clusters: unknown }>(parse(readFileSync(cluster.kubeconfig, 'utf8')));
  const clusterName = as<{ clusters: { name: string }[] }>(admin).clusters[0]?.name ?? '';
  const file = join(cluster.dir, 'operator.kubeconfig');
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: admin.clusters,
    users: [{ name: 'operator', user: { token } }],
    contexts: [{ name: 'operator', context: { cluster: clusterName, user: 'operator' } }],
    'current-context': 'operator',
  };
  writeFileSync(file, stringify(document), { mode: 0o600 });
  return file;
}
