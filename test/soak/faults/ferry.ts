/**
 * Pods that are drained from one of two nodes to the other, back and forth, while faults lie between the operator and the
 * API server. Whatever they are, all of this has to hold each time.
 */
import { errorMessage } from '../../../hack/cluster/lib/untyped.ts';
import { nodeMaintenancePath, nodeMaintenancesPath } from '../../../src/api/names.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { AuditLog } from '../../e2e/support/audit.ts';
import { type Manifest, maintenance } from '../../e2e/support/builders.ts';
import type { Island } from '../../e2e/support/island.ts';
import { podsExpected } from '../../e2e/support/placing.ts';
import { isReady } from '../../e2e/support/status.ts';
import type { TestBed } from '../../e2e/support/test-bed.ts';
import type { Fault, Strike } from './faults.ts';
import type { FaultProxy } from './proxy.ts';

/** For each step of a drain; many times what one takes that nothing disturbs. */
const PROGRESS_MS = 60_000;

export interface Crossing {
  readonly seconds: number;
  readonly strikes: readonly Strike[];
  readonly node: string;
  readonly maintenance: string;
  /** What the API server was asked meanwhile. */
  readonly audit: AuditLog;
}

export class Ferry {
  readonly #bed: TestBed;
  readonly #proxy: FaultProxy;
  readonly #island: Island;
  readonly #podCount: number;
  readonly #budgets: readonly string[];
  #from: string;
  #to: string;
  #crossings = 0;

  /** Returns when all pods are Ready on one node. */
  static async load(
    bed: TestBed,
    proxy: FaultProxy,
    name: string,
    load: (island: Island) => readonly Manifest[],
  ): Promise<Ferry> {
    const island = await bed.island(name);
    const manifests = load(island);
    await bed.place(island, ...manifests);
    return new Ferry(bed, proxy, island, manifests);
  }

  private constructor(bed: TestBed, proxy: FaultProxy, island: Island, manifests: readonly Manifest[]) {
    this.#bed = bed;
    this.#proxy = proxy;
    this.#island = island;
    // On no node at all there are none of DaemonSets, which stay.
    this.#podCount = podsExpected(manifests, 0);
    this.#budgets = manifests
      .filter(({ kind }) => kind === 'PodDisruptionBudget')
      .map(({ metadata }) => metadata.name);
    this.#from = island.node;
    this.#to = island.spares[0] ?? '';
  }

  get namespace(): string {
    return this.#island.namespace;
  }

  /** Drains the node and puts it back. Throws, with all that has struck, where something is not as it must be. */
  async cross(faults: readonly Fault[]): Promise<Crossing> {
    const started = performance.now();
    const node = this.#from;
    const name = `${this.#island.name}-${++this.#crossings}`;
    const audit = new AuditLog(this.#bed.cluster.auditLog);
    try {
      const leaving = await this.#settled(node);
      const before = await this.#bed.snapshot(node);
      this.#proxy.arm(faults);
      await this.#drainAndRestore(name, node);
      [this.#from, this.#to] = [this.#to, node];
      await this.#settled(this.#from);
      const after = await this.#bed.snapshot(node);
      if (JSON.stringify(after) !== JSON.stringify(before))
        throw new Error(
          `${node} was not put back: ${JSON.stringify(after)}, before ${JSON.stringify(before)}`,
        );
      this.#evictedOnce(leaving, audit);
      await this.#bed.checkInvariants({ timeoutMs: PROGRESS_MS });
    } catch (error) {
      throw new Error(`${errorMessage(error)}\nwhat struck:\n${this.#told()}`, { cause: error });
    } finally {
      this.#proxy.disarm();
    }
    const seconds = (performance.now() - started) / 1000;
    return { seconds, strikes: this.#proxy.strikes, node, maintenance: name, audit };
  }

  async #drainAndRestore(name: string, node: string): Promise<void> {
    const bed = this.#bed;
    const drain = { retryIntervalSeconds: 1, volumes: { maxConcurrent: 10 } };
    await bed.api.create(nodeMaintenancesPath, maintenance(name, node, { drain }));
    await bed.untilSaid(name, 'Ready', 'True/Drained', { timeoutMs: PROGRESS_MS });
    const left = (await bed.api.podsOnNode(node)).filter(leaves);
    if (left.length > 0) throw new Error(`${name} is Drained, and there are ${left.length} pods`);
    await bed.checkInvariants({ timeoutMs: PROGRESS_MS });
    await bed.api.remove(nodeMaintenancePath(name));
    await bed.eventually(
      `${name} is gone`,
      async () => (await bed.api.find(nodeMaintenancePath(name))) === undefined,
      { timeoutMs: PROGRESS_MS },
    );
  }

  /** Returns the pods that would leave the node, when all of them and their budgets are at rest there. */
  async #settled(node: string): Promise<readonly Pod[]> {
    const bed = this.#bed;
    const pods = await bed.eventually(
      `${this.#podCount} pods are Ready on ${node}`,
      async () => {
        const all = (await bed.api.pods(this.namespace)).filter(leaves);
        const isSettled = all.every((pod) => isReady(pod) && pod.spec.nodeName === node);
        return all.length === this.#podCount && isSettled && all;
      },
      { timeoutMs: PROGRESS_MS },
    );
    await Promise.all(this.#budgets.map(async (budget) => bed.budgetSettled(this.namespace, budget)));
    return pods;
  }

  #evictedOnce(pods: readonly Pod[], audit: AuditLog): void {
    const accepted = audit.accepted(this.namespace).map(({ uid }) => uid);
    for (const { metadata } of pods) {
      const times = accepted.filter((uid) => uid === metadata.uid).length;
      if (times !== 1) throw new Error(`the eviction of ${metadata.name} was accepted ${times} times`);
    }
    if (accepted.length !== pods.length)
      throw new Error(`${accepted.length} evictions were accepted for ${pods.length} pods`);
  }

  #told(): string {
    const lines = this.#proxy.strikes.map(
      ({ fault, on, at }) => `  ${new Date(at).toISOString()} ${on}: ${JSON.stringify(fault)}`,
    );
    return lines.join('\n');
  }
}

function leaves({ metadata }: Pod): boolean {
  return metadata.ownerReferences?.[0]?.kind !== 'DaemonSet';
}
