/** What a test file works with: a cluster with the operator in it, and whatever the file makes there. */
import { join } from 'node:path';
import type { Cluster } from '../../../hack/cluster/lib/cluster.ts';
import { nodeMaintenancePath, nodeMaintenancesPath } from '../../../src/api/names.ts';
import type { NodeMaintenance, NodeMaintenanceSpec } from '../../../src/api/types.generated.ts';
import type { Node, Pod } from '../../../src/kube/types.ts';
import { Api } from './api.ts';
import { AuditLog } from './audit.ts';
import { fakeNode, type Manifest, maintenance, type NodeOptions, namespace } from './builders.ts';
import { cleanUp } from './clean-up.ts';
import { type EventuallyOptions, eventually } from './eventually.ts';
import type { BedFiles } from './install.ts';
import { Island, ISLAND_LABEL } from './island.ts';
import { Kubectl } from './kubectl.ts';
import { bedState } from './bed-state.ts';
import { NotHere } from './not-here.ts';
import { type NodeSnapshot, snapshotOf } from './node-snapshot.ts';
import { nodesLimit, type OperatorOptions, OperatorProcess, tailOf } from './operator-process.ts';
import { place } from './placing.ts';
import { isSettled, isUp, said } from './status.ts';
import { Witness } from './witness.ts';

export interface IslandOptions extends Omit<NodeOptions, 'unschedulable'> {
  /** Other nodes of the island, for pods to go to; 1 unless given. The rest is about the node that is to be maintained. */
  readonly spares?: number;
}

export class TestBed {
  /** Unique for each run of each file; the names of all that it makes begin with it. */
  readonly prefix: string;
  readonly files: BedFiles;
  readonly api: Api;
  readonly kubectl: Kubectl;
  readonly #cluster: Cluster | undefined;
  readonly #witness: Witness;
  readonly #namespaces = new Set<string>();
  readonly #nodes = new Set<string>();
  readonly #operators: OperatorProcess[] = [];

