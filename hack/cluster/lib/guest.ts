/**
 * The demo and the tests on a cluster that may be somebody's. They do not come where haulout is at home already, all
 * namespaces and nodes that they make carry a label, and by that label all of it is found and taken away again, also
 * what a killed run has left.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { evacuateFinalizer, nodeMaintenancesPath } from '../../../src/api/names.ts';
import { type ForeignCluster, playNodes } from './foreign.ts';
import { KubeClient, type KubeObject } from './kube-client.ts';
import { MADE_FOR, type Purpose } from './made-for.ts';
import { clusterDirectory } from './paths.ts';
import { ProcessTable } from './processes.ts';
import { as, errorMessage } from './untyped.ts';

export interface GuestOptions {
  readonly purpose: Exclude<Purpose, 'cluster'>;
  /** Names of namespaces that will be made, besides haulout's: they must not be somebody's. */
  readonly namespaces?: readonly string[];
  readonly log: (line: string) => void;
}

interface Maintenance extends KubeObject {
  readonly spec: { readonly nodeName: string };
}

interface Lease {
  readonly spec?: { readonly holderIdentity?: string; readonly renewTime?: string };
}

const HOME = 'haulout';
const NAMESPACES = '/api/v1/namespaces';
const NODES = '/api/v1/nodes';
const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${HOME}/leases/haulout`;
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodemaintenances.haulout.dev';
const OURS = `?labelSelector=${encodeURIComponent(`${MADE_FOR} in (demo,test)`)}`;
/** What tests put finalizers on. */
const HELD = [
  ['/api/v1', 'pods'],
  ['/api/v1', 'configmaps'],
  ['/apis/apps/v1', 'daemonsets'],
  ['/apis/apps/v1', 'deployments'],
  ['/apis/apps/v1', 'replicasets'],
  ['/apis/apps/v1', 'statefulsets'],
  ['/apis/batch/v1', 'jobs'],
] as const;
/** Written in the cluster's directory while something of ours may be on the cluster. */
const RECORD = 'guest';
const AGENT = 'haulout-test-bed';
/** A holder renews its Lease every two seconds. */
const RENEWED_WITHIN_MS = 6000;
const GONE_MS = 120_000;

/** Afterwards haulout's namespace is there and empty, and fake nodes with the label are played. */
export async function moveIn(cluster: ForeignCluster, options: GuestOptions): Promise<void> {
  await withClient(cluster.kubeconfig, async (client) => {
    await refuseWhereTaken(client, options);
    writeFileSync(join(cluster.dir, RECORD), `${options.purpose}\n`);
    await sweep(client, cluster);
    const labels = { [MADE_FOR]: options.purpose };
    const home = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: HOME, labels } };
    await client.must('POST', NAMESPACES, { body: home });
  });
  await playNodes(cluster, options.purpose);
}

/** Stops what runs in the directory and takes away all that was made on the cluster; nothing happens where nobody moved in. */
export async function moveOut(dir: string, log: (line: string) => void): Promise<void> {
  const path = clusterDirectory(dir);
  if (!existsSync(join(path, RECORD))) return;
  await new ProcessTable(path).killAll();
  const cluster = { dir: path, kubeconfig: join(path, 'kubeconfig'), binDir: join(path, 'bin') };
  try {
    await withClient(cluster.kubeconfig, async (client) => sweep(client, cluster));
  } catch (error) {
    log(`what was made on the cluster is not all gone: ${errorMessage(error)}`);
  }
  rmSync(join(path, RECORD), { force: true });
}

async function refuseWhereTaken(client: KubeClient, { purpose, namespaces = [], log }: GuestOptions) {
  const found = await Promise.all(
    [HOME, ...namespaces].map(async (name) => find<KubeObject>(client, `${NAMESPACES}/${name}`)),
  );
  const taken = found.find((namespace) => namespace !== undefined && !isOurs(namespace));
  if (taken)
    throw new Error(
      `the ${purpose} needs namespace ${taken.metadata.name}, which is somebody's on this cluster`,
    );
  const hasHome = found[0] !== undefined;
  if (!hasHome && (await find(client, CRD)))
    throw new Error(`haulout is installed on this cluster already, and the ${purpose} would change it`);
  if (hasHome && (await isOperatorAlive(client, log)))
    throw new Error(
      'another demo or test runs on this cluster: wait until it has ended; where it was killed, run it again',
    );
}

function isOurs(namespace: KubeObject): boolean {
  const label = namespace.metadata.labels?.[MADE_FOR];
  return label === 'demo' || label === 'test';
}

/** Clocks may differ: somebody is alive who renews. */
async function isOperatorAlive(client: KubeClient, log: (line: string) => void): Promise<boolean> {
  const before = await find<Lease>(client, LEASE);
  if (!before?.spec?.holderIdentity) return false;
  log('an earlier run has left something on the cluster, or is not over: waiting to see which');
  const deadline = Date.now() + RENEWED_WITHIN_MS;
  while (Date.now() < deadline) {
    await sleep(500);
    const now = await find<Lease>(client, LEASE);
    if (now?.spec?.renewTime !== before.spec.renewTime) return true;
  }
  return false;
}

const isHome = ({ metadata }: KubeObject): boolean => metadata.name === HOME;

