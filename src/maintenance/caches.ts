import { maintenanceAnnotation, nodeMaintenancesPath } from '../api/names.ts';
import type { NodeMaintenance } from '../api/types.generated.ts';
import type { Client } from '../kube/client.ts';
import { Reflector, type ReflectorOptions } from '../kube/reflector.ts';
import { Store, type StoreOptions } from '../kube/store.ts';
import { trimMetadata, trimNode } from '../kube/trim.ts';
import type { KubeObject, Node } from '../kube/types.ts';
import { parseRecord } from '../node/record.ts';

/** What all reflectors and stores of this process have in common. */
export interface ReflectorContext {
  readonly reflector: (
    resource: string,
  ) => Omit<ReflectorOptions<KubeObject>, 'client' | 'path' | 'query' | 'metadataOnly' | 'store'>;
  readonly store: Pick<StoreOptions<KubeObject>, 'logger' | 'onListenerError' | 'clock'>;
}

/** A reflector without the type of its objects. */
export type RunningReflector = Pick<
  Reflector<KubeObject>,
  'hasSynced' | 'synced' | 'state' | 'start' | 'stop'
>;

/** When the watches of one resource heard of it last (the most silent one counts), in wall-clock milliseconds. */
export function lastSeen(
  resource: string,
  reflectors: readonly Pick<RunningReflector, 'state'>[],
): [string, number][] {
  const times = reflectors.map(({ state }) => state.lastSeenMs).filter((time) => time !== undefined);
  return times.length > 0 ? [[resource, Math.min(...times)]] : [];
}

/** A node that lists its images is ten times as large as most other objects. */
const nodesPerPage = 100;

/** The objects that every replica knows, leader or not: a standby takes over without listing anything. */
export class Caches {
  readonly nodes: Store<Node>;
  readonly maintenances: Store<NodeMaintenance>;
  readonly #reflectors: readonly RunningReflector[];

  constructor(client: Client, context: ReflectorContext) {
    this.nodes = new Store<Node>({ trim: trimNode, ...context.store }).index('held', (node) =>
      isHeld(node) ? held : undefined,
    );
    this.maintenances = new Store<NodeMaintenance>({ trim: trimMaintenance, ...context.store }).index(
      'node',
      (maintenance) => (isReadable(maintenance) ? maintenance.spec.nodeName : undefined),
    );
    this.#reflectors = [
      new Reflector<Node>({
        ...context.reflector('nodes'),
        client,
        store: this.nodes,
        path: '/api/v1/nodes',
        pageSize: nodesPerPage,
      }),
      new Reflector<NodeMaintenance>({
        ...context.reflector('nodemaintenances'),
        client,
        store: this.maintenances,
        path: nodeMaintenancesPath,
      }),
    ];
  }

  start(): void {
    for (const reflector of this.#reflectors) reflector.start();
  }

  get hasSynced(): boolean {
    return this.#reflectors.every(({ hasSynced }) => hasSynced);
  }

  /** Resolves when both collections are known. */
  get synced(): Promise<unknown> {
    return Promise.all(this.#reflectors.map(({ synced }) => synced));
  }

  lastSeen(): [string, number][] {
    return this.#reflectors.flatMap((reflector, index) =>
      lastSeen(cachedResources[index] ?? '', [reflector]),
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.stop()));
  }
}

// In the order of the reflectors above.
const cachedResources = ['nodes', 'nodemaintenances'];

/** Index value of the nodes that carry a record with holders. */
export const held = 'held';

/** Whether the node carries such a record. */
export function isHeld(node: Node): boolean {
  const text = node.metadata.annotations?.[maintenanceAnnotation];
  // A damaged record is repaired, and as long the node counts as out of service.
  return text !== undefined && (parseRecord(text)?.holders.length ?? 1) > 0;
}

/**
 * Whether the object has the shape that everything else takes for granted. The API server sees to it, except for objects
 * that were stored under another version of the CRD.
 */
export function isReadable({ spec }: { readonly spec?: unknown }): boolean {
  if (typeof spec !== 'object' || spec === null) return false;
  const { nodeName, drain } = spec as { nodeName?: unknown; drain?: unknown };
  const drainIsReadable = drain === undefined || (typeof drain === 'object' && drain !== null);
  return typeof nodeName === 'string' && nodeName !== '' && drainIsReadable;
}

function trimMaintenance({ metadata, spec, status }: NodeMaintenance): NodeMaintenance {
  return { metadata: trimMetadata(metadata, []), spec, ...(status ? { status } : {}) };
}
