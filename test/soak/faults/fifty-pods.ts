/**
 * Fifty pods with budgets and volumes, which are drained from one of two nodes to the other, back and forth, while a
 * schedule of faults lies between the operator and the API server.
 */
import { AuditLog } from '../../e2e/support/audit.ts';
import type { Island } from '../../e2e/support/island.ts';
import { maintenance } from '../../e2e/support/builders.ts';
import { isReady } from '../../e2e/support/status.ts';
import { errorMessage } from '../../../hack/cluster/lib/untyped.ts';
import type { TestBed } from '../../e2e/support/test-bed.ts';
import { nodeMaintenancePath, nodeMaintenancesPath } from '../../../src/api/names.ts';
import type { Pod } from '../../../src/kube/types.ts';
import type { Strike } from './faults.ts';
import type { FaultProxy } from './proxy.ts';
import { schedule } from './schedule.ts';

export const POD_COUNT = 50;
/** From the last fault on: many times what a drain takes that nothing disturbs. */
const PROGRESS_MS = 60_000;
const BUDGETS = ['lane', 'quorum'];

export interface Drained {
  readonly seconds: number;
  readonly strikes: readonly Strike[];
}

export class FiftyPods {
  readonly #bed: TestBed;
  readonly #proxy: FaultProxy;
  readonly #auditLog: string;
  readonly #island: Island;
  #from: string;
  #to: string;
  #rounds = 0;

  /** Returns when all pods are Ready on one node. */
  static async place(bed: TestBed, proxy: FaultProxy): Promise<FiftyPods> {
    const island = await bed.island('faults');
    const quick = { stopsIn: '0s' };
    await bed.place(
      island,
      island.deployment('web', { ...quick, replicas: 32 }),
      island.deployment('lane', { ...quick, replicas: 6 }),
      island.budget('lane', { maxUnavailable: 2 }),
      // No StatefulSet: its next pod may have the name before the disruption controller has seen the last one go, and is
      // then taken for a disrupted one for two minutes.
      island.deployment('quorum', { ...quick, replicas: 6 }),
      island.budget('quorum', { minAvailable: 4 }),
      ...island.volumes(6),
      island.statefulSet('db', { ...quick, replicas: 6, claimTemplates: [island.claimTemplate('data')] }),
      island.daemonSet('agent'),
    );
    return new FiftyPods(bed, proxy, island);
  }

  private constructor(bed: TestBed, proxy: FaultProxy, island: Island) {
    this.#bed = bed;
    this.#proxy = proxy;
    this.#auditLog = bed.cluster.auditLog;
    this.#island = island;
    this.#from = island.node;
    this.#to = island.spares[0] ?? '';
  }

  /** One drain and one restoration under the schedule of this seed. Throws, with the seed, where something is not as it must be. */
  async drain(seed: number): Promise<Drained> {
    const started = performance.now();
    try {
      await this.#drain(seed);
    } catch (error) {
      throw new Error(`${this.#report(seed)}\n${errorMessage(error)}`, { cause: error });
    } finally {
      this.#proxy.disarm();
    }
    return { seconds: (performance.now() - started) / 1000, strikes: this.#proxy.strikes };
  }

  async #drain(seed: number): Promise<void> {
    const bed = this.#bed;
    const from = this.#from;
    const leaving = await this.#settled(from);
    const before = await bed.snapshot(from);
    const audit = new AuditLog(this.#auditLog);
    const name = `${this.#island.name}-${++this.#rounds}`;
    this.#proxy.arm(schedule(seed));
    await bed.api.create(
      nodeMaintenancesPath,
      maintenance(name, from, { drain: { retryIntervalSeconds: 1, volumes: { maxConcurrent: 6 } } }),
    );
    await bed.untilSaid(name, 'Ready', 'True/Drained', { timeoutMs: PROGRESS_MS });
    await bed.api.remove(nodeMaintenancePath(name));
    await bed.eventually(
      `${name} is gone`,
      async () => (await bed.api.find(nodeMaintenancePath(name))) === undefined,
      { timeoutMs: PROGRESS_MS },
    );
    [this.#from, this.#to] = [this.#to, from];
    await this.#settled(this.#from);
    const after = await bed.snapshot(from);
    if (JSON.stringify(after) !== JSON.stringify(before))
      throw new Error(`${from} was not put back: ${JSON.stringify(after)} was ${JSON.stringify(before)}`);
    this.#evictedOnce(leaving, audit);
  }

  /** Returns the pods that would leave the node, all fifty, when they and their budgets are at rest there. */
  async #settled(node: string): Promise<readonly Pod[]> {
    const { api } = this.#bed;
    const { namespace } = this.#island;
    const pods = await this.#bed.eventually(
      `${POD_COUNT} pods are Ready on ${node}`,
      async () => {
        const all = await api.pods(namespace);
        const leaving = all.filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind !== 'DaemonSet');
        const isSettled = leaving.every((pod) => isReady(pod) && pod.spec.nodeName === node);
        return leaving.length === POD_COUNT && isSettled && leaving;
      },
      { timeoutMs: PROGRESS_MS },
    );
    await Promise.all(BUDGETS.map(async (budget) => this.#bed.budgetSettled(namespace, budget)));
    return pods;
  }

  #evictedOnce(pods: readonly Pod[], audit: AuditLog): void {
    const accepted = audit.accepted(this.#island.namespace).map(({ uid }) => uid);
    for (const { metadata } of pods) {
      const times = accepted.filter((uid) => uid === metadata.uid).length;
      if (times !== 1) throw new Error(`the eviction of ${metadata.name} was accepted ${times} times`);
    }
    if (accepted.length !== pods.length)
      throw new Error(`${accepted.length} evictions were accepted for ${pods.length} pods`);
  }

  #report(seed: number): string {
    const struck = this.#proxy.strikes.map(
      ({ fault, on, at }) => `  ${new Date(at).toISOString()} ${on}: ${JSON.stringify(fault)}`,
    );
    return [`the schedule of seed ${seed} is not survived; what happened:`, ...struck].join('\n');
  }
}
