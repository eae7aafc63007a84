/** Where the demo runs: a control plane of its own, or fake nodes of its own on the cluster that CLUSTER names. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startCluster, stopCluster } from '../cluster/lib/cluster.ts';
import { closeForeign, type ForeignCluster, openForeign } from '../cluster/lib/foreign.ts';
import { moveIn, moveOut } from '../cluster/lib/guest.ts';
import { KubeClient } from '../cluster/lib/kube-client.ts';
import { createNodes, waitForNodes, workerNames } from '../cluster/lib/nodes.ts';
import { clusterDirectory, repositoryRoot } from '../cluster/lib/paths.ts';
import type { ClusterKind } from '../cluster/lib/which-cluster.ts';
import { confine } from './confine.ts';
import { shown } from './kubectl.ts';

export interface Place {
  /** What the demo leaves there: logs, kubeconfigs. */
  readonly dir: string;
  readonly kubeconfig: string;
  readonly binDir: string;
  /** All made for the demo; the first one goes into maintenance. */
  readonly nodes: readonly [string, ...string[]];
  /** The manifest of what runs on them. */
  readonly shop: string;
  stop(): Promise<void>;
}

type Log = (line: string) => void;

export const DIR = '.cluster-demo';
export const NAMESPACE = 'shop';
const SHOP = 'examples/shop.yaml';
const NODES = 4;

export async function openPlace(kind: ClusterKind, log: Log): Promise<Place> {
  // What is half started must not stay behind when somebody changes their mind.
  const interrupted = (): void => void close(kind, log).finally(() => process.exit(130));
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    // What a killed demo has left, on whatever cluster.
    await moveOut(DIR, log);
    return kind === 'own' ? await ownPlace(log) : await foreignPlace(kind, log);
  } finally {
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
  }
}

async function ownPlace(log: Log): Promise<Place> {
  const { dir, kubeconfig, binDir } = await startCluster({ dir: DIR, nodes: NODES, log });
  const nodes = atLeastOne(workerNames(NODES));
  return { dir, kubeconfig, binDir, nodes, shop: SHOP, stop: async () => close('own', log) };
}

async function foreignPlace(kind: Exclude<ClusterKind, 'own'>, log: Log): Promise<Place> {
  await stopCluster(DIR);
  try {
    const cluster = await openForeign(kind, DIR, log);
    await moveIn(cluster, { purpose: 'demo', namespaces: [NAMESPACE], log });
    const nodes = atLeastOne(workerNames(NODES).map((name) => `haulout-demo-${name}`));
    await addNodes(cluster, nodes);
    log(`${NODES} fake nodes are there for the demo; no other node is touched`);
    const shop = join(clusterDirectory(DIR), 'shop.yaml');
    writeFileSync(shop, confine(readFileSync(join(repositoryRoot, SHOP), 'utf8')));
    return { ...cluster, nodes, shop: shown(shop), stop: async () => close(kind, log) };
  } catch (error) {
    await close(kind, log).catch(() => undefined);
    throw error;
  }
}

async function addNodes({ kubeconfig }: ForeignCluster, names: readonly string[]): Promise<void> {
  const client = new KubeClient(kubeconfig, 'haulout-demo');
  try {
    await createNodes(client, names, {}, 'demo');
    await waitForNodes(client, names, 60_000);
  } finally {
    await client.close();
  }
}

async function close(kind: ClusterKind, log: Log): Promise<void> {
  await moveOut(DIR, log);
  if (kind === 'own') await stopCluster(DIR);
  else await closeForeign(kind, DIR, log);
}

function atLeastOne(names: readonly string[]): readonly [string, ...string[]] {
  const [first, ...rest] = names;
  if (first === undefined) throw new Error('no nodes');
  return [first, ...rest];
}
