/** Clusters that are not made of our own processes: kind where Docker is, or whatever kubectl points at. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';
import { openCluster, stopCluster } from './cluster.ts';
import { fakeNodes } from './control-plane.ts';
import type { Purpose } from './made-for.ts';
import { clusterDirectory } from './paths.ts';
import { ProcessTable } from './processes.ts';
import { ensureTools } from './tools.ts';
import { as } from './untyped.ts';
import type { ClusterKind } from './which-cluster.ts';

export interface ForeignCluster {
  readonly dir: string;
  readonly kubeconfig: string;
  readonly binDir: string;
}

type ForeignKind = Exclude<ClusterKind, 'own'>;
type Log = (line: string) => void;

export async function openForeign(kind: ForeignKind, dir: string, log: Log): Promise<ForeignCluster> {
  return kind === 'kind' ? startKind(dir, log) : useCurrent(dir, log);
}

/** kind's cluster is deleted; of somebody's only our copy of the kubeconfig. */
export async function closeForeign(kind: ForeignKind, dir: string, log: Log): Promise<void> {
  const path = clusterDirectory(dir);
  const isOwn = existsSync(join(path, 'state.json'));
  if (kind === 'current' && isOwn) return;
  await new ProcessTable(path).killAll();
  if (kind === 'kind') {
    requireDocker();
    const { kind: program } = await ensureTools(['kind'], log);
    run(program, ['delete', 'cluster', '--name', kindName(path), '--kubeconfig', join(path, 'kubeconfig')]);
  }
  for (const name of ['kubeconfig', 'bin']) rmSync(join(path, name), { recursive: true, force: true });
}

/** The two processes that play the nodes which are there for this purpose, and no others. They stay when this one ends. */
export async function playNodes({ dir, kubeconfig }: ForeignCluster, madeFor: Purpose): Promise<void> {
  const { kwok } = await ensureTools(['kwok'], () => undefined);
  const processes = new ProcessTable(dir);
  const specs = fakeNodes({ kwok, kwokKubeconfig: kubeconfig, kubeletsKubeconfig: kubeconfig, madeFor });
  for (const spec of specs) {
    processes.start(spec);
    if (!(await processes.isStarted(spec.name)))
      throw new Error(`${spec.name} has ended:\n${processes.tail(spec.name)}`);
  }
}

/** One cluster for each directory: `haulout` for `.cluster`, `haulout-demo` for `.cluster-demo`. */
function kindName(dir: string): string {
  return basename(dir).replace(/^\.?cluster/, 'haulout');
}

function requireDocker(): void {
  if (spawnSync('docker', ['info'], { stdio: 'ignore' }).status !== 0)
    throw new Error('CLUSTER=kind needs a running Docker, and `docker info` fails');
}

/** Its own node is kept free of pods by a taint. */
async function startKind(dir: string, log: Log): Promise<ForeignCluster> {
  requireDocker();
  const path = clusterDirectory(dir);
  const name = kindName(path);
  const tools = await ensureTools(['kind', 'kubectl', 'kwok', 'helm'], log);
  const existing = capture(tools.kind, ['get', 'clusters']).split('\n');
  await stopCluster(dir);
  mkdirSync(path, { recursive: true });
  const kubeconfig = join(path, 'kubeconfig');
  const args = ['--name', name, '--kubeconfig', kubeconfig];
  if (existing.includes(name)) run(tools.kind, ['export', 'kubeconfig', ...args]);
  else run(tools.kind, ['create', 'cluster', ...args, '--wait', '120s']);
  const taint = 'node-role.kubernetes.io/control-plane=:NoSchedule';
  const node = `${name}-control-plane`;
  run(tools.kubectl, ['--kubeconfig', kubeconfig, 'taint', 'nodes', node, taint, '--overwrite']);
  return { dir: path, kubeconfig, binDir: link(path, tools) };
}

/** The context that kubectl uses now, copied so that a later change of it does not reach the tests. */
async function useCurrent(dir: string, log: Log): Promise<ForeignCluster> {
  const path = clusterDirectory(dir);
  if (await openCluster(dir))
    throw new Error(`a cluster of its own runs in ${basename(path)}: stop it first, with make cluster-down`);
  const tools = await ensureTools(['kubectl', 'kwok', 'helm'], log);
  const context = spawnSync(tools.kubectl, ['config', 'current-context'], { encoding: 'utf8' });
  if (context.status !== 0) throw new Error('CLUSTER=current needs a kubeconfig with a current context');
  const name = context.stdout.trim();
  const ready = ['get', '--raw=/readyz', '--request-timeout=10s'];
  if (spawnSync(tools.kubectl, ready, { stdio: 'ignore' }).status !== 0)
    throw new Error(`CLUSTER=current: the cluster of context ${name} does not answer`);
  const text = capture(tools.kubectl, ['config', 'view', '--minify', '--flatten', '--raw']);
  const user = as<{ users?: { user: Record<string, unknown> }[] }>(parse(text)).users?.[0]?.user ?? {};
  if (user['token'] === undefined && user['client-certificate-data'] === undefined) {
    throw new Error(
      `CLUSTER=current: context ${name} logs in by ${Object.keys(user).join(', ') || 'nothing'}; what plays the nodes needs a token or a client certificate in the kubeconfig, such as one from kubectl create token`,
    );
  }
  await new ProcessTable(path).killAll(); // what a killed run has left
  const kubeconfig = join(path, 'kubeconfig');
  mkdirSync(path, { recursive: true });
  writeFileSync(kubeconfig, text, { mode: 0o600 });
  log(`using context ${name}`);
  return { dir: path, kubeconfig, binDir: link(path, tools) };
}

function link(dir: string, tools: Readonly<Record<string, string>>): string {
  const binDir = join(dir, 'bin');
  rmSync(binDir, { recursive: true, force: true });
  mkdirSync(binDir, { recursive: true });
  for (const [name, target] of Object.entries(tools)) symlinkSync(target, join(binDir, name));
  return binDir;
}

function run(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0)
    throw new Error(`${basename(command)} ${args.join(' ')} failed${error ? `: ${error.message}` : ''}`);
}

function capture(command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${basename(command)} ${args.join(' ')} failed: ${stderr}`);
  return stdout;
}
