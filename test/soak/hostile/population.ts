/** Nodes with one pod of each kind on each, which come back between rounds. */
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
  readonly options: PodOptions;
}

const PODS: Readonly<Record<string, KindOfPod>> = {
  web: { kind: 'managed', options: { labels: { app: 'web', constructor: 'constructor', toString: '' } } },
  db: { kind: 'managed', options: { labels: { app: 'db', tier: 'db', 'a.b/c_d': 'x' } } },
  bare: { kind: 'unmanaged', options: { labels: { app: 'web', tier: 'valueOf' } } },
  scratch: { kind: 'emptyDir', options: { labels: { app: 'x' }, emptyDir: true } },
};

export class Population {
  readonly namespace: string;
  readonly nodes: readonly [string, ...string[]];
  /** By UID: all that there ever were. */
  readonly seen = new Map<string, SeenPod>();
  readonly #bed: TestBed;
  readonly #owner: Parameters<typeof ownedBy>[0];

  private constructor(
    bed: TestBed,
    namespace: string,
    nodes: readonly [string, ...string[]],
    owner: Parameters<typeof ownedBy>[0],
  ) {
    this.#bed = bed;
    this.namespace = namespace;
    this.nodes = nodes;
    this.#owner = owner;
  }

  static async settle(bed: TestBed, count: number): Promise<Population> {
    const namespace = `${bed.prefix}-pods`;
    await bed.namespace(namespace);
    bed.expectPodDeletions(namespace); // the oracle says which may be deleted
    const nodeOf = (number: number): string => `${bed.prefix}-n${number}`;
    const nodes: [string, ...string[]] = [
      nodeOf(0),
      ...Array.from({ length: count - 1 }, (_, at) => nodeOf(at + 1)),
    ];
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
    // Only that there is a controller counts; this one creates nothing.
    const owner = await bed.api.create<{ metadata: { name: string; uid: string } }>(
      `/api/v1/namespaces/${namespace}/configmaps`,
      { metadata: { name: 'owner' } },
    );
    await bed.kubectl.apply(
      daemonSet(namespace, 'agent', { labels: { tier: 'x' }, tolerations: [{ operator: 'Exists' }] }),
      budget(namespace, 'db', { minAvailable: '100%' }),
    );
    const population = new Population(bed, namespace, nodes, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      ...owner,
    });
    await bed.eventually('a pod of the DaemonSet runs on each node', async () => {
      const pods = await bed.api.pods(namespace);
      return pods.filter(({ status }) => status?.phase === 'Running').length >= nodes.length;
    });
    await population.#see();
    await population.#mirrorPods();
    return population;
  }

  /** Creates what is missing, and waits until it runs. */
  async fill(): Promise<void> {
    await this.#bed.eventually(
      'all pods are there and run',
      async () => {
        const pods = await this.#bed.api.pods(this.namespace);
        const there = new Set(pods.map(({ metadata }) => metadata.name));
        const missing = this.#wanted().filter(({ metadata }) => !there.has(metadata.name));
        await forAll(missing, async (pod) => this.#bed.api.create(this.#collection, pod));
        const rest = pods.filter(
          ({ metadata, status }) => metadata.deletionTimestamp !== undefined || status?.phase !== 'Running',
        );
        return missing.length === 0 && rest.length === 0;
      },
      { timeoutMs: 120_000 },
    );
    await this.#see();
  }

  #wanted(): Manifest[] {
    return this.nodes.flatMap((node) =>
      Object.entries(PODS).map(([name, { kind, options }]) => {
        const pod = barePod(this.namespace, `${name}-${node}`, {
          ...options,
          stopsIn: '1s',
          tolerations: [FAKE_NODE_TOLERATION],
          spec: { nodeName: node },
        });
        const labelled = { ...pod, metadata: { ...pod.metadata, labels: options.labels } };
        return kind === 'unmanaged' ? labelled : ownedBy(this.#owner, labelled);
      }),
    );
  }

  get #collection(): string {
    return `/api/v1/namespaces/${this.namespace}/pods`;
  }

  async #mirrorPods(): Promise<void> {
    for (const name of this.nodes) {
      const node = await this.#bed.api.get<Node>(`/api/v1/nodes/${name}`);
      const pod = barePod(this.namespace, `static-${name}`, {
        labels: { app: 'web' },
        annotations: { 'kubernetes.io/config.mirror': 'hash', 'kubernetes.io/config.source': 'file' },
        tolerations: [{ operator: 'Exists' }],
        spec: { nodeName: name },
      });
      await this.#bed.api.create(
        this.#collection,
        ownedBy({ apiVersion: 'v1', kind: 'Node', metadata: node.metadata }, pod),
      );
    }
    await this.#see();
  }

  async #see(): Promise<void> {
    for (const pod of await this.#bed.api.pods(this.namespace)) {
      const { uid, name, namespace = '', labels = {} } = pod.metadata;
      this.seen.set(uid, { uid, namespace, name, labels, node: pod.spec.nodeName ?? '', kind: kindOf(pod) });
    }
  }
}

function kindOf({ metadata }: Pod): SeenPod['kind'] {
  const prefix = metadata.name.split('-')[0] ?? '';
  return prefix === 'agent' ? 'daemon' : prefix === 'static' ? 'mirror' : (PODS[prefix]?.kind ?? 'mirror');
}
