import {
  maintenanceAnnotation,
  nodeMaintenancePath,
  nodeMaintenanceStatusPath,
  nodeMaintenancesPath,
  restoreNodeFinalizer,
} from '../api/names.ts';
import type { NodeMaintenance } from '../api/types.generated.ts';
import { everythingPermitted } from '../drain/permissions.ts';
import type { Answer, Refusal } from '../kube/answer.ts';
import type { Client } from '../kube/client.ts';
import { InFlight } from '../kube/in-flight.ts';
import { listAll } from '../kube/list-all.ts';
import { pause } from '../kube/pause.ts';
import { trimNode } from '../kube/trim.ts';
import type { Node } from '../kube/types.ts';
import { isReadable } from '../maintenance/caches.ts';
import { timestamp } from '../maintenance/drain-clock.ts';
import { Memory } from '../maintenance/memory.ts';
import { carriesOurs } from '../maintenance/node-looks.ts';
import { plan } from '../maintenance/plan.ts';
import type { FinalizerWrite, Plan, Snapshot } from '../maintenance/snapshot.ts';
import { hasFinalizer } from '../maintenance/stance.ts';
import { mergePatch } from '../maintenance/status-diff.ts';
import { byCreation } from '../maintenance/turns.ts';
import { nodeConditionsPatch } from '../node/conditions.ts';
import { parseRecord } from '../node/record.ts';
import type { Clock } from '../runtime/clock.ts';
import { releasedStatus } from './released.ts';

export interface ReleaserOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** What was done, as a sentence. */
  readonly say: (line: string) => void;
}

interface World {
  readonly nodes: ReadonlyMap<string, Node>;
  readonly maintenances: readonly NodeMaintenance[];
}

const nodesAtOnce = 10;
/** What was refused may be allowed a moment later: a conflict, a webhook that starts. */
const retryMs = 1_000;

/**
 * Puts every node back and takes all finalizers off, with the operator's own planner, as if all maintenances had been
 * deleted. The objects stay. Nobody else may do the operator's work meanwhile.
 */
export class Releaser {
  readonly #options: ReleaserOptions;
  readonly #wire = new InFlight(nodesAtOnce);
  /** What is still to do, and why it is. */
  readonly #left = new Map<string, string>();

  constructor(options: ReleaserOptions) {
    this.#options = options;
  }

