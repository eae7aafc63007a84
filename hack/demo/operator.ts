/** The operator as a process, with the permissions of the ServiceAccount that the chart made for it. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { repositoryRoot } from '../cluster/lib/paths.ts';
import { freePorts } from '../cluster/lib/ports.ts';
import { ProcessTable } from '../cluster/lib/processes.ts';
import type { Kubectl } from './kubectl.ts';

const NAME = 'haulout';
const READY_MS = 20_000;

interface KubeconfigView {
  readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[];
}

/** A kubeconfig with the cluster of the administrator's one and the token as the user. */
export async function writeOperatorKubeconfig(kubectl: Kubectl, file: string, token: string): Promise<void> {
  const view = await kubectl.json<KubeconfigView>(['config', 'view', '--raw', '--minify', '--flatten']);
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: NAME, cluster: view.clusters[0]?.cluster }],
    users: [{ name: NAME, user: { token } }],
    contexts: [{ name: NAME, context: { cluster: NAME, user: NAME } }],
    'current-context': NAME,
  };
  writeFileSync(file, stringify(document), { mode: 0o600 });
  chmodSync(file, 0o600);
}

export class OperatorProcess {
  readonly #processes: ProcessTable;
  readonly #httpAddress: string;

  /** With a pid file in `dir`: the next demo stops what a killed one has left. */
  static async start(dir: string, kubeconfig: string): Promise<OperatorProcess> {
    const [port] = await freePorts(1);
    const operator = new OperatorProcess(dir, `127.0.0.1:${port}`);
    operator.#processes.start({
      name: NAME,
      command: join(repositoryRoot, 'bin', 'haulout'),
      args: ['run', `--kubeconfig=${kubeconfig}`, `--http-address=${operator.#httpAddress}`],
    });
    return operator;
  }

  constructor(dir: string, httpAddress: string) {
    this.#processes = new ProcessTable(dir);
    this.#httpAddress = httpAddress;
  }

  get logFile(): string {
    return this.#processes.logFile(NAME);
  }

  /** Resolves when it says that it is ready; its last words are the error where it ends instead. */
  async ready(signal: AbortSignal): Promise<void> {
    const deadline = Date.now() + READY_MS;
    await this.#processes.isStarted(NAME);
    for (;;) {
      signal.throwIfAborted();
      if (await this.#saysReady()) return;
      if (!this.#processes.isRunning(NAME))
        throw new Error(`haulout has ended: ${this.#processes.tail(NAME, 1)}`);
      if (Date.now() > deadline) throw new Error(`haulout is not ready: ${this.#processes.tail(NAME, 1)}`);
      await sleep(50);
    }
  }

  /** Never resolves; its last words are the error when it ends before `signal` is aborted. */
  async watchOver(signal: AbortSignal): Promise<never> {
    while (this.#processes.isRunning(NAME)) await sleep(200, undefined, { signal });
    throw new Error(`haulout has ended: ${this.#processes.tail(NAME, 1)}`);
  }

  async stop(): Promise<void> {
    await this.#processes.stop(NAME, 'SIGTERM');
  }

  async #saysReady(): Promise<boolean> {
    try {
      return (await fetch(`http://${this.#httpAddress}/readyz`)).ok;
    } catch {
      return false;
    }
  }
}
