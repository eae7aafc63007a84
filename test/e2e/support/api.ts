/** Typed reads (and the few writes that kubectl has no word for) over one connection pool. */
import { type Answer, KubeClient } from '../../../hack/cluster/lib/kube-client.ts';
import { FAKE_NODE_TAINT } from '../../../hack/cluster/lib/made-for.ts';
import { as, errorMessage } from '../../../hack/cluster/lib/untyped.ts';
import { nodeMaintenancePath } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/types.generated.ts';
import type { Node, Pod, PodDisruptionBudget, VolumeAttachment } from '../../../src/kube/types.ts';

/** Not `haulout/...`, which is how the operator's own requests are told apart. */
export const TEST_USER_AGENT = 'e2e-tests';

export interface KubeEvent {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly eventTime: string;
  readonly type: string;
  readonly reason: string;
  readonly note?: string;
  readonly regarding: { readonly kind: string; readonly name: string; readonly uid?: string };
  readonly series?: { readonly count: number };
}

export class Api {
  readonly #client: KubeClient;

  constructor(kubeconfig: string) {
    this.#client = new KubeClient(kubeconfig, TEST_USER_AGENT);
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  /** Any HTTP status is an answer. */
  async request(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    contentType?: string,
  ): Promise<Answer> {
    try {
      return await this.#client.request(method, path, {
        ...(body === undefined ? {} : { body }),
        ...(contentType === undefined ? {} : { contentType }),
        signal: AbortSignal.timeout(30_000),
      });
    } catch (error) {
      throw new Error(`${method} ${path}: ${errorMessage(error)}`, { cause: error });
    }
  }

  /** The object, or undefined where there is none. */
  async find<T>(path: string): Promise<T | undefined> {
    const { status, body } = await this.request('GET', path);
    if (status === 404) return undefined;
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
    return as<T>(body);
  }

  async get<T>(path: string): Promise<T> {
    const object = await this.find<T>(path);
    if (object === undefined) throw new Error(`GET ${path}: not found`);
    return object;
  }

  async list<T>(path: string): Promise<readonly T[]> {
    return (await this.get<{ items: readonly T[] }>(path)).items;
  }

  async create<T>(path: string, object: object): Promise<T> {
    return as<T>(await this.#must('POST', path, object));
  }

  async mergePatch(path: string, patch: object): Promise<void> {
    await this.#must('PATCH', path, patch, 'application/merge-patch+json');
  }

  async strategicPatch(path: string, patch: object): Promise<void> {
    await this.#must('PATCH', path, patch, 'application/strategic-merge-patch+json');
  }

  /** Gone already is as good. */
  async remove(path: string, options: object = {}): Promise<void> {
    const { status, body } = await this.request('DELETE', path, options);
    if (status > 299 && status !== 404) throw new Error(`DELETE ${path}: ${status} ${JSON.stringify(body)}`);
  }

  /** Without the taint that fake nodes have beside real ones: it is no test's business. */
  async node(name: string): Promise<Node> {
    const node = await this.get<Node>(`/api/v1/nodes/${name}`);
    const { taints } = node.spec ?? {};
    if (!taints?.some(({ key }) => key === FAKE_NODE_TAINT.key)) return node;
    return {
      ...node,
      spec: { ...node.spec, taints: taints.filter(({ key }) => key !== FAKE_NODE_TAINT.key) },
    };
  }

  async maintenance(name: string): Promise<NodeMaintenance> {
    return this.get<NodeMaintenance>(nodeMaintenancePath(name));
  }

  async pods(namespace: string): Promise<readonly Pod[]> {
    return this.list<Pod>(`/api/v1/namespaces/${namespace}/pods`);
  }

  async podsOnNode(node: string): Promise<readonly Pod[]> {
    return this.list<Pod>(`/api/v1/pods?fieldSelector=spec.nodeName%3D${node}`);
  }

  async budget(namespace: string, name: string): Promise<PodDisruptionBudget> {
    return this.get(`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/${name}`);
  }

  /** Of one PersistentVolume, or all. */
  async volumeAttachments(volume?: string): Promise<readonly VolumeAttachment[]> {
    const all = await this.list<VolumeAttachment>('/apis/storage.k8s.io/v1/volumeattachments');
    return all.filter(({ spec }) => volume === undefined || spec.source.persistentVolumeName === volume);
  }

  /** Events about cluster-scoped objects are kept in namespace default. */
  async events(kind: 'Node' | 'NodeMaintenance', name: string): Promise<readonly KubeEvent[]> {
    const all = await this.list<KubeEvent>('/apis/events.k8s.io/v1/namespaces/default/events');
    return all.filter((event) => event.regarding.kind === kind && event.regarding.name === name);
  }

  async #must(method: 'POST' | 'PATCH', path: string, body: object, contentType?: string): Promise<unknown> {
    const answer = await this.request(method, path, body, contentType);
    if (answer.status > 299)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
}
