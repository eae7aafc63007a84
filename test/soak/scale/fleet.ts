/** A cluster of thousands of fake nodes, and the operator in it as its image has it: the bundle, with the chart's flags. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Plugin } from 'esbuild';
import { buildBundle } from '../../../hack/bundle/build.ts';
import { Waiting } from '../../../hack/bench/waiting.ts';
import type { HeartbeatSettings } from '../../../hack/cluster/lib/heartbeats.ts';
import { follow } from '../../../hack/cluster/lib/follow.ts';
import { KubeClient } from '../../../hack/cluster/lib/kube-client.ts';
import { nodeMaintenancePath, nodeMaintenancesPath } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/types.generated.ts';
import type { Node } from '../../../src/kube/types.ts';
import { type Manifest, maintenance } from '../../e2e/support/builders.ts';
import type { OperatorProcess } from '../../e2e/support/operator-process.ts';
import { said, summary } from '../../e2e/support/status.ts';
import type { TestBed } from '../../e2e/support/test-bed.ts';
import { createAll, forAll } from '../bulk.ts';
import { imageAllocator, imageCommand } from './image-command.ts';
import { fleetNode } from './manifests.ts';
import { OperatorTraffic } from './traffic.ts';

/** Status reports as real kubelets send them; Leases, which the operator does not watch, less often than every 10 s. */
export const FLEET_HEARTBEATS: HeartbeatSettings = { leaseSeconds: 120, statusSeconds: 300 };
export const FLEET_GRACE_SECONDS = 900;

/** Listing thousands of nodes takes a busy machine a while. */
const START_MS = 120_000;

export interface Start {
  readonly operator: OperatorProcess;
  /** From the start of the process until all caches are in sync, and /readyz says so. */
  readonly inSyncSeconds: number;
}

type Followed = NodeMaintenance & { readonly metadata: { readonly uid: string } };

export class Fleet {
  readonly bed: TestBed;
  readonly client: KubeClient;
  /** What operators have asked since this fleet was opened. */
  readonly traffic: OperatorTraffic;
  readonly #bundle: string;
  readonly #allocator: string;
  readonly #ended = new AbortController();
  readonly #maintenances = new Map<string, NodeMaintenance>();
  readonly #drained = new Set<string>();
  readonly #waiting = new Waiting();
  #operator: OperatorProcess | undefined;

  /** `changes`: to the bundle. */
  static async open(bed: TestBed, ...changes: readonly Plugin[]): Promise<Fleet> {
    const { file } = await buildBundle(join(bed.cluster.dir, 'bundle'), changes);
    return new Fleet(bed, file, await imageAllocator());
  }

