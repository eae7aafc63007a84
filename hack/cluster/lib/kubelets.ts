/**
 * What kubelets do and kwok does not play faithfully enough for tests of drains:
 * - heartbeats of each node, unless its kubelet is dead: see heartbeats.ts;
 * - stopping pods: exactly when the pod says, with the pod's UID as a precondition (kwok deletes by name, which can hit
 *   the pod that a StatefulSet has put in its place), cut at the grace period, and not on a node with a dead kubelet;
 * - reporting a node and its pods ready again that the node controller has marked while no heartbeats came.
 */
import { follow } from './follow.ts';
import { type HeartbeatSettings, Heartbeats } from './heartbeats.ts';
import type { KubeClient, KubeObject } from './kube-client.ts';
import { Limit } from './limit.ts';
import { MADE_FOR } from './made-for.ts';
import { deletionRequestedAt, isKubeletDead, stopsAt } from './pod-stop.ts';
import { errorMessage } from './untyped.ts';

const REQUEST_MS = 5000;
const RETRY_MS = 200;
const PARALLEL = 64;
/**
 * The API server removes a pod in two steps, first its grace period and then the object; where it is cut off in between
 * (an overloaded one is), the object is asked away once more after so long.
 */
const LEFT_BEHIND_MS = 2000;

interface Condition {
  readonly type: string;
  readonly status: string;
}

interface Node extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

interface Pod extends KubeObject {
  readonly metadata: KubeObject['metadata'] & {
    readonly namespace: string;
    readonly managedFields?: readonly {
      readonly manager?: string;
      readonly fieldsV1?: { 'f:status'?: { 'f:conditions'?: Readonly<Record<string, unknown>> } };
    }[];
  };
  readonly spec: { readonly nodeName?: string };
  readonly status?: { readonly phase?: string; readonly conditions?: readonly Condition[] };
}

interface Stopping {
  readonly pod: Pod;
  readonly firstAsked: number;
  timer: NodeJS.Timeout | undefined;
}

export interface KubeletsOptions {
  /** Only nodes with this value of the label: where nodes of others are beside them. All nodes where it is not set. */
  readonly madeFor: string | undefined;
  readonly heartbeats: HeartbeatSettings;
  readonly log: (line: string) => void;
}

export class Kubelets {
  readonly #client: KubeClient;
  readonly #options: KubeletsOptions;
  readonly #limit = new Limit(PARALLEL);
  readonly #nodes = new Map<string, Node>();
  /** By UID: pods that were asked to go and whose containers still run. */
  readonly #stopping = new Map<string, Stopping>();
  /** By UID: pods that the node controller has marked not ready. */
  readonly #markedNotReady = new Map<string, Pod>();
  readonly #heartbeats: Heartbeats;

