/** A cluster that runs: where its files are, and what can be done with it. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  apiServer,
  type ControlPlaneSettings,
  etcd,
  followers,
  kubeconfigOf,
  serverUrl,
  writeFiles,
} from './control-plane.ts';
import { KubeClient } from './kube-client.ts';
import { createNodes, type NodeCapacity, waitForNodes, workerNames } from './nodes.ts';
import { ProcessTable } from './processes.ts';
import { VolumeDriver } from './volumes/driver.ts';
import { DISK_DRIVER } from './volumes/options.ts';
import { createVolumeObjects } from './volumes/setup.ts';

export interface StartOptions {
  /** How many fake nodes, worker-1 and on; 4 by default. */
  readonly nodes?: number;
  /** Of each: 32 cpu, 256Gi, 1000 pods by default. */
  readonly nodeCapacity?: Partial<NodeCapacity>;
  readonly log?: (line: string) => void;
  /** Gives up and leaves nothing behind. */
  readonly signal?: AbortSignal;
}

/** All that a cluster leaves in its directory besides its records (audit.log, logs); nothing else is ever touched. */
const ENTRIES = [
  'etcd',
  'pki',
  'kubeconfigs',
  'kubeconfig',
  'scheduler.yaml',
  'kwok.yaml',
  'csi',
  'state.json',
  'guest',
  'bin',
  'pids',
];
const READY_MS = 60_000;

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
    if (!this.#processNames().every((name) => this.#processes.isRunning(name))) return false;
    return this.withClient(async (client) => isReady(client));
  }

  /** Adds fake nodes by name and waits until they are Ready. */
  async addNodes(names: readonly string[], capacity: Partial<NodeCapacity> = {}): Promise<void> {
    await this.withClient(async (client) => {
      await createNodes(client, names, capacity, this.#settings.madeFor);
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

  /** Its CSI drivers; none unless it was started with volumes. */
  volumeDrivers(): VolumeDriver[] {
    return Object.keys(this.#settings.volumes?.drivers ?? {}).map((name) => new VolumeDriver(this.dir, name));
  }

  volumeDriver(name: string = DISK_DRIVER): VolumeDriver {
    const driver = this.volumeDrivers().find((one) => one.name === name);
    if (!driver) throw new Error(`this cluster has no driver ${name}: start it with volumes`);
    return driver;
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
  async start(options: StartOptions): Promise<void> {
    const { signal, nodes = 4, log = () => undefined } = options;
    const started = performance.now();
    const since = (): string => `${((performance.now() - started) / 1000).toFixed(1)} s`;
    writeFiles(this.#settings);
    this.#processes.start(etcd(this.#settings));
    this.#processes.start(apiServer(this.#settings));
    const problem = await this.#waitForApiServer(Date.now() + READY_MS, signal);
    if (problem !== undefined) throw new Error(problem);
    log(`API server ready after ${since()}: ${this.server}`);
    for (const spec of followers(this.#settings)) this.#processes.start(spec);
    const names = workerNames(nodes);
    const { volumes, madeFor } = this.#settings;
    await this.withClient(async (client) => {
      if (volumes) await createVolumeObjects(client, volumes);
      await createNodes(client, names, options.nodeCapacity, madeFor);
      await Promise.all([
        waitForNodes(client, names, READY_MS, signal),
        waitForDefaultServiceAccount(client, READY_MS, signal),
      ]);
    });
    for (const name of this.#processNames()) {
      if (!(await this.#processes.isStarted(name))) throw new Error(this.#died(name));
    }
    log(`${nodes} nodes ready after ${since()}`);
  }

  /** What went wrong; undefined when it is ready. */
  async #waitForApiServer(deadline: number, signal?: AbortSignal): Promise<string | undefined> {
    for (const name of ['etcd', 'kube-apiserver']) {
      if (!(await this.#processes.isStarted(name))) return this.#died(name);
    }
    return this.withClient(async (client) => {
      while (!(await isReady(client))) {
        for (const name of ['etcd', 'kube-apiserver'])
          if (!this.#processes.isRunning(name)) return this.#died(name);
        if (Date.now() > deadline)
          return `API server not ready in time:\n${this.#processes.tail('kube-apiserver')}`;
        await sleep(50, undefined, { signal });
      }
      return undefined;
    });
  }

  #processNames(): string[] {
    const all = [etcd(this.#settings), apiServer(this.#settings), ...followers(this.#settings)];
    return all.map(({ name }) => name);
  }

  #died(name: string): string {
    return `${name} has ended, ${this.#processes.logFile(name)} says:\n${this.#processes.tail(name)}`;
  }
}

async function isReady(client: KubeClient): Promise<boolean> {
  try {
    return (await client.request('GET', '/readyz', { signal: AbortSignal.timeout(2000) })).status === 200;
  } catch {
    return false;
  }
}

/** Pods cannot be made before the controller manager has made it. */
async function waitForDefaultServiceAccount(
  client: KubeClient,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while ((await client.request('GET', '/api/v1/namespaces/default/serviceaccounts/default')).status !== 200) {
    if (Date.now() > deadline) throw new Error('the controller manager has made no default service account');
    await sleep(50, undefined, { signal });
  }
}

/** Stops whatever runs in the directory and removes its state; the audit log and the logs stay. */
export async function discard(dir: string): Promise<void> {
  await new ProcessTable(dir).killAll();
  for (const name of ENTRIES) rmSync(join(dir, name), { recursive: true, force: true });
}
