/** Where the rows play: one cluster, the operator in it, nodes to drain and nodes for what leaves them. */
import { join } from 'node:path';
import type { Cluster } from '../cluster/lib/cluster.ts';
import { follow } from '../cluster/lib/follow.ts';
import { KubeClient } from '../cluster/lib/kube-client.ts';
import { nodeMaintenancePath, nodeMaintenancesPath } from '../../src/api/names.ts';
import type { NodeMaintenance } from '../../src/api/types.generated.ts';
import { type AuditEntry, AuditLog } from '../../test/e2e/support/audit.ts';
import { type BudgetOptions, budget, deployment, maintenance } from '../../test/e2e/support/builders.ts';
import { installChart, operatorKubeconfig } from '../../test/e2e/support/install.ts';
import type { OperatorProcess } from '../../test/e2e/support/operator-process.ts';
import { isReady, said, summary } from '../../test/e2e/support/status.ts';
import { TestBed } from '../../test/e2e/support/test-bed.ts';
import { byContestant, USER_AGENTS } from './requests.ts';
import { Waiting } from './waiting.ts';

export interface Placed {
  readonly name: string;
  /** All of its pods are there in the beginning; they may go to any spare. */
  readonly node: string;
  readonly replicas: number;
  readonly stopsIn?: string;
  readonly budget?: Omit<BudgetOptions, 'app'>;
}

/** Enough for the largest row. */
export const TARGETS = 20;
const SPARES = 5;
const QUIET_MS = 1000;
const PLACE_TIMEOUT_MS = 120_000;
const DRAIN_TIMEOUT_MS = 300_000;

export const target = (number: number): string => `target-${String(number).padStart(2, '0')}`;
export const targets = (count: number, from = 1): string[] =>
  Array.from({ length: count }, (_, index) => target(from + index));
export const spares = Array.from({ length: SPARES }, (_, index) => `spare-${index + 1}`);
/** A label that a node to drain and all spares have, so that the pods of one node do not begin on another. */
const poolOf = (node: string): string => `bench.haulout.dev/${node}`;

export class Stage {
  readonly cluster: Cluster;
  readonly bed: TestBed;
  readonly audit: AuditLog;
  readonly #client: KubeClient;
  readonly #ended = new AbortController();
  readonly #maintenances = new Map<string, NodeMaintenance>();
  readonly #waiting = new Waiting();
  #operator: OperatorProcess | undefined;
  #flags: readonly string[] = [];

  /** Without any nodes: for rows that bring their own. */
  static async openEmpty(cluster: Cluster): Promise<Stage> {
    await installChart(cluster);
    return new Stage(cluster, await operatorKubeconfig(cluster));
  }

  static async open(cluster: Cluster): Promise<Stage> {
    const stage = await Stage.openEmpty(cluster);
    const allPools = Object.fromEntries(targets(TARGETS).map((node) => [poolOf(node), '']));
    await Promise.all([
      ...targets(TARGETS).map(async (node) => stage.bed.addNode(node, { labels: { [poolOf(node)]: '' } })),
      ...spares.map(async (node) => stage.bed.addNode(node, { labels: allPools })),
    ]);
    return stage;
  }

