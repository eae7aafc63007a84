/** Nodes with one pod of each kind on each, which come back when they have left. */
import { FAKE_NODE_TOLERATION } from '../../../hack/cluster/lib/made-for.ts';
import type { Node, Pod } from '../../../src/kube/types.ts';
import {
  barePod,
  budget,
  daemonSet,
  type Manifest,
  ownedBy,
  type PodOptions,
} from '../../e2e/support/builders.ts';
import type { TestBed } from '../../e2e/support/test-bed.ts';
import { forAll } from '../bulk.ts';
import type { SeenPod } from './oracle.ts';

export const labelKeys = ['app', 'tier', 'constructor', 'example.com/x', 'a.b/c_d', 'toString'] as const;
export const labelValues = ['web', 'db', 'constructor', '', 'x', 'valueOf'] as const;

interface KindOfPod {
  readonly kind: SeenPod['kind'];
  /** By what a budget that never lets go selects it; it has none unless given. */
  readonly budget?: 'label' | 'namespace';
  readonly options: PodOptions;
}

const PODS: Readonly<Record<string, KindOfPod>> = {
  web: { kind: 'managed', options: { labels: { app: 'web', constructor: 'constructor', toString: '' } } },
  db: {
    kind: 'managed',
    budget: 'label',
    options: { labels: { app: 'db', tier: 'db', 'a.b/c_d': 'x' } },
  },
  sealed: { kind: 'managed', budget: 'namespace', options: { labels: {} } },
  bare: { kind: 'unmanaged', options: { labels: { app: 'web', tier: 'valueOf' } } },
  scratch: { kind: 'emptyDir', options: { labels: { app: 'x' }, emptyDir: true } },
};

const WAIT = { timeoutMs: 120_000 } as const;

type Names = readonly [string, ...string[]];
type Owner = Parameters<typeof ownedBy>[0];

export class Population {
  /** For all pods but those whose budget selects whatever is in its namespace. */
  readonly #namespace: string;
  readonly #sealed: string;
  /** Nodes that have one maintenance at a time, so that what may leave is known to the letter. */
  readonly lone: readonly string[];
  /** Nodes that many maintenances name. */
  readonly shared: Names;
  /** By UID: all that there ever were. */
  readonly seen = new Map<string, SeenPod>();
  readonly #bed: TestBed;
  /** For each of PODS its own: of one controller's pods that come back some are let be. */
  readonly #owners = new Map<string, Owner>();

  private constructor(bed: TestBed, nodes: Names) {
    this.#bed = bed;
    this.#namespace = `${bed.prefix}-pods`;
    this.#sealed = `${bed.prefix}-sealed`;
    const [first, ...rest] = nodes;
    const lone = Math.floor(nodes.length / 3);
    this.lone = rest.slice(0, lone);
    this.shared = [first, ...rest.slice(lone)];
  }

  static async settle(bed: TestBed, count: number): Promise<Population> {
    const nodeOf = (number: number): string => `${bed.prefix}-n${number}`;
    const nodes: Names = [nodeOf(0), ...Array.from({ length: count - 1 }, (_, at) => nodeOf(at + 1))];
    const population = new Population(bed, nodes);
    for (const name of population.namespaces) await bed.namespace(name);
    bed.expectPodDeletions(...population.namespaces); // the oracle says which may be deleted
    await Promise.all(
      nodes.map(async (name, index) =>
        bed.addNode(name, {
          // Some are as a maintenance would leave them, some have what it puts on.
          unschedulable: index % 7 === 3,
          labels: index % 5 === 2 ? { 'remediation.medik8s.io/exclude-from-remediation': 'mine' } : {},
          taints: index % 4 === 1 ? [{ key: 'example.com/t-0', value: 'mine', effect: 'NoSchedule' }] : [],
        }),
      ),
    );
    await population.#makeOwners();
    await population.#makeBudgets(count);
    await population.#daemonPods(nodes);
    await population.#mirrorPods(nodes);
    return population;
  }

