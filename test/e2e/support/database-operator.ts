/**
 * As operators of databases do it: of three instances one is the primary, and a budget of its own never lets it go. When
 * its node is cordoned another instance takes over, on a node that is not, and takes the budget with it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject, Node, Pod } from '../../../src/kube/types.ts';
import type { Api } from './api.ts';
import { barePod, type Manifest, ownedBy } from './builders.ts';
import { eventually } from './eventually.ts';
import { isReady } from './status.ts';

export interface Succession {
  readonly from: string;
  readonly to: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

const GROUP = 'databases.example.com';
const NAME = 'orders';
const INSTANCES = 3;
const POLL_MS = 200;

export class DatabaseOperator {
  /** Planned ones, by node. */
  readonly switchOvers: Succession[] = [];
  /** How often it found no primary: each time the database was down. */
  failures = 0;
  readonly #api: Api;
  readonly #namespace: string;
  readonly #takesMs: () => number;
  readonly #owner: KubeObject & { readonly apiVersion: string; readonly kind: string };
  readonly #stopped = new AbortController();
  #count = 0;
  #switchingSince: number | undefined;

  /** `takesMs`: how long the next primary needs to catch up. Returns when all instances are Ready. */
  static async start(api: Api, namespace: string, takesMs: () => number): Promise<DatabaseOperator> {
    const base = await defineKind(api, namespace);
    const head = { apiVersion: `${GROUP}/v1`, kind: 'Database' };
    const owner = await api.create<KubeObject>(base, { ...head, metadata: { name: NAME } });
    const operator = new DatabaseOperator(api, namespace, takesMs, { ...head, metadata: owner.metadata });
    await operator.#makeBudgets();
    operator.#work().catch(() => operator.failures++);
    await eventually('all instances are Ready', async () => {
      const pods = await operator.instances();
      return pods.length === INSTANCES && pods.every(isReady);
    });
    return operator;
  }

  private constructor(
    api: Api,
    namespace: string,
    takesMs: () => number,
    owner: KubeObject & { readonly apiVersion: string; readonly kind: string },
  ) {
    this.#api = api;
    this.#namespace = namespace;
    this.#takesMs = takesMs;
    this.#owner = owner;
  }

  stop(): void {
    this.#stopped.abort();
  }

  async instances(): Promise<readonly Pod[]> {
    const pods = await this.#api.pods(this.#namespace);
    return pods.filter(({ metadata }) => metadata.labels?.['database'] === NAME);
  }

  async primary(): Promise<Pod> {
    const found = (await this.instances()).find(isPrimary);
    if (!found) throw new Error('there is no primary');
    return found;
  }

  async #work(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      await this.#reconcile();
      await sleep(POLL_MS);
    }
  }

  async #reconcile(): Promise<void> {
    const pods = await this.instances();
    const living = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const cordoned = new Set(
      (await this.#api.list<Node>('/api/v1/nodes'))
        .filter(({ spec }) => spec?.unschedulable === true)
        .map(({ metadata }) => metadata.name),
    );
    const primary = living.find(isPrimary);
    if (!primary && this.#count > 0) this.failures++;
    const heir = living.find(
      (pod) => !isPrimary(pod) && isReady(pod) && !cordoned.has(pod.spec.nodeName ?? ''),
    );
    if (primary && heir && cordoned.has(primary.spec.nodeName ?? '')) await this.#switchOver(primary, heir);
    for (let missing = INSTANCES - pods.length; missing > 0; missing--) await this.#makeInstance();
  }

  async #switchOver(primary: Pod, heir: Pod): Promise<void> {
    this.#switchingSince ??= Date.now();
    if (Date.now() < this.#switchingSince + this.#takesMs()) return;
    this.#switchingSince = undefined;
    // In this order: the disruption controller looks at a budget when a pod comes into it, not when one drops out.
    await this.#label(primary, 'replica');
    await this.#label(heir, 'primary');
    const [from = '', to = ''] = [primary.spec.nodeName, heir.spec.nodeName];
    this.switchOvers.push({ from, to, at: Date.now() });
  }

  async #label({ metadata }: Pod, role: string): Promise<void> {
    const path = `/api/v1/namespaces/${this.#namespace}/pods/${metadata.name}`;
    await this.#api.mergePatch(path, { metadata: { labels: { role } } });
  }

  async #makeInstance(): Promise<void> {
    const role = this.#count === 0 ? 'primary' : 'replica';
    const apart = {
      labelSelector: { matchLabels: { database: NAME } },
      topologyKey: 'kubernetes.io/hostname',
    };
    const pod = barePod(this.#namespace, `${NAME}-${++this.#count}`, {
      labels: { database: NAME, role },
      spec: { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [apart] } } },
    });
    await this.#api.create(`/api/v1/namespaces/${this.#namespace}/pods`, ownedBy(this.#owner, pod));
  }

  /** One for the primary, which is always closed, and one for the others. */
  async #makeBudgets(): Promise<void> {
    for (const role of ['primary', 'replica']) {
      const budget: Manifest = {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: `${NAME}-${role}`, namespace: this.#namespace },
        spec: { minAvailable: 1, selector: { matchLabels: { database: NAME, role } } },
      };
      const path = `/apis/policy/v1/namespaces/${this.#namespace}/poddisruptionbudgets`;
      await this.#api.create(path, ownedBy(this.#owner, budget));
    }
  }
}

const isPrimary = ({ metadata }: Pod): boolean => metadata.labels?.['role'] === 'primary';

/** Returns the path of its objects in the namespace, once it is served. */
async function defineKind(api: Api, namespace: string): Promise<string> {
  const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  await api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `databases.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: { plural: 'databases', singular: 'database', kind: 'Database', listKind: 'DatabaseList' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  });
  const path = `/apis/${GROUP}/v1/namespaces/${namespace}/databases`;
  await eventually('databases are served', async () => (await api.request('GET', path)).status === 200);
  return path;
}
