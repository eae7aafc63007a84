/**
 * A real Kubernetes control plane on loopback, without containers, all of it in one directory:
 * kubeconfig, audit.log, bin/ (kubectl, helm, ...), logs/, and what only the cluster itself needs.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  apiServer,
  type Binaries,
  type ControlPlaneSettings,
  controllerManager,
  etcd,
  fakeNodes,
  kubeconfigOf,
  type Ports,
  scheduler,
  serverUrl,
  writeFiles,
} from './control-plane.ts';
import { KubeClient } from './kube-client.ts';
import { withLock } from './lock.ts';
import { createNodes, type NodeCapacity, waitForNodes, workerNames } from './nodes.ts';
import { clusterDirectory } from './paths.ts';
import { freePorts } from './ports.ts';
import { ProcessTable } from './processes.ts';
import { CLUSTER_TOOLS, ensureTools } from './tools.ts';
import { as } from './untyped.ts';

export interface ClusterOptions {
  /** Relative to the repository; `.cluster` by default. Whatever ran there before is stopped and thrown away. */
  readonly dir?: string;
  /** How many fake nodes, worker-1 and on; 4 by default. */
  readonly nodes?: number;
  readonly nodeCapacity?: Partial<NodeCapacity>;
  /** How long after its last heartbeat a node counts as unreachable; 8 by default, heartbeats come every 2 s. */
  readonly nodeMonitorGraceSeconds?: number;
  readonly apiServerFlags?: readonly string[];
  readonly log?: (line: string) => void;
}

const PROCESSES = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kwok',
  'kubelets',
] as const;
/** All that a cluster leaves in its directory, besides `lock`; nothing else there is ever touched. */
const ENTRIES = ['etcd', 'pki', 'kubeconfigs', 'kubeconfig', 'scheduler.yaml', 'state.json', 'bin', 'pids'];
const RECORDS = ['audit.log', 'logs'];
const READY_MS = 60_000;
const PORT_ATTEMPTS = 5;

export class Cluster {
  readonly dir: string;
  /** The administrator's (group system:masters). */
  readonly kubeconfig: string;
  /** kubectl, helm, kwok and the control plane's own binaries. */
  readonly binDir: string;
  readonly kubectl: string;
  /** One JSON object a line, without rotation; a request that was answered is in it. */
  readonly auditLog: string;
  readonly logsDir: string;
  readonly server: string;
  readonly #settings: ControlPlaneSettings;
  readonly #processes: ProcessTable;

  /** Not for callers: `startCluster` and `openCluster` make them. */
  constructor(settings: ControlPlaneSettings) {
    const { dir } = settings;
    this.#settings = settings;
    this.#processes = new ProcessTable(dir);
    this.dir = dir;
    this.kubeconfig = kubeconfigOf(dir, 'admin');
    this.binDir = join(dir, 'bin');
    this.kubectl = join(this.binDir, 'kubectl');
    this.auditLog = join(dir, 'audit.log');
    this.logsDir = join(dir, 'logs');
    this.server = serverUrl(settings.ports);
  }

