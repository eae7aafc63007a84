/** When pods were Ready, and how many a node has, by a watch: nobody asks every so often. */
import type { Cluster } from '../cluster/lib/cluster.ts';
import { follow } from '../cluster/lib/follow.ts';
import { KubeClient, type KubeObject } from '../cluster/lib/kube-client.ts';
import { isReady } from '../../test/e2e/support/status.ts';
import type { Pod } from '../../src/kube/types.ts';
import { Waiting } from './waiting.ts';

export interface SeenPod {
  readonly uid: string;
  readonly node: string | undefined;
  /** When the watch first showed it Ready, in milliseconds since the epoch. */
  readonly readyAt: number | undefined;
}

export class PodWatch {
  readonly #client: KubeClient;
  readonly #ended = new AbortController();
  readonly #waiting = new Waiting();
  /** By `namespace/name`. */
  readonly #pods = new Map<string, SeenPod>();

  /** Of one node, where one is given: others' pods are not sent then, which takes the machine's time. */
  constructor(cluster: Cluster, node?: string) {
    this.#client = new KubeClient(cluster.kubeconfig, 'bench');
    const path = node === undefined ? '/api/v1/pods' : `/api/v1/pods?fieldSelector=spec.nodeName%3D${node}`;
    const followed = {
      replace: (pods: readonly (Pod & KubeObject)[]) => {
        const keys = new Set(pods.map(keyOf));
        for (const key of this.#pods.keys()) if (!keys.has(key)) this.#pods.delete(key);
        for (const pod of pods) this.#see(pod);
        this.#waiting.tell();
      },
      changed: (pod: Pod & KubeObject) => {
        this.#see(pod);
        this.#waiting.tell();
      },
      removed: (pod: Pod & KubeObject) => {
        if (this.#pods.get(keyOf(pod))?.uid === pod.metadata.uid) this.#pods.delete(keyOf(pod));
        this.#waiting.tell();
      },
    };
    void follow(this.#client, path, followed, this.#ended.signal, () => undefined);
  }

  find(namespace: string, name: string): SeenPod | undefined {
    return this.#pods.get(`${namespace}/${name}`);
  }

  countOn(node: string): number {
    return [...this.#pods.values()].filter((pod) => pod.node === node).length;
  }

  async until(what: string, test: () => boolean, timeoutMs: number): Promise<void> {
    return this.#waiting.until(what, test, { timeoutMs, explain: () => `${this.#pods.size} pods are there` });
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#client.close();
  }

  #see(pod: Pod): void {
    const { uid } = pod.metadata;
    const known = this.#pods.get(keyOf(pod));
    const readyBefore = known?.uid === uid ? known.readyAt : undefined;
    const readyAt = readyBefore ?? (isReady(pod) ? Date.now() : undefined);
    this.#pods.set(keyOf(pod), { uid, node: pod.spec.nodeName, readyAt });
  }
}

const keyOf = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.name}`;
