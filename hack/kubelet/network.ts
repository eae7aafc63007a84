/**
 * The network of a node: a network namespace with an address, in which kubelet, containerd and the pods are. Nothing is
 * added to the machine's own network. The only way out is to the API server, at its service address, over a Unix socket.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessSpec } from '../cluster/lib/processes.ts';
import { run } from '../image/run.ts';

/** Of the service `kubernetes`: the first one of the control plane's service range. */
export const SERVICE_ADDRESS = '10.96.0.1';

const proxyScript = join(import.meta.dirname, 'service-proxy.ts');

export class NodeNetwork {
  readonly name: string;
  readonly #node: string;
  readonly address: string;
  readonly podSubnet: string;

  constructor(name: string, index: number) {
    this.#node = name;
    this.name = `haulout-${name}`;
    this.address = `10.97.${index}.2`;
    this.podSubnet = `10.98.${index}.0/24`;
  }

  async create(): Promise<void> {
    await run('ip', ['netns', 'add', this.name]);
    const ip = async (...args: string[]): Promise<string> => run('ip', ['-n', this.name, ...args]);
    await ip('link', 'set', 'lo', 'up');
    await ip('address', 'add', `${SERVICE_ADDRESS}/32`, 'dev', 'lo');
    // A kubelet wants an address that is not loopback's. Nothing is at the other end.
    await ip('link', 'add', 'node0', 'type', 'veth', 'peer', 'name', 'node1');
    await ip('address', 'add', `${this.address}/24`, 'dev', 'node0');
    await ip('link', 'set', 'node1', 'up');
    await ip('link', 'set', 'node0', 'up');
    // containerd looks for one to tell the address of a pod by.
    await ip('route', 'add', 'default', 'via', this.address.replace(/\.2$/, '.1'), 'dev', 'node0');
  }

  async remove(): Promise<void> {
    if (existsSync(`/run/netns/${this.name}`)) await run('ip', ['netns', 'delete', this.name]);
  }

  /** The command in the node's network, and in the machine's file system. */
  inside(command: string, args: readonly string[]): Pick<ProcessSpec, 'command' | 'args'> {
    return { command: 'nsenter', args: [`--net=/run/netns/${this.name}`, '--', command, ...args] };
  }

  /** What kube-proxy would do for the one service that pods of the operator need. */
  proxy(socket: string): ProcessSpec {
    const args = ['--disable-warning=ExperimentalWarning', proxyScript, `${SERVICE_ADDRESS}:443`, socket];
    return { name: `${this.#node}-service`, ...this.inside(process.execPath, args) };
  }
}

/** The machine's end of the way: from the socket to the API server. */
export function apiServerSocket(socket: string, server: string): ProcessSpec {
  mkdirSync(join(socket, '..'), { recursive: true });
  rmSync(socket, { force: true });
  const { host } = new URL(server);
  const args = ['--disable-warning=ExperimentalWarning', proxyScript, socket, host];
  return { name: 'api-server-socket', command: process.execPath, args };
}
