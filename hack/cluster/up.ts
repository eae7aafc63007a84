/**
 * `make cluster`: starts a cluster and leaves it running.
 *   node hack/cluster/up.ts [--dir .cluster] [--nodes 4]
 * CLUSTER=kind starts kind with as many fake nodes beside its own, CLUSTER=current makes nothing: it only copies the
 * kubeconfig of kubectl's current context.
 */
import { relative } from 'node:path';
import { ensureCluster } from './lib/cluster.ts';
import { commandLine } from './lib/command-line.ts';
import { type ForeignCluster, openForeign, playNodes } from './lib/foreign.ts';
import { KubeClient } from './lib/kube-client.ts';
import { createNodes, waitForNodes, workerNames } from './lib/nodes.ts';
import { errorMessage } from './lib/untyped.ts';
import { clusterKind, exitCodeOf } from './lib/which-cluster.ts';

const { values } = commandLine('node hack/cluster/up.ts [--dir .cluster] [--nodes 4]', {
  options: { dir: { type: 'string', default: '.cluster' }, nodes: { type: 'string', default: '4' } },
});
const { dir } = values;
const nodes = Number(values.nodes);
if (!Number.isInteger(nodes) || nodes < 0) {
  process.stderr.write(`--nodes=${values.nodes} is not a number of nodes\n`);
  process.exit(2);
}
const log = (line: string): void => void process.stdout.write(`${line}\n`);

const shown = (path: string): string => relative(process.cwd(), path);

// What is half started must not stay behind when somebody changes their mind.
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());

async function up(): Promise<{ kubeconfig: string; binDir: string }> {
  const kind = clusterKind();
  if (kind === 'own') return ensureCluster({ dir, nodes, log, signal: interrupted.signal });
  const cluster = await openForeign(kind, dir, log);
  if (kind === 'kind' && nodes > 0) await addNodes(cluster);
  return cluster;
}

async function addNodes(cluster: ForeignCluster): Promise<void> {
  const client = new KubeClient(cluster.kubeconfig, 'haulout-test-bed');
  try {
    await playNodes(cluster, 'cluster');
    await createNodes(client, workerNames(nodes), {}, 'cluster');
    await waitForNodes(client, workerNames(nodes), 60_000);
  } finally {
    await client.close();
  }
}

try {
  const { kubeconfig, binDir } = await up();
  log(`\n  export KUBECONFIG=${shown(kubeconfig)}\n  ${shown(binDir)}/kubectl get nodes\n`);
  process.exit(0);
} catch (error) {
  process.stderr.write(`${interrupted.signal.aborted ? 'interrupted' : errorMessage(error)}\n`);
  process.exit(interrupted.signal.aborted ? 130 : exitCodeOf(error));
}
