/** containerd of one node: directories, socket and configuration of its own. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessSpec } from '../cluster/lib/processes.ts';
import { run } from '../image/run.ts';
import { CNI_BIN } from './host.ts';
import type { NodeNetwork } from './network.ts';

export const PAUSE_IMAGE = 'docker.io/haulout/pause:1';
const NAMESPACE = 'k8s.io';

export class Containerd {
  readonly #name: string;
  readonly #directory: string;
  readonly #network: NodeNetwork;
  readonly #stateDirectory: string;
  readonly socket: string;

  /** `stateDirectory` holds sockets, so it has to be short. */
  constructor(name: string, directory: string, stateDirectory: string, network: NodeNetwork) {
    this.#name = name;
    this.#directory = directory;
    this.#network = network;
    this.#stateDirectory = stateDirectory;
    this.socket = join(stateDirectory, 'containerd.sock');
  }

  writeFiles(): void {
    mkdirSync(join(this.#directory, 'cni'), { recursive: true });
    mkdirSync(this.#stateDirectory, { recursive: true });
    writeFileSync(this.#config, this.#toml());
    writeFileSync(join(this.#directory, 'cni', '10-pods.conflist'), JSON.stringify(this.#cni()));
  }

  process(): ProcessSpec {
    return {
      name: `${this.#name}-containerd`,
      ...this.#network.inside('containerd', ['--config', this.#config]),
    };
  }

  async isUp(): Promise<boolean> {
    try {
      await this.#ctr(['version']);
      return true;
    } catch {
      return false; // not listening yet
    }
  }

  async importImage(archive: string): Promise<void> {
    await this.#ctr(['images', 'import', archive]);
  }

  async #ctr(args: readonly string[]): Promise<string> {
    return run('ctr', [`--address=${this.socket}`, `--namespace=${NAMESPACE}`, ...args]);
  }

  get #config(): string {
    return join(this.#directory, 'containerd.toml');
  }

  #toml(): string {
    const state = join(this.#stateDirectory, 'containerd');
    return `version = 2
root = ${JSON.stringify(join(this.#directory, 'containerd'))}
state = ${JSON.stringify(state)}
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]

[grpc]
  address = ${JSON.stringify(this.socket)}

[plugins."io.containerd.internal.v1.opt"]
  path = ${JSON.stringify(join(this.#directory, 'opt'))}

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  # Root without CAP_SYS_RESOURCE may not lower it, and every sandbox would fail.
  restrict_oom_score_adj = true
  # All mounts of a node are in its own directories, where they are found at the end.
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${CNI_BIN}"
    conf_dir = ${JSON.stringify(join(this.#directory, 'cni'))}
`;
  }

  #cni(): unknown {
    return {
      cniVersion: '0.4.0',
      name: 'pods',
      plugins: [
        {
          type: 'ptp',
          ipam: {
            type: 'host-local',
            dataDir: join(this.#directory, 'addresses'),
            ranges: [[{ subnet: this.#network.podSubnet }]],
            routes: [{ dst: '0.0.0.0/0' }],
          },
        },
      ],
    };
  }
}
