import type { Blocker, NodeMaintenanceStatus } from '../api/types.generated.ts';
import type { Node } from '../kube/types.ts';
import type { RestoreData } from '../node/record.ts';
import { setConditions } from './conditions.ts';
import { describe } from './describe.ts';
import { timestamp } from './drain-clock.ts';
import type { Evacuator } from './evacuation.ts';
import type { Stance } from './stance.ts';
import type { Leftovers } from './volumes.ts';
import type { Move, Orphan } from '../volumes/moves.ts';

/** The facts from which a status is made. */
export interface StatusFacts {
  readonly stance: Stance;
  readonly node: Node | undefined;
  /** What has to be put back; `undefined` while this maintenance does not hold the node. */
  readonly restoreData: RestoreData | undefined;
  /** The node shows what this maintenance wants. */
  readonly nodeSettled: boolean;
  /** There is a record of what was done to the node: what is missing on it is a repair or an edit, not the beginning. */
  readonly heldAlready: boolean;
  readonly uncordonedByHand: boolean;
  readonly foreignTaints: readonly string[];
  /** Why the node could not be written the last time. */
  readonly nodeWriteProblem: string | undefined;
  /** `undefined`: this maintenance does not evacuate, or the pods are not known yet. */
  readonly drain: DrainFacts | undefined;
  readonly now: number;
}

export interface DrainFacts extends Evacuator {
  readonly blockers: readonly Blocker[];
  /** Pods that had to leave and are gone. */
  readonly gone: number;
  /** Pods whose volumes are on the move, and those that took too long. */
  readonly moves: readonly Move[];
  /** Attachments that no pod here uses and no move is about, as long as they are waited for. */
  readonly orphans: readonly Orphan[];
  /** What is still attached and has to be detached. */
  readonly leftovers: Leftovers;
}

const longestBlockerList = 10;
// As the CRD limits it; a node has room for far fewer volumes.
const longestMoveList = 1_000;

/** The status that says what the facts are; as long as they stay the same it is the same to the letter. */
export function computeStatus(facts: StatusFacts): NodeMaintenanceStatus {
  const { stance, node, now } = facts;
  const { metadata, status: previous } = stance.maintenance;
  const begun = stance.kind === 'announced' || stance.kind === 'holding';
  const sameNode = node === undefined || previous?.node?.uid === node.metadata.uid;
  const { phase, conditions } = describe(facts);
  const startTime = begun
    ? ((sameNode ? previous?.startTime : undefined) ?? timestamp(now))
    : previous?.startTime;
  const mirrors = begun && node && !(sameNode && isLettingGo(facts));
  const nodeStatus = mirrors ? nodeMirror(node, facts.restoreData) : previous?.node;
  if (previous && sameNode && goesOnUnseen(facts))
    return { ...previous, ...(nodeStatus ? { node: nodeStatus } : {}) };
  const drain = drainStatus(facts, sameNode);
  // Since when pods are held up must survive a restart, and the first plans after it do not know the pods yet.
  const blockers = facts.drain?.blockers ?? (sameNode && stance.evacuates ? (previous?.blockers ?? []) : []);
  return {
    ...(metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }),
    phase,
    ...(startTime === undefined ? {} : { startTime }),
    ...(nodeStatus ? { node: nodeStatus } : {}),
    ...(drain ? { drain } : {}),
    ...(blockers.length > 0 ? { blockers: blockers.slice(0, longestBlockerList) } : {}),
    blockersTotal: blockers.length,
    conditions: setConditions(previous?.conditions ?? [], conditions, metadata.generation, now),
  };
}

/** A process that has just started does not know the pods yet, and has nothing to say until it does. */
function goesOnUnseen({ stance, nodeSettled, drain }: StatusFacts): boolean {
  const { metadata, status } = stance.maintenance;
  return (
    drain === undefined &&
    stance.evacuates &&
    nodeSettled &&
    status?.drain !== undefined &&
    status.observedGeneration === metadata.generation
  );
}

/** What it put on the node is still there, although it does not want it any more. */
export function isLettingGo({ stance, nodeSettled }: StatusFacts): boolean {
  const leaves = stance.kind === 'announced' || stance.kind === 'restoring';
  return leaves && !nodeSettled && stance.maintenance.status?.node?.before !== undefined;
}

function nodeMirror(
  node: Node,
  restoreData: RestoreData | undefined,
): NonNullable<NodeMaintenanceStatus['node']> {
  const { uid } = node.metadata;
  if (!restoreData) return { uid };
  const { labels, annotations, taints } = restoreData.added;
  const added = { labels: { ...labels }, annotations: { ...annotations }, taints: [...taints] };
  return { uid, before: restoreData.before, added };
}

function drainStatus({ stance, drain }: StatusFacts, sameNode: boolean): NodeMaintenanceStatus['drain'] {
  // What was done on another node of the same name says nothing about this one.
  const previous = sameNode ? stance.maintenance.status?.drain : undefined;
  if (!drain) return stance.evacuates || stance.kind === 'restoring' ? previous : undefined;
  const { view, clock, gone, moves } = drain;
  const remaining = view.remaining.length;
  const total = gone + remaining;
  const ignored = view.staying + view.kept.length + view.abandoned.length;
  return {
    ...clock.times,
    pods: { total, gone, remaining, terminating: view.terminating, ignored },
    progress: `${gone}/${total}`,
    ...(moves.length > 0
      ? { volumes: moves.slice(0, longestMoveList).map(({ deadline: _, ...move }) => move) }
      : {}),
  };
}