  private constructor(bed: TestBed, bundle: string, allocator: string) {
    this.bed = bed;
    this.#bundle = bundle;
    this.#allocator = allocator;
    this.traffic = new OperatorTraffic(bed.cluster.auditLog);
    this.client = new KubeClient(bed.files.kubeconfig, 'haulout-test-fleet');
    const followed = {
      replace: (list: readonly Followed[]) => {
        this.#maintenances.clear();
        this.#drained.clear();
        for (const one of list) this.#see(one);
        this.#waiting.tell();
      },
      changed: (one: Followed) => {
        this.#see(one);
        this.#waiting.tell();
      },
      removed: (one: Followed) => {
        this.#maintenances.delete(one.metadata.name);
        this.#drained.delete(one.metadata.name);
        this.#waiting.tell();
      },
    };
    void follow(this.client, nodeMaintenancesPath, followed, this.#ended.signal, () => undefined);
  }

  get operator(): OperatorProcess {
    if (!this.#operator) throw new Error('no operator runs');
    return this.#operator;
  }

  /** A new process in place of the one that runs. `nodeFlags` are Node's own, beside those of the image. */
  async operate(flags: readonly string[] = [], nodeFlags: readonly string[] = []): Promise<Start> {
    await this.#operator?.stop();
    const started = Date.now();
    this.#operator = await this.bed.startOperator({
      ...imageCommand(this.#bundle, this.#allocator, ...nodeFlags),
      flags: ['--log-level=info', ...flags],
      readyMs: START_MS,
    });
    const operator = this.#operator;
    const inSync = operator.log().find(({ message }) => message === 'caches are in sync');
    await this.bed.eventually('the operator leads', () =>
      operator.log().some(({ message }) => message === 'leading'),
    );
    return { operator, inSyncSeconds: (Date.parse(inSync?.timestamp ?? '') - started) / 1000 };
  }

  async addNodes(names: readonly string[], labels: Readonly<Record<string, string>> = {}): Promise<void> {
    const manifests = names.map((name) => fleetNode(name, labels));
    await createAll(this.client, '/api/v1/nodes', manifests);
    await this.bed.eventually(`${names.length} nodes take pods`, async () => (await this.#notReady()) === 0, {
      timeoutMs: 600_000,
    });
  }

  async removeNodes(names: readonly string[]): Promise<void> {
    await forAll(names, async (name) => this.client.must('DELETE', `/api/v1/nodes/${name}`));
  }

  /** Waits until the maintenances of nodes that were removed, which have the nodes' names, say so. */
  async nodesGone(names: readonly string[], timeoutMs: number): Promise<void> {
    await this.until(
      `${names.length} maintenances know that their nodes are gone`,
      (all) =>
        names.every(
          (name) => all.get(name)?.status?.conditions?.some(({ reason }) => reason === 'NodeGone') ?? false,
        ),
      timeoutMs,
    );
  }

  /** Waits until the namespace's Deployments have so many pods that are Ready. */
  async podsReady(namespace: string, pods: number, timeoutMs: number): Promise<void> {
    await this.bed.eventually(
      `${pods} pods are Ready in ${namespace}`,
      async () => {
        const deployments = await this.bed.api.list<{ status?: { readyReplicas?: number } }>(
          `/apis/apps/v1/namespaces/${namespace}/deployments`,
        );
        return deployments.reduce((sum, { status }) => sum + (status?.readyReplicas ?? 0), 0) === pods;
      },
      { timeoutMs },
    );
  }

  /** Creates a maintenance for each of the nodes, with the node's name. */
  async maintain(
    nodes: readonly string[],
    spec: Omit<NodeMaintenance['spec'], 'nodeName'> = {},
  ): Promise<void> {
    const manifests: Iterable<Manifest> = nodes.map((node) => maintenance(node, node, spec));
    await createAll(this.client, nodeMaintenancesPath, manifests);
  }

  /** Resolves in the moment in which the watch shows all of them Ready, Drained. */
  async drained(nodes: readonly string[], timeoutMs: number): Promise<void> {
    await this.until(
      `${nodes.length} nodes are drained`,
      () => this.#drained.size >= nodes.length && nodes.every((node) => this.#drained.has(node)),
      timeoutMs,
    );
  }

  /** Resolves when all of them are gone: their nodes are put back. */
  async endMaintenances(names: readonly string[], timeoutMs: number): Promise<void> {
    await forAll(names, async (name) => this.client.must('DELETE', nodeMaintenancePath(name)));
    await this.until(
      `${names.length} maintenances are gone`,
      () => !names.some((name) => this.#maintenances.has(name)),
      timeoutMs,
    );
  }

  /** Waits for something that the maintenances say. */
  async until(
    what: string,
    test: (maintenances: ReadonlyMap<string, NodeMaintenance>) => boolean,
    timeoutMs: number,
  ): Promise<void> {
    const explain = (): string => {
      const undone = [...this.#maintenances.values()].filter(
        ({ metadata }) => !this.#drained.has(metadata.name),
      );
      return `${this.#maintenances.size} maintenances, not drained: ${undone.length}\n${undone.slice(0, 3).map(summary).join('\n')}\n${this.#operator?.tail(5) ?? ''}`;
    };
    await this.#waiting.until(what, () => test(this.#maintenances), { timeoutMs, explain });
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#operator?.stop();
    await this.client.close();
  }

  #see(one: Followed): void {
    const { name } = one.metadata;
    this.#maintenances.set(name, one);
    if (said(one, 'Ready') === 'True/Drained') this.#drained.add(name);
    else this.#drained.delete(name);
  }

  /** So it is until the node controller has seen that a new one is Ready. */
  async #notReady(): Promise<number> {
    const nodes = await this.bed.api.list<Node>('/api/v1/nodes');
    return nodes.filter(({ spec }) => spec?.taints?.some(({ key }) => key === 'node.kubernetes.io/not-ready'))
      .length;
  }
}

export const pause = async (seconds: number, signal: AbortSignal): Promise<void> =>
  sleep(seconds * 1000, undefined, { signal });
