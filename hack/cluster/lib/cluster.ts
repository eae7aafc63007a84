/**
 * A real Kubernetes control plane on loopback, without containers, all of it in one directory:
 * kubeconfig, audit.log, bin/ (kubectl, helm, ...), logs/, and what only the cluster itself needs.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Binaries, ControlPlaneSettings, Ports } from './control-plane.ts';
import type { HeartbeatSettings } from './heartbeats.ts';
import { withLock } from './lock.ts';
import { clusterDirectory } from './paths.ts';
import type { Purpose } from './made-for.ts';
import { freePorts } from './ports.ts';
import { Cluster, discard, type StartOptions } from './running-cluster.ts';
import { CLUSTER_TOOLS, ensureTools, VOLUME_TOOLS } from './tools.ts';
import { as, errorMessage } from './untyped.ts';
import { type VolumesOptions, volumesSettings } from './volumes/options.ts';
import type { VolumesSetup } from './volumes/setup.ts';

export type { Cluster } from './running-cluster.ts';

export interface ClusterOptions extends StartOptions {
  /** Relative to the repository; `.cluster` by default. */
  readonly dir?: string;
  /** How long after its last heartbeat a node counts as unreachable; 8 by default. */
  readonly nodeMonitorGraceSeconds?: number;
  /** Of the fake nodes; a Lease every 2 s by default, which a control plane on a few cores can bear of some hundreds. */
  readonly heartbeats?: HeartbeatSettings;
  /** Added to the API server's own. */
  readonly apiServerFlags?: readonly string[];
  /** Volumes are attached and detached by the real controllers and drivers of ours; not played unless given. */
  readonly volumes?: VolumesOptions;
  /** Real nodes will be beside the fake ones: these get the label and a taint, and others are left alone. */
  readonly madeFor?: Purpose;
}

const RECORDS = ['audit.log', 'logs'];
const PORT_ATTEMPTS = 5;

/**
 * A new cluster with nothing in it, ready; what ran in the directory before is stopped and thrown away. It lives on
 * after this process: stop it with its `stop` or with `stopCluster`.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const volumes = await volumesSetup(options);
  return prepared(options, async (dir, binaries, log) =>
    startAnew(dir, binaries, { ...options, volumes }, log),
  );
}

/** The healthy one that runs in the directory as it is, or else a new one. */
export async function ensureCluster(options: Omit<ClusterOptions, 'volumes'> = {}): Promise<Cluster> {
  return prepared(options, async (dir, binaries, log) => {
    const running = await openCluster(dir);
    if (running) log(`a healthy cluster is running already: ${running.server}`);
    return running ?? startAnew(dir, binaries, { ...options, volumes: undefined }, log);
  });
}

async function volumesSetup({ volumes, log, signal }: ClusterOptions): Promise<VolumesSetup | undefined> {
  if (!volumes) return undefined;
  const binaries = await ensureTools(VOLUME_TOOLS, log ?? (() => undefined), signal);
  return { ...volumesSettings(volumes), binaries };
}

async function prepared<T>(
  options: ClusterOptions,
  work: (dir: string, binaries: Binaries, log: (line: string) => void) => Promise<T>,
): Promise<T> {
  if (process.platform !== 'linux') {
    throw new Error('this cluster needs Linux; elsewhere use CLUSTER=kind or CLUSTER=current');
  }
  const log = options.log ?? (() => undefined);
  const dir = clusterDirectory(options.dir);
  const binaries = await ensureTools(CLUSTER_TOOLS, log, options.signal);
  return locked(dir, log, async () => work(dir, binaries, log));
}

async function startAnew(
  dir: string,
  binaries: Binaries,
  options: Omit<ClusterOptions, 'volumes'> & { readonly volumes: VolumesSetup | undefined },
  log: (line: string) => void,
): Promise<Cluster> {
  await discard(dir);
  for (const name of RECORDS) rmSync(join(dir, name), { recursive: true, force: true });
  for (let attempt = 1; ; attempt++) {
    const settings = {
      dir,
      binaries,
      ports: await choosePorts(),
      nodeMonitorGraceSeconds: options.nodeMonitorGraceSeconds ?? 8,
      apiServerFlags: options.apiServerFlags ?? [],
      ...(options.volumes ? { volumes: options.volumes } : {}),
      ...(options.madeFor === undefined ? {} : { madeFor: options.madeFor }),
      ...(options.heartbeats === undefined ? {} : { heartbeats: options.heartbeats }),
    };
    const cluster = new Cluster(settings);
    try {
      await cluster.start(options);
      linkBinaries(cluster.binDir, binaries);
      writeState(settings);
      return cluster;
    } catch (error) {
      await discard(dir);
      const isPortTaken = errorMessage(error).includes('address already in use');
      if (!isPortTaken || attempt === PORT_ATTEMPTS) throw error;
      log('a port was taken meanwhile, trying others');
    }
  }
}

/** The cluster that runs in the directory; undefined where there is none or it is not whole. */
export async function openCluster(dir?: string): Promise<Cluster | undefined> {
  const path = join(clusterDirectory(dir), 'state.json');
  if (!existsSync(path)) return undefined;
  const cluster = new Cluster(as<ControlPlaneSettings>(JSON.parse(readFileSync(path, 'utf8'))));
  return (await cluster.isHealthy()) ? cluster : undefined;
}

/** Stops whatever runs in the directory, also what a killed start has left there. */
export async function stopCluster(dir?: string): Promise<void> {
  const path = clusterDirectory(dir);
  if (existsSync(path))
    await locked(
      path,
      () => undefined,
      async () => discard(path),
    );
}

async function locked<T>(dir: string, log: (line: string) => void, work: () => Promise<T>): Promise<T> {
  return withLock(join(dir, 'lock'), () => log(`waiting for another command on ${dir}`), work);
}

async function choosePorts(): Promise<Ports> {
  const [etcdPort, etcdPeer, apiServerPort] = as<[number, number, number]>(await freePorts(3));
  return { etcd: etcdPort, etcdPeer, apiServer: apiServerPort };
}

/** Written last: a directory with a state file holds a cluster that was ready once. */
function writeState(settings: ControlPlaneSettings): void {
  const file = join(settings.dir, 'state.json');
  writeFileSync(`${file}.new`, JSON.stringify(settings, undefined, 2));
  renameSync(`${file}.new`, file);
}

function linkBinaries(binDir: string, binaries: Binaries): void {
  mkdirSync(binDir, { recursive: true });
  for (const [name, path] of Object.entries(binaries)) symlinkSync(path, join(binDir, name));
}
