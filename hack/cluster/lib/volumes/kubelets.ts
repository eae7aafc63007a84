/**
 * What kubelets do about volumes and kwok does not play:
 * - they register: a CSINode with the drivers, then the annotation that leaves attaching to the controller;
 * - they report volumesInUse, every so often: no volume is detached while its node says that it is in use;
 * - they mount: a pod may start when all its volumes are in use and attached, as the status of its node says.
 * A node whose kubelet is dead does none of it.
 */
import type { KubeClient, KubeObject } from '../kube-client.ts';
import { Limit } from '../limit.ts';
import { isKubeletDead } from '../pod-stop.ts';
import { errorMessage } from '../untyped.ts';
import { followMap } from './follow-map.ts';
import { MANAGED_ATTACH_ANNOTATION, MOUNTED_CONDITION } from './kwok-config.ts';
import { NodeVolumes } from './node-volumes.ts';
import type { VolumeKubeletsSettings } from './options.ts';
import {
  attachedVolumesOf,
  type Claim,
  type CsiDriver,
  claimsOf,
  type Volume,
  type VolumePod,
} from './pod-volumes.ts';

interface Node extends KubeObject {
  readonly status?: {
    readonly volumesInUse?: readonly string[];
    readonly volumesAttached?: readonly { readonly name: string }[];
  };
}

interface Kubelet {
  /** Of the Node object: one of the same name that comes later has a kubelet of its own. */
  readonly uid: string;
  readonly volumes: NodeVolumes;
  /** When it next reports its status. */
  reportsAt: number;
}

const MOUNT_MS = 300;
const REQUEST_MS = 5000;
const RETRY_MS = 200;
/** Events that come together are looked at together. */
const GATHER_MS = 10;
const PARALLEL = 64;
const NONE: ReadonlySet<string> = new Set();
const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';

