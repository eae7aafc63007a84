import type { NodeMaintenance, NodeMaintenanceStatus } from '../api/types.generated.ts';
import type { Node } from '../kube/types.ts';
import type { NodeChange } from '../node/patch.ts';
import { findCondition, repairReasons } from './conditions.ts';
import type { FoundRecord } from './node-record.ts';
import type { EventNote } from './snapshot.ts';
import type { Stance } from './stance.ts';

// Every Event that haulout emits. Few, and none per pod: they tell what happened, the status tells where it stands.

/** What a new status has to tell. */
export function statusEvents(
  maintenance: NodeMaintenance,
  before: NodeMaintenanceStatus | undefined,
  after: NodeMaintenanceStatus,
  toldCauses: ReadonlySet<string>,
): EventNote[] {
  const events: EventNote[] = [];
  const normal = (reason: string, action: string, note: string) =>
    events.push({ maintenance, type: 'Normal', reason, action, note });
  const warning = (reason: string, action: string, note: string) =>
    events.push({ maintenance, type: 'Warning', reason, action, note });
  const was = findCondition(before?.conditions, 'Ready');
  const ready = findCondition(after.conditions, 'Ready');
  const repaired =
    repairReasons.includes(was?.reason ?? '') &&
    before?.drain?.completionTime === after.drain?.completionTime;
  const reached =
    ready?.status === 'True' && (was?.status !== 'True' || was.reason !== ready.reason) && !repaired;
  if (before?.startTime !== after.startTime && after.startTime !== undefined) {
    const { nodeName, reason } = maintenance.spec;
    normal(
      'MaintenanceStarted',
      'Start',
      `maintenance of node ${nodeName} began${reason ? `: ${reason}` : ''}`,
    );
  }
  if (reached) normal(ready.reason, 'Maintain', ready.message);
  const failure = after.drain?.failure;
  if (failure && before?.drain?.failure?.time !== failure.time)
    warning('DrainFailed', 'Drain', ready?.message ?? failure.message);
  events.push(...volumeEvents(maintenance, before, after, toldCauses));
  const known = new Set([...toldCauses, ...(before?.blockers ?? []).map(({ cause }) => cause)]);
  for (const blocker of after.blockers ?? []) {
    if (known.has(blocker.cause)) continue;
    known.add(blocker.cause);
    const { cause, pod, message } = blocker;
    const note = `${cause}: ${pod.namespace}/${pod.name}: ${message}`;
    events.push({ maintenance, type: 'Warning', reason: 'DrainBlocked', action: 'Drain', note, cause });
  }
  const stalled = findCondition(after.conditions, 'Stalled');
  if (
    stalled &&
    stalled.reason !== 'DrainFailed' &&
    findCondition(before?.conditions, 'Stalled')?.reason !== stalled.reason
  ) {
    warning(stalled.reason, 'Maintain', stalled.message);
  }
  return events;
}

const lateVolumes = {
  DetachTimedOut: {
    reason: 'VolumeDetachTimedOut',
    tells: 'not detached within drain.volumes.detachTimeoutSeconds; the drain goes on',
  },
  AttachTimedOut: {
    reason: 'VolumeAttachTimedOut',
    tells: 'not attached to another node within drain.volumes.reattachTimeoutSeconds; the drain goes on',
  },
} as const;

/** That volumes take longer than they may, once for each direction: the status says which. */
function volumeEvents(
  maintenance: NodeMaintenance,
  before: NodeMaintenanceStatus | undefined,
  after: NodeMaintenanceStatus,
  told: ReadonlySet<string>,
): EventNote[] {
  const event = (reason: string, note: string): EventNote[] =>
    told.has(reason)
      ? []
      : [{ maintenance, type: 'Warning', reason, action: 'MoveVolumes', note, cause: reason }];
  const moves = Object.entries(lateVolumes).flatMap(([phase, { reason, tells }]) => {
    const late = after.drain?.volumes?.find((move) => move.phase === phase);
    if (!late || before?.drain?.volumes?.some((move) => move.phase === phase)) return [];
    const volumes = late.volumes.map(({ persistentVolume }) => persistentVolume).join(', ');
    return event(reason, `${volumes} of pod ${late.pod.namespace}/${late.pod.name}: ${tells}`);
  });
  const end = findCondition(after.conditions, 'VolumesDetached')?.message ?? '';
  return oldAttachmentIsLate(before, after)
    ? [...moves, ...event(lateVolumes.DetachTimedOut.reason, end)]
    : moves;
}

/** What is attached for a pod that left before anybody watched has had its time; there is no move of it. */
export function oldAttachmentIsLate(
  before: NodeMaintenanceStatus | undefined,
  after: NodeMaintenanceStatus | undefined,
): boolean {
  const moves = after?.drain?.volumes ?? [];
  return isLate(after) && !isLate(before) && !moves.some(({ phase }) => phase === 'DetachTimedOut');
}

function isLate(status: NodeMaintenanceStatus | undefined): boolean {
  return findCondition(status?.conditions, 'VolumesDetached')?.reason === 'DetachTimedOut';
}

/** What the end of a maintenance has to tell; `restored`: the node that was put back. */
export function finalizerEvents(maintenance: NodeMaintenance, restored: Node | undefined): EventNote[] {
  if (!restored || maintenance.status?.startTime === undefined) return [];
  const note = `node ${restored.metadata.name} is out of maintenance ${maintenance.metadata.name}`;
  return [{ maintenance, type: 'Normal', reason: 'Restored', action: 'Restore', note }];
}

/** What the write on the node has to tell; empty where nothing is written. */
export function nodeEvents(
  node: Node,
  change: NodeChange,
  found: FoundRecord,
  holding: readonly Stance[],
  written: boolean,
): EventNote[] {
  if (!written) return [];
  const { name } = node.metadata;
  const events: EventNote[] = [];
  if (change.uncordonedByHand) {
    const note = `somebody made node ${name} schedulable although it is in maintenance; it is cordoned again`;
    events.push(
      ...holding.map(({ maintenance }) => about(maintenance, 'Warning', 'CordonPutBack', note)),
      about(undefined, 'Warning', 'CordonPutBack', note),
    );
  }
  if (found.damaged) {
    const note = `the record in annotation haulout.dev/maintenance of node ${name} was damaged`;
    events.push(about(undefined, 'Warning', 'RecordDamaged', `${note}${whatNow(found, holding)}`));
  }
  if (holding.length > 0 && found.restoreData === undefined) {
    const names = holding.map(({ maintenance }) => maintenance.metadata.name).join(', ');
    events.push(
      about(undefined, 'Normal', 'MaintenanceStarted', `taken out of service by maintenance ${names}`),
    );
  }
  if (holding.length === 0 && found.restoreData !== undefined) {
    events.push(about(undefined, 'Normal', 'MaintenanceEnded', 'put back as it was before maintenance'));
  }
  return events;
}

function about(
  maintenance: NodeMaintenance | undefined,
  type: EventNote['type'],
  reason: string,
  note: string,
): EventNote {
  return { maintenance, type, reason, action: 'Cordon', note };
}

function whatNow({ restoreData }: FoundRecord, holding: readonly unknown[]): string {
  if (restoreData) return '; it is written again';
  return holding.length === 0
    ? ' and nothing holds the node; check whether it has to stay cordoned'
    : ' and no maintenance has a copy: as the node is now counts as how it was found; check its cordon, labels and annotations after the maintenance';
}