  constructor(client: KubeClient, options: KubeletsOptions) {
    this.#client = client;
    this.#options = options;
    this.#heartbeats = new Heartbeats({
      settings: options.heartbeats,
      limit: this.#limit,
      send: async (method, path, body) => this.#send(method, path, body),
      nodeNames: () => [...this.#nodes.keys()].filter((name) => this.#isAlive(name)),
      uidOf: (name) => this.#nodes.get(name)?.metadata.uid,
    });
  }

  /** Runs until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#heartbeats.start();
    const nodes = {
      replace: (list: readonly Node[]) => {
        const names = new Set(list.map((node) => node.metadata.name));
        for (const name of this.#nodes.keys()) if (!names.has(name)) this.#nodes.delete(name);
        for (const node of list) this.#nodeChanged(node);
      },
      changed: (node: Node) => this.#nodeChanged(node),
      removed: (node: Node) => void this.#nodes.delete(node.metadata.name),
    };
    const pods = {
      replace: (list: readonly Pod[]) => {
        const uids = new Set(list.map((pod) => pod.metadata.uid));
        for (const uid of [...this.#stopping.keys(), ...this.#markedNotReady.keys()]) {
          if (!uids.has(uid)) this.#forget(uid);
        }
        for (const pod of list) this.#podChanged(pod);
      },
      changed: (pod: Pod) => this.#podChanged(pod),
      removed: (pod: Pod) => this.#forget(pod.metadata.uid),
    };
    try {
      await Promise.all([
        follow(this.#client, '/api/v1/nodes', nodes, signal, this.#options.log),
        follow(this.#client, '/api/v1/pods', pods, signal, this.#options.log),
      ]);
    } finally {
      this.#heartbeats.stop();
      for (const { timer } of this.#stopping.values()) clearTimeout(timer);
    }
  }

  /** Whether there is a kubelet that acts for this node now. */
  #isAlive(name: string | undefined): boolean {
    const node = name === undefined ? undefined : this.#nodes.get(name);
    return node !== undefined && !isKubeletDead(node.metadata);
  }

  #nodeChanged(node: Node): void {
    const { name, labels } = node.metadata;
    const { madeFor } = this.#options;
    if (madeFor !== undefined && labels?.[MADE_FOR] !== madeFor) return;
    const wasAlive = this.#isAlive(name);
    this.#nodes.set(name, node);
    if (!this.#isAlive(name)) return;
    if (!wasAlive) {
      this.#heartbeats.renew(name);
      const left = [...this.#stopping.values()].filter(({ pod }) => pod.spec.nodeName === name);
      for (const { pod } of left) this.#podChanged(pod);
    }
    if (node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'Unknown')) {
      this.#reportNodeReady(name);
    } else if (isTrue(node.status?.conditions, 'Ready')) {
      const marked = [...this.#markedNotReady.values()].filter((pod) => pod.spec.nodeName === name);
      for (const pod of marked) this.#reportReady(pod);
    }
  }

  #podChanged(pod: Pod): void {
    const { uid } = pod.metadata;
    const asked = deletionRequestedAt(pod.metadata, Date.now());
    if (asked === undefined) {
      if (!isMarkedNotReady(pod)) {
        this.#markedNotReady.delete(uid);
        return;
      }
      this.#markedNotReady.set(uid, pod);
      const node = this.#nodes.get(pod.spec.nodeName ?? '');
      if (this.#isAlive(pod.spec.nodeName) && isTrue(node?.status?.conditions, 'Ready'))
        this.#reportReady(pod);
      return;
    }
    const known = this.#stopping.get(uid);
    this.#forget(uid);
    const { deletionGracePeriodSeconds, finalizers = [] } = pod.metadata;
    // Without a grace period its containers have stopped already; what keeps the object is a finalizer.
    const hasStopped = deletionGracePeriodSeconds === 0;
    if (pod.spec.nodeName === undefined || (hasStopped && finalizers.length > 0)) return;
    const sameDeletion = known?.pod.metadata.deletionTimestamp === pod.metadata.deletionTimestamp;
    const firstAsked = known?.firstAsked ?? asked;
    const stop: Stopping = { pod, firstAsked, timer: undefined };
    const at = hasStopped
      ? Date.now() + LEFT_BEHIND_MS
      : stopsAt(pod.metadata, firstAsked, sameDeletion ? firstAsked : asked);
    stop.timer = setTimeout(
      () => this.#limit.add(async () => this.#stop(stop)),
      Math.max(0, at - Date.now()),
    );
    this.#stopping.set(uid, stop);
  }

  #forget(uid: string): void {
    this.#markedNotReady.delete(uid);
    const stop = this.#stopping.get(uid);
    if (!stop) return;
    clearTimeout(stop.timer);
    this.#stopping.delete(uid);
  }

  /** Tries until the pod is gone or another deletion of it is known; on a dead node nothing happens until it is back. */
  async #stop(stop: Stopping): Promise<void> {
    const { namespace, name, uid } = stop.pod.metadata;
    if (this.#stopping.get(uid) !== stop || !this.#isAlive(stop.pod.spec.nodeName)) return;
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions: { uid } };
    const status = await this.#send('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}`, body);
    if ((status >= 200 && status <= 299) || status === 404 || status === 409) {
      if (this.#stopping.get(uid) === stop) this.#forget(uid);
      return;
    }
    stop.timer = setTimeout(() => this.#limit.add(async () => this.#stop(stop)), RETRY_MS);
  }

  /** kwok would do it too, but after an outage only when its watch is back, up to half a minute later. */
  #reportNodeReady(name: string): void {
    const now = new Date().toISOString();
    const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: null };
    this.#limit.add(async () => {
      await this.#send('PATCH', `/api/v1/nodes/${name}/status`, {
        status: { conditions: [{ ...ready, lastHeartbeatTime: now, lastTransitionTime: now }] },
      });
    });
  }

  #reportReady(pod: Pod): void {
    const { namespace, name, uid } = pod.metadata;
    const now = new Date().toISOString();
    const conditions = [
      { type: 'Ready', status: 'True', lastTransitionTime: now, reason: null, message: null },
    ];
    this.#limit.add(async () => {
      if (!this.#markedNotReady.delete(uid)) return;
      await this.#send('PATCH', `/api/v1/namespaces/${namespace}/pods/${name}/status`, {
        metadata: { uid },
        status: { conditions },
      });
    });
  }

  /** The status of the answer; 0 where there was none. */
  async #send(method: 'POST' | 'PATCH' | 'DELETE', path: string, body: unknown): Promise<number> {
    try {
      const contentType = path.includes('/leases/')
        ? 'application/merge-patch+json'
        : method === 'PATCH'
          ? 'application/strategic-merge-patch+json'
          : 'application/json';
      const signal = AbortSignal.timeout(REQUEST_MS);
      const { status, body: answer } = await this.#client.request(method, path, {
        body,
        contentType,
        signal,
      });
      if (status >= 400 && status !== 404 && status !== 409) {
        this.#options.log(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
      }
      return status;
    } catch (error) {
      this.#options.log(`${method} ${path}: ${errorMessage(error)}`);
      return 0;
    }
  }
}

function isTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;
}

/**
 * Only where the node controller itself wrote it: a test that makes a pod unready must find it unready for as long as
 * it likes, which is why the writer is looked up in the managed fields.
 */
function isMarkedNotReady(pod: Pod): boolean {
  const ready = pod.status?.conditions?.find((condition) => condition.type === 'Ready');
  if (pod.status?.phase !== 'Running' || ready?.status !== 'False') return false;
  return (
    pod.metadata.managedFields?.some(
      (entry) =>
        entry.manager === 'kube-controller-manager' &&
        entry.fieldsV1?.['f:status']?.['f:conditions']?.['k:{"type":"Ready"}'] !== undefined,
    ) ?? false
  );
}
