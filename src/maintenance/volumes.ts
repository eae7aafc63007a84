import type { VolumeMove } from '../api/types.generated.ts';
import { isTerminating } from '../drain/filters.ts';
import type { Node, Pod } from '../kube/types.ts';
import { type Attached, NodeAttachments, isAmong, nameOf } from '../volumes/attachments.ts';
import {
  type Move,
  type MoveInput,
  type Orphan,
  advanceMove,
  beginMove,
  findOrphans,
  knownVolumes,
} from '../volumes/moves.ts';
import type { Evacuator } from './evacuation.ts';
import type { Snapshot } from './snapshot.ts';

/** The volumes of one node, before anything is decided about its pods. */
export interface VolumePart {
  readonly moves: readonly Move[];
  readonly orphans: readonly Orphan[];
  readonly maxConcurrent: number;
  readonly input: MoveInput;
  /** For the memory, which it replaces. */
  readonly carriers: Carriers;
}

/** The pods of one node that have volumes, as moves that have not begun: one of them may vanish without a word. */
export interface Carriers {
  readonly nodeUid: string;
  readonly moves: readonly VolumeMove[];
}

/** Follows what is on the move: what status says of it, brought up to date, and what left without being asked. */
export function followVolumes(
  snapshot: Snapshot,
  node: Node,
  pods: readonly Pod[],
  evacuators: readonly Evacuator[],
): VolumePart {
  const paces = evacuators.map(({ stance }) => stance.spec.drain.volumes);
  const starts = evacuators
    .flatMap(({ clock }) => clock.times.startTime ?? [])
    .map((time) => Date.parse(time));
  const input: MoveInput = {
    nodeName: snapshot.nodeName,
    pods,
    facts: snapshot.volumes,
    here: new NodeAttachments(node, snapshot.volumes.attachments),
    pace: {
      detachTimeoutSeconds: Math.max(...paces.map(({ detachTimeoutSeconds }) => detachTimeoutSeconds)),
      reattachTimeoutSeconds: Math.max(...paces.map(({ reattachTimeoutSeconds }) => reattachTimeoutSeconds)),
    },
    // As long as nothing may be evicted, no time runs.
    drainStart: starts.length > 0 ? Math.min(...starts) : snapshot.now,
    now: snapshot.now,
  };
  const noted = notedMoves(node, evacuators);
  const carriers = carriersOf(node, input, evacuators);
  const begun = [...unasked(carriers.moves, input), ...vanished(snapshot.memory.carriers, carriers, input)];
  const known = new Set(noted.map(({ pod }) => pod.uid));
  const moves = [...noted, ...begun.filter(({ pod }) => !known.has(pod.uid))].flatMap(
    (move) => advanceMove(move, input) ?? [],
  );
  const orphans = findOrphans(moves, input);
  const maxConcurrent = Math.min(...paces.map((pace) => pace.maxConcurrent));
  return { moves, orphans, maxConcurrent, input, carriers };
}

/** What the statuses of all that evacuate the node know; each pod once. */
function notedMoves(node: Node, evacuators: readonly Evacuator[]): VolumeMove[] {
  const byUid = new Map<string, VolumeMove>();
  for (const { stance } of evacuators) {
    const { status } = stance.maintenance;
    if (status?.node?.uid !== node.metadata.uid) continue;
    for (const move of status.drain?.volumes ?? []) byUid.set(move.pod.uid, move);
  }
  return [...byUid.values()];
}

function carriersOf(node: Node, { pods, facts }: MoveInput, evacuators: readonly Evacuator[]): Carriers {
  const moves = pods.flatMap((pod) => {
    const { uid } = pod.metadata;
    if (evacuators.every(({ view }) => view.verdicts.get(uid)?.kind === 'stays')) return [];
    const volumes = knownVolumes(facts, pod);
    return volumes.length > 0 ? [beginMove(pod, volumes)] : [];
  });
  return { nodeUid: node.metadata.uid, moves };
}

/** Pods that are on their way out, deleted by hand or by their controller. */
function unasked(carriers: readonly VolumeMove[], { pods }: MoveInput): readonly VolumeMove[] {
  const leaving = new Set(pods.filter(isTerminating).map(({ metadata }) => metadata.uid));
  return carriers.filter(({ pod }) => leaving.has(pod.uid));
}

/** Pods that were here a moment ago and were never seen to terminate: deleted without a grace period. */
function vanished(before: Carriers | undefined, now: Carriers, { pods }: MoveInput): readonly VolumeMove[] {
  if (before?.nodeUid !== now.nodeUid) return [];
  const here = new Set(pods.map(({ metadata }) => metadata.uid));
  return before.moves.filter(({ pod }) => !here.has(pod.uid));
}

/** Volumes that are still attached to the node, less those of pods that stay. */
export interface Leftovers {
  /** Sorted names. */
  readonly names: readonly string[];
  /** Each of them has had its time. */
  readonly timedOut: boolean;
  /** Wall-clock milliseconds at which the next one has had its time. */
  readonly nextAt: number | undefined;
}

export function findLeftovers({ view }: Evacuator, { moves, input }: VolumePart): Leftovers {
  const { pods, facts, here, now } = input;
  const stays = ({ metadata: { uid } }: Pod) => {
    const kind = view.verdicts.get(uid)?.kind;
    return kind === 'stays' || kind === 'kept';
  };
  const volumesOf = (pod: Pod) => knownVolumes(facts, pod);
  const staying = pods.filter(stays).flatMap(volumesOf);
  const present = pods.filter((pod) => !stays(pod) && !isTerminating(pod)).flatMap(volumesOf);
  const left = here.all.filter((attached) => !isAmong(attached, staying));
  const deadlines = left.map((attached) =>
    isAmong(attached, present) ? Infinity : deadlineOf(attached, moves, input),
  );
  const future = deadlines.filter((deadline) => deadline > now && Number.isFinite(deadline));
  return {
    names: left.map(nameOf).toSorted(),
    timedOut: left.length > 0 && deadlines.every((deadline) => deadline <= now),
    nextAt: future.length > 0 ? Math.min(...future) : undefined,
  };
}

function deadlineOf(attached: Attached, moves: readonly Move[], { drainStart, pace }: MoveInput): number {
  const own = moves.filter(({ volumes }) => isAmong(attached, volumes));
  if (own.length > 0) return Math.max(...own.map(({ deadline }) => deadline ?? Infinity));
  const begun = Date.parse(attached.attachment?.metadata.deletionTimestamp ?? '') || 0;
  return Math.max(begun, drainStart) + pace.detachTimeoutSeconds * 1000;
}