/** Whatever of ours is there, whoever has left it; no operator need run for it. What cannot go does not keep the rest. */
async function sweep(client: KubeClient, cluster: ForeignCluster): Promise<void> {
  const nodes = await list<KubeObject>(client, `${NODES}${OURS}`);
  const namespaces = await list<KubeObject>(client, `${NAMESPACES}${OURS}`);
  const ended = await Promise.allSettled([
    ...namespaces.filter((one) => !isHome(one)).map(async (one) => removeNamespace(client, one)),
    ...nodes.map(async (node) => removeNode(client, node)),
    ...namespaces.filter(isHome).map(async (one) => removeHome(client, cluster, one, nodes)),
  ]);
  const problems = ended.flatMap((one) => (one.status === 'rejected' ? [errorMessage(one.reason)] : []));
  if (problems.length > 0) throw new Error(problems.join('; '));
}

async function removeHome(
  client: KubeClient,
  cluster: ForeignCluster,
  namespace: KubeObject,
  nodes: readonly KubeObject[],
): Promise<void> {
  const others = await removeMaintenances(client, nodes);
  if (others.length > 0)
    throw new Error(`haulout stays, as somebody uses it: NodeMaintenance ${others.join(', ')}`);
  uninstall(cluster);
  await remove(client, CRD);
  await gone('the CRD', async () => find(client, CRD));
  await removeNamespace(client, namespace);
}

/** The names of those that are about nodes of somebody: to put these back is not for us. */
async function removeMaintenances(client: KubeClient, ours: readonly KubeObject[]): Promise<string[]> {
  const others: string[] = [];
  for (const { metadata, spec } of await list<Maintenance>(client, nodeMaintenancesPath)) {
    const isMadeHere = ours.some((node) => node.metadata.name === spec.nodeName);
    if (!isMadeHere && (await find(client, `${NODES}/${spec.nodeName}`))) {
      others.push(metadata.name);
      continue;
    }
    const path = `${nodeMaintenancesPath}/${metadata.name}`;
    await remove(client, path);
    await dropFinalizers(client, path);
  }
  return others;
}

/** Its pods are on fake nodes, or nowhere: nobody has to be asked. */
async function removeNamespace(client: KubeClient, { metadata }: KubeObject): Promise<void> {
  const path = `${NAMESPACES}/${metadata.name}`;
  await remove(client, path);
  await gone(`namespace ${metadata.name}`, async () => {
    for (const [group, kind] of HELD) await release(client, `${group}/namespaces/${metadata.name}/${kind}`);
    await remove(client, `${path}/pods`, { gracePeriodSeconds: 0 });
    return find(client, path);
  });
}

/** A test that did not come to its end has not taken its finalizers off. */
async function release(client: KubeClient, collection: string): Promise<void> {
  for (const { metadata } of await list<KubeObject>(client, collection)) {
    if (metadata.finalizers !== undefined) await dropFinalizers(client, `${collection}/${metadata.name}`);
  }
}

async function removeNode(client: KubeClient, { metadata }: KubeObject): Promise<void> {
  const path = `${NODES}/${metadata.name}`;
  if (metadata.finalizers?.includes(evacuateFinalizer) === true) await dropFinalizers(client, path);
  await remove(client, path);
}

function uninstall({ binDir, kubeconfig }: ForeignCluster): void {
  const args = [
    'uninstall',
    'haulout',
    `--namespace=${HOME}`,
    '--ignore-not-found',
    `--kubeconfig=${kubeconfig}`,
  ];
  const { status, stderr } = spawnSync(join(binDir, 'helm'), args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`helm ${args.slice(0, -1).join(' ')} failed: ${stderr}`);
}

async function withClient<T>(kubeconfig: string, work: (client: KubeClient) => Promise<T>): Promise<T> {
  const client = new KubeClient(kubeconfig, AGENT);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

async function find<T>(client: KubeClient, path: string): Promise<T | undefined> {
  const { status, body } = await client.request('GET', path);
  if (status === 404) return undefined;
  if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
  return as<T>(body);
}

/** None where the kind itself is not known. */
async function list<T>(client: KubeClient, path: string): Promise<readonly T[]> {
  return (await find<{ items: readonly T[] }>(client, path))?.items ?? [];
}

async function remove(client: KubeClient, path: string, options: object = {}): Promise<void> {
  const { status, body } = await client.request('DELETE', path, { body: options });
  // 409: it is on its way out.
  if (status > 299 && status !== 404 && status !== 409)
    throw new Error(`DELETE ${path}: ${status} ${JSON.stringify(body)}`);
}

async function dropFinalizers(client: KubeClient, path: string): Promise<void> {
  const options = { body: { metadata: { finalizers: null } }, contentType: 'application/merge-patch+json' };
  const { status, body } = await client.request('PATCH', path, options);
  if (status > 299 && status !== 404) throw new Error(`PATCH ${path}: ${status} ${JSON.stringify(body)}`);
}

async function gone(what: string, look: () => Promise<unknown>): Promise<void> {
  const deadline = Date.now() + GONE_MS;
  for (;;) {
    let problem = '';
    try {
      if ((await look()) === undefined) return;
    } catch (error) {
      problem = `: ${errorMessage(error)}`;
    }
    if (Date.now() > deadline) throw new Error(`${what} does not go away${problem}`);
    await sleep(300);
  }
}
