import type { Blocker, NodeMaintenanceStatus } from '../api/types.generated.ts';
import type { Node } from '../kube/types.ts';
import type { RestoreData } from '../node/record.ts';
import { setConditions } from './conditions.ts';
import { describe } from './describe.ts';
import { timestamp } from './drain-clock.ts';
import type { Evacuator } from './evacuation.ts';
import type { Stance } from './stance.ts';

/** The facts from which a status is made. */
export interface StatusFacts {
  readonly stance: Stance;
  readonly node: Node | undefined;
  /** What has to be put back; `undefined` while this maintenance does not hold the node. */
  readonly restoreData: RestoreData | undefined;
  /** The node shows what this maintenance wants. */
  readonly nodeSettled: boolean;
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
}

const longestBlockerList = 10;

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
  const nodeStatus = begun && node ? nodeMirror(node, facts.restoreData) : previous?.node;
  const drain = drainStatus(facts);
  const blockers = facts.drain?.blockers ?? [];
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

function drainStatus({ stance, drain }: StatusFacts): NodeMaintenanceStatus['drain'] {
  const previous = stance.maintenance.status?.drain;
  if (!drain) return stance.evacuates || stance.kind === 'restoring' ? previous : undefined;
  const { view, clock, gone } = drain;
  const remaining = view.remaining.length;
  const total = gone + remaining;
  const ignored = view.staying + view.kept.length + view.abandoned.length;
  return {
    ...clock.times,
    pods: { total, gone, remaining, terminating: view.terminating, ignored },
    progress: `${gone}/${total}`,
  };
}