export class VolumeKubelets {
  readonly #client: KubeClient;
  readonly #settings: VolumeKubeletsSettings;
  readonly #log: (line: string) => void;
  readonly #limit = new Limit(PARALLEL);
  readonly #nodes = new Map<string, Node>();
  readonly #kubelets = new Map<string, Kubelet>();
  /** By UID. */
  readonly #pods = new Map<string, VolumePod>();
  readonly #storage = {
    claims: new Map<string, Claim>(),
    volumes: new Map<string, Volume>(),
    drivers: new Map<string, CsiDriver>(),
  };
  /** By UID of the pod; remembered, as claims may be gone before their pod. */
  readonly #attachedVolumes = new Map<string, readonly string[]>();
  /** By UID of the pod: when its volumes are mounted. */
  readonly #mountedAt = new Map<string, number>();
  /** What is being sent, and what was sent and failed a moment ago. */
  readonly #busy = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;

  constructor(client: KubeClient, settings: VolumeKubeletsSettings, log: (line: string) => void) {
    this.#client = client;
    this.#settings = settings;
    this.#log = log;
  }

  /** Runs until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const into = async <T extends KubeObject>(
      path: string,
      map: Map<string, T>,
      keyOf: (object: T) => string = ({ metadata }) => metadata.name,
    ): Promise<void> => {
      const onChange = (): void => this.#wake(Date.now() + GATHER_MS);
      return followMap(this.#client, path, map, { keyOf, onChange, log: this.#log }, signal);
    };
    const { claims, volumes, drivers } = this.#storage;
    try {
      await Promise.all([
        into('/api/v1/nodes', this.#nodes),
        into('/api/v1/pods', this.#pods, ({ metadata }) => metadata.uid),
        into('/api/v1/persistentvolumeclaims', claims, namespacedName),
        into('/api/v1/persistentvolumes', volumes),
        into('/apis/storage.k8s.io/v1/csidrivers', drivers),
      ]);
    } finally {
      clearTimeout(this.#timer);
      this.#timerAt = -Infinity; // what still comes back wakes it no more
    }
  }

  #wake(at: number): void {
    if (at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(
      () => {
        this.#timerAt = Infinity;
        this.#look(Date.now());
      },
      Math.max(0, at - Date.now()),
    );
  }

  /** Does all that is due, and wakes when there is more. */
  #look(now: number): void {
    const wanted = new Map<string, Set<string>>();
    for (const pod of this.#pods.values()) {
      const { nodeName } = pod.spec;
      if (nodeName === undefined || hasEnded(pod) || claimsOf(pod).length === 0) continue;
      const volumes = this.#volumesOf(pod);
      if (!volumes) continue;
      const onNode = wanted.get(nodeName) ?? new Set();
      for (const volume of volumes) onNode.add(volume);
      wanted.set(nodeName, onNode);
      this.#mount(pod, volumes, now);
    }
    for (const [name, node] of this.#nodes) {
      if (isKubeletDead(node.metadata)) continue;
      if (node.metadata.annotations?.[MANAGED_ATTACH_ANNOTATION] === undefined) this.#register(node);
      this.#keepStatus(node, wanted.get(name) ?? NONE, now);
    }
    this.#forget();
  }

  #volumesOf(pod: VolumePod): readonly string[] | undefined {
    const known = this.#attachedVolumes.get(pod.metadata.uid);
    const volumes = known ?? attachedVolumesOf(pod, this.#storage);
    if (volumes && !known) this.#attachedVolumes.set(pod.metadata.uid, volumes);
    return volumes;
  }

  #mount(pod: VolumePod, volumes: readonly string[], now: number): void {
    const { uid, namespace, name, deletionTimestamp } = pod.metadata;
    const node = this.#nodes.get(pod.spec.nodeName ?? '');
    if (deletionTimestamp !== undefined || !isWaiting(pod) || !node || isKubeletDead(node.metadata)) return;
    if (!volumes.every((volume) => isAttached(node, volume))) return;
    const at = this.#mountedAt.get(uid) ?? now + MOUNT_MS;
    this.#mountedAt.set(uid, at);
    if (now < at) {
      this.#wake(at);
      return;
    }
    const lastTransitionTime = new Date(now).toISOString();
    const conditions = [{ type: MOUNTED_CONDITION, status: 'True', lastTransitionTime }];
    this.#send(uid, 'PATCH', `/api/v1/namespaces/${namespace}/pods/${name}/status`, STRATEGIC, {
      metadata: { uid },
      status: { conditions },
    });
  }

  #keepStatus(node: Node, wanted: ReadonlySet<string>, now: number): void {
    const { name, uid } = node.metadata;
    const periodMs = this.#settings.nodeStatusSeconds * 1000;
    let kubelet = this.#kubelets.get(name);
    if (kubelet?.uid !== uid) {
      const volumes = new NodeVolumes(node.status?.volumesInUse);
      // They do not all report at the same moment.
      kubelet = { uid, volumes, reportsAt: now + Math.random() * periodMs };
      this.#kubelets.set(name, kubelet);
    }
    this.#wake(kubelet.volumes.update(wanted, now));
    if (now >= kubelet.reportsAt) {
      kubelet.reportsAt = now + periodMs;
      const volumesInUse = kubelet.volumes.inUse();
      if (volumesInUse.join() !== (node.status?.volumesInUse ?? []).toSorted().join())
        this.#send(uid, 'PATCH', `/api/v1/nodes/${name}/status`, MERGE, { status: { volumesInUse } });
    }
    this.#wake(kubelet.reportsAt);
  }

  #register({ metadata: { name, uid } }: Node): void {
    const owner = { apiVersion: 'v1', kind: 'Node', name, uid };
    const drivers = this.#settings.drivers.map(({ name: driver, maxVolumesPerNode: count }) => ({
      name: driver,
      nodeID: name,
      ...(count === 0 ? {} : { allocatable: { count } }),
    }));
    const csiNode = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSINode',
      metadata: { name, ownerReferences: [owner] },
      spec: { drivers },
    };
    const path = '/apis/storage.k8s.io/v1/csinodes';
    this.#exclusively(`register ${uid}`, async () => {
      let status = await this.#request('POST', path, 'application/json', csiNode);
      // Left by a Node of the same name: without its new owner the garbage collector would take it away.
      if (status === 409) {
        const { ownerReferences } = csiNode.metadata;
        status = await this.#request('PATCH', `${path}/${name}`, MERGE, { metadata: { ownerReferences } });
      }
      if (status > 299) return status;
      const annotations = { [MANAGED_ATTACH_ANNOTATION]: 'true' };
      return this.#request('PATCH', `/api/v1/nodes/${name}`, MERGE, { metadata: { annotations } });
    });
  }

  #forget(): void {
    for (const uid of this.#attachedVolumes.keys()) {
      if (this.#pods.has(uid)) continue;
      this.#attachedVolumes.delete(uid);
      this.#mountedAt.delete(uid);
    }
    for (const name of this.#kubelets.keys()) if (!this.#nodes.has(name)) this.#kubelets.delete(name);
  }

  #send(about: string, method: 'POST' | 'PATCH', path: string, contentType: string, body: object): void {
    this.#exclusively(about, async () => this.#request(method, path, contentType, body));
  }

  /** Not twice at a time; after that, in a moment, what is still missing is sent anew. */
  #exclusively(about: string, work: () => Promise<number>): void {
    if (this.#busy.has(about)) return;
    this.#busy.add(about);
    this.#limit.add(async () => {
      await work();
      setTimeout(() => {
        this.#busy.delete(about);
        this.#wake(Date.now());
      }, RETRY_MS).unref();
    });
  }

  /** The status of the answer; 0 where there was none. */
  async #request(method: 'POST' | 'PATCH', path: string, contentType: string, body: object): Promise<number> {
    try {
      const signal = AbortSignal.timeout(REQUEST_MS);
      const { status, body: answer } = await this.#client.request(method, path, {
        body,
        contentType,
        signal,
      });
      if (status > 299 && status !== 404 && status !== 409)
        this.#log(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
      return status;
    } catch (error) {
      this.#log(`${method} ${path}: ${errorMessage(error)}`);
      return 0;
    }
  }
}

const namespacedName = ({ metadata }: KubeObject): string => `${metadata.namespace}/${metadata.name}`;

const hasEnded = ({ status }: VolumePod): boolean =>
  status?.phase === 'Succeeded' || status?.phase === 'Failed';

const isWaiting = ({ status }: VolumePod): boolean =>
  status?.phase === 'Pending' &&
  !(status.conditions ?? []).some((one) => one.type === MOUNTED_CONDITION && one.status === 'True');

const isAttached = ({ status }: Node, volume: string): boolean =>
  (status?.volumesInUse?.includes(volume) ?? false) &&
  (status?.volumesAttached?.some(({ name }) => name === volume) ?? false);
