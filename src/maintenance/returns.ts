import type { NodeMaintenance } from '../api/types.generated.ts';
import { controllerOf } from '../drain/filters.ts';
import type { Obstacle } from '../drain/obstacles.ts';
import type { Pod } from '../kube/types.ts';
import { findCondition } from './conditions.ts';
import { heldUpSince } from './evacuation.ts';
import type { Snapshot } from './snapshot.ts';

// Pods that come back to the node that they were evicted from: they tolerate its cordon, or name it in spec.nodeName.

const mostEvictions = 3;
const cause = 'ReturnsAfterEviction';

/** The pods of one controller that were evicted from a node, one in place of the other. */
export interface Lineage {
  /** Evictions of pods that came after the last one that counts. */
  readonly evictions: number;
  /** UIDs of the pods that were there when the last one that counts was accepted: they are no sign of a return. */
  readonly contemporaries: ReadonlySet<string>;
}

/** Who would put another pod in the place of this one: its controller; the pods of a StatefulSet each by themselves. */
export function lineageOf(pod: Pod): string | undefined {
  const owner = controllerOf(pod);
  if (!owner) return undefined;
  const { namespace = '', name } = pod.metadata;
  return `${namespace}/${owner.uid}${owner.kind === 'StatefulSet' ? `/${name}` : ''}`;
}

/** The lineage after `pod` was evicted; `present` are the pods of the node. */
export function afterEviction(
  before: Lineage | undefined,
  pod: Pod,
  present: readonly Pod[],
  maintenances: readonly NodeMaintenance[],
): Lineage {
  const { uid } = pod.metadata;
  if (before?.contemporaries.has(uid)) return before;
  // A watch that lags may show a pod late that was there before anybody was evicted.
  if (before && !cameAfterCordon(pod, maintenances))
    return { ...before, contemporaries: new Set([...before.contemporaries, uid]) };
  const own = lineageOf(pod);
  const siblings = present.filter((each) => lineageOf(each) === own).map((each) => each.metadata.uid);
  return { evictions: (before?.evictions ?? 0) + 1, contemporaries: new Set([...siblings, uid]) };
}

/** Whether evicting the pod would only bring another one. What status says of a pod counts after a restart. */
export function keepsReturning(snapshot: Snapshot, pod: Pod): boolean {
  const lineage = snapshot.memory.lineages.get(lineageOf(pod) ?? '');
  const tired = lineage !== undefined && lineage.evictions >= mostEvictions;
  if (tired && !lineage.contemporaries.has(pod.metadata.uid) && cameAfterCordon(pod, snapshot.maintenances))
    return true;
  return heldUpSince(snapshot, pod, [cause]) !== undefined;
}

export function returnsAfterEviction(pod: Pod): Obstacle {
  const owner = controllerOf(pod);
  return {
    cause,
    message:
      `evicted ${mostEvictions} times, and each time ${owner?.kind ?? 'its controller'} ${owner?.name ?? ''} put another one on this node; ` +
      'take the toleration of node.kubernetes.io/unschedulable or spec.nodeName out of its template, or scale it down; it is not waited for',
  };
}

function cameAfterCordon({ metadata }: Pod, maintenances: readonly NodeMaintenance[]): boolean {
  const cordons = maintenances
    .map(({ status }) => findCondition(status?.conditions, 'Cordoned'))
    .filter((condition) => condition?.status === 'True')
    .map((condition) => Date.parse(condition?.lastTransitionTime ?? ''));
  return cordons.some((cordonedAt) => Date.parse(metadata.creationTimestamp) >= cordonedAt);
}