  private constructor(cluster: Cluster, operatorConfig: string) {
    const { dir, kubeconfig, binDir } = cluster;
    this.cluster = cluster;
    this.bed = new TestBed('bench', { dir, kubeconfig, binDir, operatorKubeconfig: operatorConfig }, cluster);
    this.audit = new AuditLog(join(dir, 'audit.log'), { readers: Object.values(USER_AGENTS) });
    this.#client = new KubeClient(kubeconfig, 'bench');
    const maintenances = {
      replace: (list: readonly (NodeMaintenance & { metadata: { uid: string } })[]) => {
        this.#maintenances.clear();
        for (const one of list) this.#maintenances.set(one.metadata.name, one);
        this.#waiting.tell();
      },
      changed: (one: NodeMaintenance) => {
        this.#maintenances.set(one.metadata.name, one);
        this.#waiting.tell();
      },
      removed: (one: NodeMaintenance) => {
        this.#maintenances.delete(one.metadata.name);
        this.#waiting.tell();
      },
    };
    void follow(this.#client, nodeMaintenancesPath, maintenances, this.#ended.signal, () => undefined);
  }

  get operator(): OperatorProcess {
    if (!this.#operator) throw new Error('no operator runs');
    return this.#operator;
  }

  /** An operator with these flags and no others; the one that runs stays where it has them. */
  async operate(...flags: readonly string[]): Promise<OperatorProcess> {
    if (this.#operator?.isRunning === true && flags.join(' ') === this.#flags.join(' '))
      return this.#operator;
    await this.#operator?.stop();
    this.#flags = flags;
    // As in production; the tests' log level costs time.
    this.#operator = await this.bed.startOperator({ flags: ['--log-level=info', ...flags] });
    const { pid } = this.#operator;
    await this.bed.eventually(`operator ${pid} leads`, async () => {
      const metrics = await (await this.#operator?.http('/metrics'))?.text();
      return metrics?.includes('\nhaulout_leader 1');
    });
    await this.quiet();
    return this.#operator;
  }

  /** Resolves when all pods run on their nodes, the budgets know them, and the cluster has come to rest. */
  async place(namespace: string, ...workloads: readonly Placed[]): Promise<void> {
    await this.bed.namespace(namespace);
    await Promise.all(spares.map(async (node) => this.bed.cordon(node)));
    const { api } = this.bed;
    await Promise.all(
      workloads.map(async ({ name, node, budget: limits, ...options }) => {
        const nodeSelector = { [poolOf(node)]: '' };
        const collection = `/apis/apps/v1/namespaces/${namespace}/deployments`;
        await api.create(collection, deployment(namespace, name, { ...options, nodeSelector }));
        if (!limits) return;
        const budgets = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`;
        await api.create(budgets, budget(namespace, name, limits));
      }),
    );
    const expected = workloads.reduce((sum, { replicas }) => sum + replicas, 0);
    await this.bed.eventually(
      `${expected} pods are Ready in ${namespace}`,
      async () => {
        const pods = await api.pods(namespace);
        return pods.length === expected && pods.every(isReady);
      },
      { timeoutMs: PLACE_TIMEOUT_MS },
    );
    for (const { name, budget: limits } of workloads)
      if (limits) await this.bed.budgetSettled(namespace, name);
    await Promise.all(spares.map(async (node) => this.bed.uncordon(node)));
    await this.quiet();
  }

  /** Creates a NodeMaintenance for each of the nodes, all at once. */
  async maintain(nodes: readonly string[], drain: NodeMaintenance['spec']['drain'] = {}): Promise<void> {
    await Promise.all(
      nodes.map(async (node) =>
        this.bed.api.create(nodeMaintenancesPath, maintenance(node, node, { drain })),
      ),
    );
  }

  /** Resolves in the moment in which the watch shows all of them Ready, Drained. */
  async drained(nodes: readonly string[], timeoutMs?: number): Promise<void> {
    const isDrained = (node: string): boolean => {
      const object = this.#maintenances.get(node);
      return object !== undefined && said(object, 'Ready') === 'True/Drained';
    };
    await this.#until('all nodes are drained', () => nodes.every(isDrained), timeoutMs);
  }

  /** Waits until the audit log has shown nothing for a while that one of the contestants asks (but watches and Lease). */
  async quiet(who?: 'haulout' | 'kubectl'): Promise<void> {
    await this.bed.eventually('the API server has come to rest', () => {
      const entries = who === undefined ? this.audit.entries() : byContestant(this.audit.entries(), who);
      const last = entries.findLast(
        ({ objectRef, verb }) => objectRef?.resource !== 'leases' && verb !== 'watch',
      );
      return last === undefined || Date.now() - Date.parse(last.stageTimestamp) > QUIET_MS;
    });
  }

  /** Waits for something in the audit log that was written since `mark`. */
  async recorded(
    what: string,
    mark: number,
    test: (entries: readonly AuditEntry[]) => boolean,
  ): Promise<void> {
    await this.bed.eventually(what, () => test(this.audit.entries().slice(mark)), {
      timeoutMs: DRAIN_TIMEOUT_MS,
    });
  }

  /** Everything of a row goes, nodes are as before. Nothing may be broken on the way: it throws where rules were. */
  async clear(...namespaces: readonly string[]): Promise<void> {
    const { api } = this.bed;
    const names = [...this.#maintenances.keys()];
    await Promise.all(names.map(async (name) => api.remove(nodeMaintenancePath(name))));
    await this.#until('all nodes are put back', () => this.#maintenances.size === 0);
    await Promise.all(namespaces.map(async (namespace) => this.#clearNamespace(namespace)));
    await Promise.all(targets(TARGETS).map(async (node) => this.bed.uncordon(node)));
    this.bed.checkAuditLog();
    await this.quiet();
  }

  async #clearNamespace(namespace: string): Promise<void> {
    const { api } = this.bed;
    await api.remove(`/apis/apps/v1/namespaces/${namespace}/deployments`);
    await this.bed.eventually(`no pods are left in ${namespace}`, async () => {
      // Again and again: the controller may have made one more. Nobody waits for 10 s until they have stopped.
      await api.remove(`/api/v1/namespaces/${namespace}/pods`, { gracePeriodSeconds: 0 });
      return (await api.pods(namespace)).length === 0;
    });
    await api.remove(`/api/v1/namespaces/${namespace}`);
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#client.close();
    await this.bed.cleanUp();
  }

  async #until(what: string, test: () => boolean, timeoutMs = DRAIN_TIMEOUT_MS): Promise<void> {
    const explain = (): string => [...this.#maintenances.values()].map(summary).join('\n');
    return this.#waiting.until(what, test, { timeoutMs, explain });
  }
}