  constructor(prefix: string, files: BedFiles, cluster?: Cluster) {
    this.prefix = prefix;
    this.files = files;
    this.#cluster = cluster;
    this.api = new Api(files.kubeconfig);
    this.kubectl = new Kubectl(join(files.binDir, 'kubectl'), files.kubeconfig);
    const auditLog = cluster?.auditLog ?? files.auditLog;
    const isWhole = cluster !== undefined;
    const audit = auditLog === undefined ? undefined : new AuditLog(auditLog, { fromStart: isWhole });
    this.#witness = new Witness(audit, {
      ownsNamespace: (name) => isWhole || this.#namespaces.has(name),
      ownsNode: (name) => isWhole || this.#nodes.has(name),
    });
  }

  /** One runs that serves all files, or that the file has started and not stopped. */
  get hasOperator(): boolean {
    return this.files.operatorLog !== undefined || this.#operators.some(({ isRunning }) => isRunning);
  }

  /** kind, or somebody's. */
  get isForeign(): boolean {
    return this.#witness.audit === undefined;
  }

  get audit(): AuditLog {
    const { audit } = this.#witness;
    if (!audit) throw new NotHere('this cluster has no audit log');
    return audit;
  }

  /** The control plane itself, to be stopped and started; only where the file has one of its own. */
  get cluster(): Cluster {
    if (!this.#cluster) throw new Error('other tests run on this cluster: use ownTestBed');
    return this.#cluster;
  }

  /** Starts one and waits until it is ready; only where the file has a cluster of its own. */
  async startOperator({
    readyMs,
    ...options
  }: Omit<Partial<OperatorOptions>, 'dir'> & { readonly readyMs?: number } = {}): Promise<OperatorProcess> {
    const { dir } = this.cluster;
    const name = options.name ?? `operator-${this.#operators.length + 1}`;
    const { operatorKubeconfig: kubeconfig } = this.files;
    const operator = new OperatorProcess({ kubeconfig, ...options, dir, name });
    this.#operators.push(operator);
    if (options.pod) this.#witness.standsForOperator(options.pod);
    return operator.ready(readyMs);
  }

  /** Nodes that are Ready and a namespace, for one test. */
  async island(name: string, options: IslandOptions = {}): Promise<Island> {
    const { spares = 1, ...nodeOptions } = options;
    const island = new Island(`${this.prefix}-${name}`, spares);
    const labels = { ...nodeOptions.labels, ...island.nodeSelector };
    await Promise.all([
      this.namespace(island.namespace),
      this.addNode(island.node, { ...nodeOptions, labels }),
      ...island.spares.map(async (spare) =>
        this.addNode(spare, { labels: island.nodeSelector, unschedulable: true }),
      ),
    ]);
    return island;
  }

  async namespace(name: string): Promise<void> {
    this.#namespaces.add(name);
    await this.api.create('/api/v1/namespaces', namespace(name));
    await eventually(`namespace ${name} has its service account`, async () =>
      this.api.find(`/api/v1/namespaces/${name}/serviceaccounts/default`),
    );
  }

  /** A fake node, Ready. */
  async addNode(name: string, options: NodeOptions = {}): Promise<Node> {
    this.#nodes.add(name);
    const own = { ...options, labels: { [ISLAND_LABEL]: this.prefix, ...options.labels } };
    await this.api.create('/api/v1/nodes', fakeNode(name, own, this.isForeign));
    return this.nodeReady(name);
  }

  async nodeReady(name: string): Promise<Node> {
    return eventually(`node ${name} is Ready`, async () => {
      const node = await this.api.node(name);
      return isUp(node) && node;
    });
  }

  /** Applies the manifests while only `island.node` takes pods; returns its pods when all pods of the island are Ready. */
  async place(island: Island, ...manifests: readonly Manifest[]): Promise<readonly Pod[]> {
    return place(this, island, manifests);
  }

  /** Waits until the budget's status is about its present spec and all of its pods. */
  async budgetSettled(ns: string, name: string): Promise<void> {
    await this.eventually(`budget ${ns}/${name} is up to date`, async () =>
      isSettled(await this.api.budget(ns, name)),
    );
  }

  /** Spares are (un)cordoned like this; what is claimed about kubectl cordon is done by kubectl. */
  async cordon(node: string): Promise<void> {
    await this.api.mergePatch(`/api/v1/nodes/${node}`, { spec: { unschedulable: true } });
  }

  async uncordon(node: string): Promise<void> {
    await this.api.mergePatch(`/api/v1/nodes/${node}`, { spec: { unschedulable: null } });
  }

  /** `kubectl apply` of a NodeMaintenance; its name is the node's unless given. Returns the name. */
  async maintain(
    node: string,
    spec: Omit<NodeMaintenanceSpec, 'nodeName'> = {},
    name: string = node,
  ): Promise<string> {
    await this.kubectl.apply(maintenance(name, node, spec));
    return name;
  }

  /** An edit of the spec, as `kubectl patch --type=merge` does it. */
  async edit(name: string, spec: object): Promise<void> {
    await this.kubectl.run(['patch', 'nmaint', name, '--type=merge', '--patch', JSON.stringify({ spec })]);
  }

  /** `kubectl delete`, which waits until the object is gone. */
  async endMaintenance(name: string): Promise<void> {
    await this.kubectl.run(['delete', 'nmaint', name, '--timeout=30s']);
  }

  async maintenance(name: string): Promise<NodeMaintenance> {
    return this.api.maintenance(name);
  }

  /** Waits until the object is as `check` wants it, and returns it. */
  async until(
    name: string,
    description: string,
    check: (object: NodeMaintenance) => boolean | undefined | void,
    options: EventuallyOptions = {},
  ): Promise<NodeMaintenance> {
    const attempt = async (): Promise<NodeMaintenance | false> => {
      const object = await this.maintenance(name);
      return check(object) !== false && object;
    };
    return this.eventually(`${name}: ${description}`, attempt, options);
  }

  /** Waits for `status/reason` of a condition (`True/Drained`), at the object's present generation. */
  async untilSaid(
    name: string,
    type: string,
    statusAndReason: string,
    options: EventuallyOptions = {},
  ): Promise<NodeMaintenance> {
    return this.until(
      name,
      `condition ${type} is ${statusAndReason}`,
      (object) =>
        object.status?.observedGeneration === object.metadata.generation &&
        said(object, type) === statusAndReason,
      options,
    );
  }

  async snapshot(node: string): Promise<NodeSnapshot> {
    return snapshotOf(await this.api.node(node));
  }

  /** As `eventually`, with the state of the file's maintenances and the operator's last lines in the message. */
  async eventually<T>(
    description: string,
    attempt: () => Promise<T | undefined | false> | T | undefined | false,
    options: EventuallyOptions = {},
  ): Promise<T> {
    return eventually(description, attempt, { explain: async () => this.explain(), ...options });
  }

  async explain(): Promise<string> {
    const { operatorLog } = this.files;
    return bedState({
      api: this.api,
      prefix: this.prefix,
      namespaces: [...this.#namespaces],
      audit: this.#witness.audit,
      log:
        operatorLog === undefined
          ? this.#operators.map((operator) => operator.tail()).join('\n')
          : tailOf(operatorLog, 20, [this.prefix]),
    });
  }

  /** From here on, plain deletions of pods by the operator are what the test asks for. */
  expectPodDeletions(...namespaces: readonly string[]): void {
    this.#witness.expectPodDeletions(namespaces);
  }

  /** The test holds up an eviction of this pod on its way, until the pod has left. */
  expectLateEviction(uid: string): void {
    this.#witness.expectLateEviction(uid);
  }

  /** `work` stops the API server and starts it: what that one forbids until it knows its roles again is no rule broken. */
  async outage(work: () => Promise<void>): Promise<void> {
    await this.#witness.outage(work);
  }

  /** Throws when the audit log shows what must never happen; each case is reported once. */
  checkAuditLog(): void {
    this.#witness.check();
  }

  /** As `checkAuditLog`, when nothing is going on: also about the last seconds, of which more might have come. */
  endAuditLog(): void {
    this.#witness.end();
  }

  /** As `endAuditLog`, and lets go of the log: for runs of hours, after each round of theirs. */
  forgetAuditLog(): void {
    this.#witness.forget();
  }

  /**
   * Waits until nothing is lost: every maintenance has come to where it can go, every node that nobody maintains is as it was.
   * Throws when the audit log shows what must never happen, or when something is still lost after a minute. Without an audit
   * log it sees what is lost, but not whose a label or a taint is that is left.
   */
  async checkInvariants(options: EventuallyOptions = {}): Promise<void> {
    const limit = nodesLimit(this.files.dir) ?? this.files.nodesLimit;
    let lost: readonly string[] = [];
    await this.eventually(
      'nothing is lost',
      async () => {
        lost = await this.#witness.lost(this.api, limit);
        return lost.length === 0;
      },
      { ...options, explain: async () => [...lost, await this.explain()].join('\n') },
    );
    this.checkAuditLog();
  }

  /** Waits until the maintenances of the file's nodes have come to where they can go; ends them, until nothing is left. */
  async endAll(): Promise<void> {
    await this.checkInvariants();
    const all = await this.api.list<NodeMaintenance>(nodeMaintenancesPath);
    const own = all.filter(({ spec }) => this.#nodes.has(spec.nodeName));
    await Promise.all(own.map(async ({ metadata }) => this.api.remove(nodeMaintenancePath(metadata.name))));
    await this.checkInvariants();
  }

  /** Takes away what the file has made. On a cluster that it shares, others must not be disturbed by what is left. */
  async cleanUp(): Promise<void> {
    await Promise.all(this.#operators.filter((one) => one.isRunning).map(async (one) => one.kill()));
    if (!this.#cluster) await cleanUp(this.api, this.#nodes, this.#namespaces);
    await this.api.close();
  }
}
