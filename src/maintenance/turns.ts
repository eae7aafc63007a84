import type { NodeMaintenance } from '../api/types.generated.ts';
import { withDefaults } from '../api/defaults.ts';
import { compareText } from '../runtime/compare.ts';

/** How many nodes may be out of service at once: a number of nodes, or whole percent of all nodes. */
export type NodeLimit =
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'percent'; readonly percent: number };

/** The number of nodes that `limit` allows out of `nodes`: rounded down, but at least one, so that nothing hangs. */
export function nodesAllowed(limit: NodeLimit, nodes: number): number {
  const allowed = limit.kind === 'count' ? limit.count : Math.floor((nodes * limit.percent) / 100);
  return Math.max(1, allowed);
}

export interface TurnInput {
  readonly limit: number;
  /** Nodes that haulout holds out of service, and those that were let through and are on their way. */
  readonly held: ReadonlySet<string>;
  /** Maintenances that want to begin on a node that exists. */
  readonly waiting: readonly NodeMaintenance[];
  /** Nodes that had their turn and could not be cordoned: they come after the others. */
  readonly refused: ReadonlySet<string>;
}

/** The nodes whose turn it is now, in order of their oldest maintenance's creation. */
export function nextTurns({ limit, held, waiting, refused }: TurnInput): string[] {
  const order = waiting.toSorted(byCreation).map(({ spec }) => spec.nodeName);
  const candidates = [...new Set(order)]
    .filter((node) => !held.has(node))
    .toSorted((a, b) => Number(refused.has(a)) - Number(refused.has(b)));
  return candidates.slice(0, Math.max(0, limit - held.size));
}

/** Creation times have whole seconds; names decide between objects of the same second. */
export function byCreation(a: NodeMaintenance, b: NodeMaintenance): number {
  return (
    compareText(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
    compareText(a.metadata.name, b.metadata.name)
  );
}

/** Whether a maintenance asks for its node to be taken out of service now. */
export function wantsTurn({ metadata, spec }: NodeMaintenance): boolean {
  const { suspend, nodeDrainPolicy } = withDefaults(spec);
  return metadata.deletionTimestamp === undefined && !suspend && nodeDrainPolicy !== 'Ignore';
}