  /** What is left to do, as sentences; empty when all is done. */
  get left(): readonly string[] {
    return [...this.#left].map(([what, why]) => `${what}: ${why}`).toSorted();
  }

  /** Goes on until a look at the whole cluster finds nothing of haulout, or `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    this.#left.set('the cluster', 'was not read in time');
    while (!signal.aborted) {
      const refused = await this.#pass(signal);
      if (this.#left.size === 0) return;
      if (refused) await pause(clock, retryMs, signal);
    }
  }

  /** One look at everything, and one step for every node; whether something was refused. */
  async #pass(signal: AbortSignal): Promise<boolean> {
    const world = await this.#read(signal);
    if ('kind' in world) {
      this.#left.set('the cluster', world.message);
      return true;
    }
    const broken = world.maintenances.filter((each) => !isReadable(each) && hasFinalizer(each));
    const readable = world.maintenances.filter(isReadable);
    const names = new Set([
      ...readable.filter(hasFinalizer).map(({ spec }) => spec.nodeName),
      ...[...world.nodes.values()].filter(carriesOurs).map(({ metadata }) => metadata.name),
    ]);
    const before = new Map(this.#left);
    this.#left.clear();
    const step = async (what: string, work: () => Promise<Refusal | undefined>): Promise<boolean> => {
      // As long as it is not found done it is not done, whoever interrupts.
      this.#left.set(what, before.get(what) ?? 'not done in time');
      await this.#wire.enter(signal);
      try {
        const refusal = await work();
        if (refusal) this.#left.set(what, refusal.message);
        return refusal !== undefined;
      } finally {
        this.#wire.leave();
      }
    };
    const results = await Promise.all([
      ...[...names].map((name) => step(`node ${name}`, () => this.#restore(name, world, signal))),
      ...broken.map((each) =>
        step(`maintenance ${each.metadata.name}`, () => this.#dropFinalizer(without(each), signal)),
      ),
    ]);
    return results.includes(true);
  }

  async #read(signal: AbortSignal): Promise<World | Refusal> {
    const { client } = this.#options;
    const [nodes, maintenances] = await Promise.all([
      listAll<Node>(client, '/api/v1/nodes', { query: {}, signal, map: trimNode }),
      listAll<NodeMaintenance>(client, nodeMaintenancesPath, { query: {}, signal, map: (each) => each }),
    ]);
    if (nodes.kind !== 'ok') return nodes;
    // Without the CRD there are no maintenances; nodes may still carry what is left of them.
    if (maintenances.kind !== 'ok' && maintenances.kind !== 'notServed') return maintenances;
    return {
      nodes: new Map(nodes.object.items.map((node) => [node.metadata.name, node])),
      maintenances: maintenances.kind === 'ok' ? maintenances.object.items : [],
    };
  }

  async #restore(
    nodeName: string,
    { nodes, maintenances }: World,
    signal: AbortSignal,
  ): Promise<Refusal | undefined> {
    const { clock, say } = this.#options;
    const node = nodes.get(nodeName);
    const own = maintenances.filter((each) => isReadable(each) && each.spec.nodeName === nodeName);
    const now = clock.now();
    const work = plan(asIfDeleted(nodeName, node, own, now));
    const refusal = node && (await this.#writeNode(node, work, now, signal));
    if (refusal) return refusal;
    if (work.nodePatch) say(`node ${nodeName} is as it was before`);
    for (const write of work.dropFinalizers) {
      const object = own.find(({ metadata }) => metadata.uid === write.maintenance.metadata.uid);
      const problem = await this.#release({ ...write, maintenance: object ?? write.maintenance }, signal);
      if (problem) return { ...problem, message: `${write.maintenance.metadata.name}: ${problem.message}` };
    }
    return undefined;
  }

  async #writeNode(node: Node, work: Plan, now: number, signal: AbortSignal): Promise<Refusal | undefined> {
    const { client } = this.#options;
    const path = `/api/v1/nodes/${node.metadata.name}`;
    let present = node;
    if (work.nodePatch) {
      const answer = await client.patch<Node>(path, 'merge', work.nodePatch, { signal });
      if (answer.kind !== 'ok') return refusalOf(answer);
      present = answer.object;
    }
    if (!work.nodeConditions) return undefined;
    const body = nodeConditionsPatch(present, work.nodeConditions, timestamp(now));
    return refusalOf(await client.patch(`${path}/status`, 'strategic', body, { signal }));
  }

  /** The status first: without the finalizer it must not tell of a node that this maintenance holds. */
  async #release(write: FinalizerWrite, signal: AbortSignal): Promise<Refusal | undefined> {
    const { client, clock } = this.#options;
    const { maintenance } = write;
    const { name, resourceVersion, deletionTimestamp } = maintenance.metadata;
    if (deletionTimestamp !== undefined) return this.#dropFinalizer(write, signal);
    const status = mergePatch(maintenance.status ?? {}, releasedStatus(maintenance, clock.now()));
    const body = { metadata: { resourceVersion }, status };
    const path = nodeMaintenanceStatusPath(name);
    const answer = await client.patch<NodeMaintenance>(path, 'merge', body, { signal });
    if (answer.kind !== 'ok') return refusalOf(answer);
    return this.#dropFinalizer({ ...write, maintenance: answer.object }, signal);
  }

  async #dropFinalizer(
    { maintenance, finalizers }: Pick<FinalizerWrite, 'maintenance' | 'finalizers'>,
    signal: AbortSignal,
  ): Promise<Refusal | undefined> {
    const { name, resourceVersion } = maintenance.metadata;
    const body = { metadata: { resourceVersion, finalizers } };
    const path = nodeMaintenancePath(name);
    const refusal = refusalOf(await this.#options.client.patch(path, 'merge', body, { signal }));
    if (!refusal) this.#options.say(`maintenance ${name} is released`);
    return refusal;
  }
}

/** What is gone needs nothing more. */
function refusalOf(answer: Answer): Refusal | undefined {
  return answer.kind === 'ok' || answer.kind === 'notFound' ? undefined : answer;
}

function without(maintenance: NodeMaintenance): Pick<FinalizerWrite, 'maintenance' | 'finalizers'> {
  const finalizers = maintenance.metadata.finalizers ?? [];
  return { maintenance, finalizers: finalizers.filter((finalizer) => finalizer !== restoreNodeFinalizer) };
}

/** A node whose maintenances have all been deleted just now. */
function asIfDeleted(
  nodeName: string,
  node: Node | undefined,
  own: readonly NodeMaintenance[],
  now: number,
): Snapshot {
  const memory = new Memory();
  // The list was complete: who is not in it does not exist.
  const text = node?.metadata.annotations?.[maintenanceAnnotation];
  const holders = text === undefined ? [] : (parseRecord(text)?.holders ?? []);
  for (const { uid } of holders)
    if (!own.some(({ metadata }) => metadata.uid === uid)) memory.absentHolders.add(uid);
  return {
    now,
    monotonic: 0,
    nodeName,
    node,
    maintenances: own
      .map((each) => ({ ...each, metadata: { ...each.metadata, deletionTimestamp: timestamp(now) } }))
      .toSorted(byCreation),
    // Nobody is evicted, so nothing about pods matters.
    pods: undefined,
    budgetsOf: () => [],
    daemonSetExists: () => true,
    volumes: {
      volumesOf: () => ({ kind: 'known', volumes: [] }),
      attachments: { toNode: () => [], ofVolume: () => [] },
      successionOf: () => undefined,
    },
    admitted: true,
    permitted: everythingPermitted,
    self: undefined,
    memory: memory.view(nodeName),
  };
}
