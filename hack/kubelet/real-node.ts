/** A real node beside the fake ones: kubelet, containerd and runc, in a network and control groups of their own. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../cluster/lib/cluster.ts';
import { waitForNodes } from '../cluster/lib/nodes.ts';
import { type ProcessSpec, ProcessTable } from '../cluster/lib/processes.ts';
import { ensureTools } from '../cluster/lib/tools.ts';
import { errorMessage } from '../cluster/lib/untyped.ts';
import { run } from '../image/run.ts';
import { NodeCgroup } from './cgroups.ts';
import { Containerd } from './containerd.ts';
import { type KubeletSettings, kubeletProcess, podLogsDirectory, writeKubeletFiles } from './kubelet.ts';
import { apiServerSocket, NodeNetwork } from './network.ts';

/** Sockets are here: their paths must not be long. Names are the machine's, so that only one run can have real nodes. */
const RUN_DIRECTORY = '/run/haulout';
export const MACHINE_LOCK = join(RUN_DIRECTORY, 'lock');
/** Of which cluster a node is, for whoever finds it left behind. */
const CLUSTER_FILE = 'cluster';
const START_MS = 60_000;
/** Joins the node's control groups and becomes the program. */
const JOIN_AND_BECOME = 'IFS=:; for f in $1; do echo $$ >"$f" || exit 1; done; unset IFS; shift; exec "$@"';

export interface RealNodesOptions {
  readonly names: readonly string[];
  /** Imported into each, as nothing can be pulled. */
  readonly images: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly log: (line: string) => void;
}

export class RealNode {
  readonly name: string;
  readonly #directory: string;
  readonly #cgroup: NodeCgroup;
  readonly #network: NodeNetwork;
  readonly #containerd: Containerd;
  readonly #processes: ProcessTable;

  /** `dir` is the cluster's; `index` tells the addresses of one node from those of another. */
  constructor(dir: string, name: string, index: number) {
    this.name = name;
    this.#directory = join(dir, 'nodes', name);
    this.#cgroup = new NodeCgroup(name);
    this.#network = new NodeNetwork(name, index);
    this.#containerd = new Containerd(name, this.#directory, this.#runDirectory, this.#network);
    this.#processes = new ProcessTable(dir);
  }

  get #runDirectory(): string {
    return join(RUN_DIRECTORY, this.name);
  }

  /** Of all containers of a pod that runs here, and of its sandbox. */
  pidsOfPod(uid: string): number[] {
    return this.#cgroup.pidsOfPod(uid);
  }

  /** What a container has written so far. */
  containerLog(pod: { namespace: string; name: string; uid: string }, container: string): string {
    const directory = join(
      podLogsDirectory(this.#directory),
      `${pod.namespace}_${pod.name}_${pod.uid}`,
      container,
    );
    return readFileSync(join(directory, '0.log'), 'utf8')
      .split('\n')
      .map((line) => line.split(' ').slice(3).join(' '))
      .join('\n');
  }

  async start(
    cluster: Cluster,
    kubelet: string,
    socket: string,
    { images, labels = {} }: RealNodesOptions,
  ): Promise<void> {
    rmSync(this.#directory, { recursive: true, force: true });
    for (const path of [this.#directory, this.#runDirectory]) mkdirSync(path, { recursive: true });
    writeFileSync(join(this.#runDirectory, CLUSTER_FILE), cluster.dir);
    this.#cgroup.create();
    await this.#network.create();
    await this.#startProcess(this.#network.proxy(socket));
    this.#containerd.writeFiles();
    await this.#startProcess(this.#containerd.process());
    await this.#until('containerd answers', this.#containerd.process().name, async () =>
      this.#containerd.isUp(),
    );
    for (const image of images) await this.#containerd.importImage(image);
    const settings: KubeletSettings = {
      node: this.name,
      binary: kubelet,
      directory: this.#directory,
      pki: join(cluster.dir, 'pki'),
      runtimeSocket: this.#containerd.socket,
      cgroup: this.#cgroup,
      network: this.#network,
      labels,
    };
    writeKubeletFiles(settings);
    await this.#startProcess(kubeletProcess(settings));
    try {
      await cluster.withClient(async (client) => waitForNodes(client, [this.name], START_MS));
    } catch (error) {
      const { name } = kubeletProcess(settings);
      throw new Error(`${errorMessage(error)}\n${this.#processes.tail(name, 20)}`, { cause: error });
    }
  }

  /** At once, as when the machine loses power; afterwards nothing of it is left but its directory with logs. */
  async stop(): Promise<void> {
    for (const name of this.#processes.names().filter((one) => one.startsWith(`${this.name}-`)))
      await this.#processes.stop(name);
    await this.#cgroup.remove();
    await unmountBelow([this.#directory, this.#runDirectory]);
    await this.#network.remove();
    rmSync(this.#runDirectory, { recursive: true, force: true });
    for (const part of ['containerd', 'kubelet', 'opt'])
      rmSync(join(this.#directory, part), { recursive: true, force: true });
  }

  async #startProcess(spec: ProcessSpec): Promise<void> {
    const files = this.#cgroup.systemProcs.join(':');
    const args = ['-c', JOIN_AND_BECOME, 'sh', files, spec.command, ...spec.args];
    this.#processes.start({ ...spec, command: '/bin/sh', args });
    if (!(await this.#processes.isStarted(spec.name)))
      throw new Error(`${spec.name} has ended:\n${this.#processes.tail(spec.name)}`);
  }

  async #until(what: string, process: string, check: () => Promise<boolean>): Promise<void> {
    const deadline = Date.now() + START_MS;
    while (!(await check())) {
      if (!this.#processes.isRunning(process) || Date.now() > deadline)
        throw new Error(`${this.name}: not so: ${what}\n${this.#processes.tail(process, 20)}`);
      await sleep(100);
    }
  }
}

/** Starts them one after the other and waits until all are Ready. Stop each of them before the cluster. */
export async function startRealNodes(cluster: Cluster, options: RealNodesOptions): Promise<RealNode[]> {
  await stopNodesLeftBehind();
  const { kubelet } = await ensureTools(['kubelet'], options.log);
  const socket = join(RUN_DIRECTORY, 'api-server.sock');
  new ProcessTable(cluster.dir).start(apiServerSocket(socket, cluster.server));
  const nodes = options.names.map((name, index) => new RealNode(cluster.dir, name, index + 1));
  try {
    for (const node of nodes) {
      const started = performance.now();
      await node.start(cluster, kubelet, socket, options);
      options.log(`${node.name} is Ready after ${((performance.now() - started) / 1000).toFixed(1)} s`);
    }
  } catch (error) {
    for (const node of nodes) await node.stop();
    throw error;
  }
  return nodes;
}

/** Those of runs that were killed, of whatever cluster. Call it while holding the machine's lock. */
export async function stopNodesLeftBehind(): Promise<void> {
  if (!existsSync(RUN_DIRECTORY)) return;
  for (const name of readdirSync(RUN_DIRECTORY)) {
    const file = join(RUN_DIRECTORY, name, CLUSTER_FILE);
    if (existsSync(file)) await new RealNode(readFileSync(file, 'utf8'), name, 0).stop();
  }
}

/** Volumes of pods and file systems of containers, the innermost first. */
async function unmountBelow(directories: readonly string[]): Promise<void> {
  const points = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((point) => directories.some((directory) => point.startsWith(`${directory}/`)));
  for (const point of points.toSorted((a, b) => b.length - a.length)) await run('umount', ['--lazy', point]);
}
