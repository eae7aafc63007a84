/** Clusters that are not made of our own processes: kind where Docker is, or whatever kubectl points at. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openCluster, stopCluster } from './cluster.ts';
import { fakeNodes } from './control-plane.ts';
import { KubeClient } from './kube-client.ts';
import { createNodes, waitForNodes, workerNames } from './nodes.ts';
import { clusterDirectory } from './paths.ts';
import { ProcessTable } from './processes.ts';
import { ensureTools } from './tools.ts';

export interface ForeignCluster {
  readonly kubeconfig: string;
  readonly binDir: string;
}

const KIND_NAME = 'haulout';

/** A kind cluster with the same fake nodes beside its own one, which is kept free of test pods by a taint. */
export async function startKind(
  dir: string,
  nodes: number,
  log: (line: string) => void,
): Promise<ForeignCluster> {
  if (spawnSync('docker', ['info'], { stdio: 'ignore' }).status !== 0) {
    throw new Error('CLUSTER=kind needs a running Docker, and `docker info` fails');
  }
  const path = clusterDirectory(dir);
  const cluster = { kubeconfig: join(path, 'kubeconfig'), binDir: join(path, 'bin') };
  const tools = await ensureTools(['kind', 'kubectl', 'kwok', 'helm'], log);
  const existing = capture(tools.kind, ['get', 'clusters']).split('\n');
  await stopCluster(dir);
  const processes = new ProcessTable(path);
  mkdirSync(path, { recursive: true });
  if (existing.includes(KIND_NAME)) {
    run(tools.kind, ['export', 'kubeconfig', '--name', KIND_NAME, '--kubeconfig', cluster.kubeconfig]);
  } else {
    run(tools.kind, [
      'create',
      'cluster',
      '--name',
      KIND_NAME,
      '--kubeconfig',
      cluster.kubeconfig,
      '--wait',
      '120s',
    ]);
  }
  link(cluster.binDir, tools);
  const taint = 'node-role.kubernetes.io/control-plane=:NoSchedule';
  run(tools.kubectl, [
    '--kubeconfig',
    cluster.kubeconfig,
    'taint',
    'nodes',
    `${KIND_NAME}-control-plane`,
    taint,
    '--overwrite',
  ]);
  const { kubeconfig } = cluster;
  for (const spec of fakeNodes({
    kwok: tools.kwok,
    kwokKubeconfig: kubeconfig,
    kubeletsKubeconfig: kubeconfig,
    annotatedOnly: true,
  })) {
    processes.start(spec);
  }
  const client = new KubeClient(kubeconfig, 'haulout-test-bed');
  try {
    await createNodes(client, workerNames(nodes));
    await waitForNodes(client, workerNames(nodes), 60_000);
  } finally {
    await client.close();
  }
  return cluster;
}

export async function stopKind(dir: string, log: (line: string) => void): Promise<void> {
  const path = clusterDirectory(dir);
  await new ProcessTable(path).killAll();
  const { kind } = await ensureTools(['kind'], log);
  run(kind, ['delete', 'cluster', '--name', KIND_NAME, '--kubeconfig', join(path, 'kubeconfig')]);
  rmSync(join(path, 'bin'), { recursive: true, force: true });
}

/** The context that kubectl uses now, copied so that a later change of it does not reach the tests. */
export async function useCurrent(dir: string, log: (line: string) => void): Promise<ForeignCluster> {
  const path = clusterDirectory(dir);
  const cluster = { kubeconfig: join(path, 'kubeconfig'), binDir: join(path, 'bin') };
  if (await openCluster(dir))
    throw new Error('a cluster of its own runs in the same directory: make cluster-down first');
  const tools = await ensureTools(['kubectl', 'helm'], log);
  const context = spawnSync(tools.kubectl, ['config', 'current-context'], { encoding: 'utf8' });
  if (context.status !== 0) throw new Error('CLUSTER=current needs a kubeconfig with a current context');
  if (
    spawnSync(tools.kubectl, ['get', '--raw=/readyz', '--request-timeout=10s'], { stdio: 'ignore' })
      .status !== 0
  ) {
    throw new Error(`CLUSTER=current: the cluster of context ${context.stdout.trim()} does not answer`);
  }
  const kubeconfig = capture(tools.kubectl, ['config', 'view', '--minify', '--flatten', '--raw']);
  mkdirSync(path, { recursive: true });
  writeFileSync(cluster.kubeconfig, kubeconfig, { mode: 0o600 });
  link(cluster.binDir, tools);
  log(`using context ${context.stdout.trim()}`);
  return cluster;
}

function link(binDir: string, tools: Readonly<Record<string, string>>): void {
  rmSync(binDir, { recursive: true, force: true });
  mkdirSync(binDir, { recursive: true });
  for (const [name, target] of Object.entries(tools)) symlinkSync(target, join(binDir, name));
}

function run(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')} failed${error ? `: ${error.message}` : ''}`);
}

function capture(command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr}`);
  return stdout;
}