  get namespaces(): readonly string[] {
    return [this.#namespace, this.#sealed];
  }

  /** Creates what is missing, and waits until all of it runs: while there are no maintenances. */
  async fill(): Promise<void> {
    await this.#bed.eventually(
      'all pods are there and run',
      async () => {
        const pods = await this.#pods();
        return (await this.#complete(pods)) === 0 && pods.every((pod) => isRunning(pod) && !isLeaving(pod));
      },
      WAIT,
    );
  }

  /** Lets those come back that have left, and waits until they run or are leaving again: while there are maintenances. */
  async refill(): Promise<void> {
    const left = async (): Promise<readonly Pod[] | false> => {
      const pods = await this.#pods();
      return !pods.some(isLeaving) && pods;
    };
    await this.#complete(await this.#bed.eventually('what leaves is gone', left, WAIT));
    await this.#bed.eventually(
      'what came back runs or leaves',
      async () => (await this.#pods()).every((pod) => isRunning(pod) || isLeaving(pod)),
      WAIT,
    );
  }

  async #pods(): Promise<readonly Pod[]> {
    return (await Promise.all(this.namespaces.map(async (name) => this.#bed.api.pods(name)))).flat();
  }

  /** Returns how many were missing. */
  async #complete(pods: readonly Pod[]): Promise<number> {
    const there = new Set(pods.map(({ metadata }) => metadata.name));
    const missing = [...this.lone, ...this.shared]
      .flatMap((node) => Object.entries(PODS).map(([name, kind]) => ({ node, name, kind })))
      .filter(({ node, name }) => !there.has(`${name}-${node}`));
    await forAll(missing, async ({ node, name, kind }) => this.#make(node, name, kind));
    return missing.length;
  }

  async #make(node: string, name: string, { kind, budget: by, options }: KindOfPod): Promise<void> {
    const namespace = this.#namespaceBy(by);
    const pod = barePod(namespace, `${name}-${node}`, {
      ...options,
      stopsIn: '1s',
      tolerations: [FAKE_NODE_TOLERATION],
      spec: { nodeName: node },
    });
    const labelled = { ...pod, metadata: { ...pod.metadata, labels: options.labels } };
    const owner = this.#owners.get(name);
    await this.#create(owner ? ownedBy(owner, labelled) : labelled, { kind, hasBudget: by !== undefined });
  }

  #namespaceBy(by: KindOfPod['budget']): string {
    return by === 'namespace' ? this.#sealed : this.#namespace;
  }

  async #create(pod: Manifest, about: Pick<SeenPod, 'kind' | 'hasBudget'>): Promise<void> {
    const madeAt = Date.now();
    const path = `/api/v1/namespaces/${pod.metadata.namespace}/pods`;
    this.#see(await this.#bed.api.create<Pod>(path, pod), { ...about, madeAt });
  }

  #see({ metadata, spec }: Pod, about: Pick<SeenPod, 'kind' | 'hasBudget' | 'madeAt'>): void {
    const { uid, name, namespace = '', labels = {} } = metadata;
    this.seen.set(uid, { uid, namespace, name, labels, node: spec.nodeName ?? '', ...about });
  }

  /** Only that there is a controller counts; these create nothing. */
  async #makeOwners(): Promise<void> {
    for (const [name, { kind, budget: by }] of Object.entries(PODS)) {
      if (kind === 'unmanaged') continue;
      const path = `/api/v1/namespaces/${this.#namespaceBy(by)}/configmaps`;
      const owner = await this.#bed.api.create<Pick<Owner, 'metadata'>>(path, { metadata: { name } });
      this.#owners.set(name, { apiVersion: 'v1', kind: 'ConfigMap', ...owner });
    }
  }

  async #makeBudgets(nodes: number): Promise<void> {
    const all = budget(this.#sealed, 'all', {});
    await this.#bed.kubectl.apply(budget(this.#namespace, 'db', { minAvailable: '100%' }), {
      ...all,
      spec: { selector: {}, minAvailable: nodes },
    });
  }

  async #daemonPods(nodes: Names): Promise<void> {
    const madeAt = Date.now();
    await this.#bed.kubectl.apply(
      daemonSet(this.#namespace, 'agent', { labels: { tier: 'x' }, tolerations: [{ operator: 'Exists' }] }),
    );
    const pods = await this.#bed.eventually('a pod of the DaemonSet runs on each node', async () => {
      const running = (await this.#pods()).filter(isRunning);
      return running.length >= nodes.length && running;
    });
    for (const pod of pods) this.#see(pod, { kind: 'daemon', hasBudget: false, madeAt });
  }

  async #mirrorPods(nodes: Names): Promise<void> {
    for (const name of nodes) {
      const node = await this.#bed.api.get<Node>(`/api/v1/nodes/${name}`);
      const pod = barePod(this.#namespace, `static-${name}`, {
        labels: { app: 'web' },
        annotations: { 'kubernetes.io/config.mirror': 'hash', 'kubernetes.io/config.source': 'file' },
        tolerations: [{ operator: 'Exists' }],
        spec: { nodeName: name },
      });
      const owner = { apiVersion: 'v1', kind: 'Node', metadata: node.metadata };
      await this.#create(ownedBy(owner, pod), { kind: 'mirror', hasBudget: false });
    }
  }
}

const isRunning = ({ status }: Pod): boolean => status?.phase === 'Running';
const isLeaving = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;