  /** Whether all its processes run and the API server says it is ready. */
  async isHealthy(): Promise<boolean> {
    if (!PROCESSES.every((name) => this.#processes.isRunning(name))) return false;
    return this.withClient(async (client) => isReady(client));
  }

  /** Adds fake nodes by name and waits until they are Ready. */
  async addNodes(names: readonly string[], capacity: Partial<NodeCapacity> = {}): Promise<void> {
    await this.withClient(async (client) => {
      await createNodes(client, names, capacity);
      await waitForNodes(client, names, READY_MS);
    });
  }

  /**
   * Returns when its port is free; etcd keeps everything. A crash by default: an orderly stop (SIGTERM) keeps open
   * watches for up to a minute, here cut at ten seconds, in which it neither serves nor has gone.
   */
  async stopApiServer(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    await this.#processes.stop('kube-apiserver', signal);
  }

  /** On the port that it had before. Returns when it is ready. */
  async startApiServer(): Promise<void> {
    if (this.#processes.isRunning('kube-apiserver')) return;
    const deadline = Date.now() + READY_MS;
    for (;;) {
      this.#processes.start(apiServer(this.#settings));
      const problem = await this.#waitForApiServer(deadline);
      if (problem === undefined) return;
      const isPortTaken = problem.includes('address already in use');
      if (!isPortTaken || Date.now() > deadline) throw new Error(problem);
      await sleep(500);
    }
  }

  async restartApiServer(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    await this.stopApiServer(signal);
    await this.startApiServer();
  }

  /** Stops all of it and waits for that. The audit log and the logs stay. */
  async stop(): Promise<void> {
    await discard(this.dir);
  }

  async withClient<T>(work: (client: KubeClient) => Promise<T>): Promise<T> {
    const client = new KubeClient(this.kubeconfig, 'haulout-test-bed');
    try {
      return await work(client);
    } finally {
      await client.close();
    }
  }

  /** Not for callers: everything from nothing to nodes that are Ready. */
  async start(nodes: number, capacity: Partial<NodeCapacity>, log: (line: string) => void): Promise<void> {
    const started = performance.now();
    const since = (): string => `${((performance.now() - started) / 1000).toFixed(1)} s`;
    writeFiles(this.#settings);
    this.#processes.start(etcd(this.#settings));
    this.#processes.start(apiServer(this.#settings));
    const problem = await this.#waitForApiServer(Date.now() + READY_MS);
    if (problem !== undefined) throw new Error(problem);
    log(`API server ready after ${since()}: ${this.server}`);
    const players = fakeNodes({
      kwok: this.#settings.binaries.kwok,
      kwokKubeconfig: kubeconfigOf(this.dir, 'kwok'),
      kubeletsKubeconfig: kubeconfigOf(this.dir, 'kubelets'),
      annotatedOnly: false,
    });
    for (const spec of [controllerManager(this.#settings), scheduler(this.#settings), ...players]) {
      this.#processes.start(spec);
    }
    const names = workerNames(nodes);
    await this.withClient(async (client) => {
      await createNodes(client, names, capacity);
      await Promise.all([
        waitForNodes(client, names, READY_MS),
        waitForDefaultServiceAccount(client, READY_MS),
      ]);
    });
    for (const name of PROCESSES) {
      if (!(await this.#processes.isStarted(name))) throw new Error(this.#died(name));
    }
    log(`${nodes} nodes ready after ${since()}`);
  }

  /** What went wrong; undefined when it is ready. */
  async #waitForApiServer(deadline: number): Promise<string | undefined> {
    for (const name of ['etcd', 'kube-apiserver']) {
      if (!(await this.#processes.isStarted(name))) return this.#died(name);
    }
    return this.withClient(async (client) => {
      while (!(await isReady(client))) {
        for (const name of ['etcd', 'kube-apiserver'])
          if (!this.#processes.isRunning(name)) return this.#died(name);
        if (Date.now() > deadline)
          return `API server not ready in time:\n${this.#processes.tail('kube-apiserver')}`;
        await sleep(50);
      }
      return undefined;
    });
  }

  #died(name: string): string {
    return `${name} has ended, ${this.#processes.logFile(name)} says:\n${this.#processes.tail(name)}`;
  }
}

/** A new cluster with nothing in it, ready. It lives on after this process; stop it with `stop` or `stopCluster`. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const log = options.log ?? (() => undefined);
  const dir = clusterDirectory(options.dir);
  requireLinux();
  const binaries = await ensureTools(CLUSTER_TOOLS, log);
  return locked(dir, log, async () => {
    await discard(dir);
    for (const name of RECORDS) rmSync(join(dir, name), { recursive: true, force: true });
    for (let attempt = 1; ; attempt++) {
      const settings = {
        dir,
        binaries,
        ports: await choosePorts(),
        nodeMonitorGraceSeconds: options.nodeMonitorGraceSeconds ?? 8,
        apiServerFlags: options.apiServerFlags ?? [],
      };
      const cluster = new Cluster(settings);
      try {
        await cluster.start(options.nodes ?? 4, options.nodeCapacity ?? {}, log);
        linkBinaries(cluster.binDir, binaries);
        writeState(settings);
        return cluster;
      } catch (error) {
        await discard(dir);
        const isPortTaken = error instanceof Error && error.message.includes('address already in use');
        if (!isPortTaken || attempt === PORT_ATTEMPTS) throw error;
        log('a port was taken meanwhile, trying others');
      }
    }
  });
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

async function discard(dir: string): Promise<void> {
  await new ProcessTable(dir).killAll();
  for (const name of ENTRIES) rmSync(join(dir, name), { recursive: true, force: true });
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

async function isReady(client: KubeClient): Promise<boolean> {
  try {
    return (await client.request('GET', '/readyz', { signal: AbortSignal.timeout(2000) })).status === 200;
  } catch {
    return false;
  }
}

/** Pods cannot be made before the controller manager has made it. */
async function waitForDefaultServiceAccount(client: KubeClient, timeoutMs: number): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while ((await client.request('GET', '/api/v1/namespaces/default/serviceaccounts/default')).status !== 200) {
    if (Date.now() > deadline) throw new Error('the controller manager has made no default service account');
    await sleep(50);
  }
}

function requireLinux(): void {
  if (process.platform !== 'linux')
    throw new Error('this cluster needs Linux; elsewhere use CLUSTER=kind or current');
}
