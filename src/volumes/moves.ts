import type { MovingVolume, VolumeMove } from '../api/types.generated.ts';
import { controllerOf, isTerminating } from '../drain/filters.ts';
import type { Pod } from '../kube/types.ts';
import { timestamp } from '../runtime/timestamp.ts';
import { type AttachmentIndex, type NodeAttachments, isAmong } from './attachments.ts';
import { type Succession, successors, willBeAttached } from './succession.ts';

/** The attachable volumes of a pod. */
export type PodVolumes =
  | { readonly kind: 'known'; readonly volumes: readonly MovingVolume[] }
  /** Being looked up; `problem` says why the last look failed. */
  | { readonly kind: 'unknown'; readonly problem: string | undefined };

/** All that the plan may know of volumes. Pure look-ups, taken at one moment. */
export interface VolumeFacts {
  readonly volumesOf: (pod: Pod) => PodVolumes;
  readonly attachments: AttachmentIndex;
  /** `undefined` as long as it is not known. */
  readonly successionOf: (move: VolumeMove) => Succession | undefined;
}

/** Those that are known by now. */
export function knownVolumes({ volumesOf }: VolumeFacts, pod: Pod): readonly MovingVolume[] {
  const found = volumesOf(pod);
  return found.kind === 'known' ? found.volumes : [];
}

export interface MovePace {
  readonly maxConcurrent: number;
  readonly detachTimeoutSeconds: number;
  readonly reattachTimeoutSeconds: number;
}

export interface MoveInput {
  readonly nodeName: string;
  /** All pods of the node. */
  readonly pods: readonly Pod[];
  readonly facts: VolumeFacts;
  readonly here: NodeAttachments;
  readonly pace: Omit<MovePace, 'maxConcurrent'>;
  /** When evicting became allowed; wall-clock milliseconds, as is `now`. */
  readonly drainStart: number;
  readonly now: number;
}

export type MovePhase = 'Leaving' | 'Detaching' | 'Attaching' | 'DetachTimedOut' | 'AttachTimedOut';

/** A move with its phase worked out, and when that phase will have lasted too long (wall-clock milliseconds). */
export interface Move extends VolumeMove {
  readonly phase: MovePhase;
  readonly deadline: number | undefined;
}

/** A move that begins: its pod is here and has not been asked to leave. */
export function beginMove(pod: Pod, volumes: readonly MovingVolume[]): Move {
  const { namespace = '', name, uid } = pod.metadata;
  const owner = controllerOf(pod);
  return {
    pod: { namespace, name, uid },
    ...(owner
      ? { owner: { apiVersion: owner.apiVersion, kind: owner.kind, name: owner.name, uid: owner.uid } }
      : {}),
    volumes: [...volumes],
    phase: 'Leaving',
    deadline: undefined,
  };
}

/** Where a move stands now; `undefined` when it is over. Level-triggered: nothing but what is read now counts. */
export function advanceMove(move: VolumeMove, input: MoveInput): Move | undefined {
  const pod = input.pods.find(({ metadata }) => metadata.uid === move.pod.uid);
  if (pod) return leaving(move, pod, input);
  // What another pod of this node still uses cannot be detached: the last of them is waited for.
  const own = move.volumes.filter((volume) => !isUsedHere(volume, input));
  if (own.some((volume) => input.here.holds(volume))) {
    const since = wholeSecond(Math.max(sinceOf(move, detachPhases) ?? input.now, input.drainStart));
    return detaching(move, 'Detaching', since, input);
  }
  if (move.phase === 'DetachTimedOut' || input.pace.reattachTimeoutSeconds === 0) return undefined;
  const awaited = own.filter((volume) => isAwaitedElsewhere(move, volume, input));
  if (awaited.length === 0) return undefined;
  const since = sinceOf(move, attachPhases) ?? wholeSecond(input.now);
  const deadline = since + input.pace.reattachTimeoutSeconds * 1000;
  const phase = input.now >= deadline ? 'AttachTimedOut' : 'Attaching';
  return { ...move, phase, since: timestamp(since), deadline };
}

const detachPhases: readonly string[] = ['Leaving', 'Detaching', 'DetachTimedOut'];
const attachPhases: readonly string[] = ['Attaching', 'AttachTimedOut'];

function leaving(move: VolumeMove, pod: Pod, input: MoveInput): Move {
  const { deletionTimestamp } = pod.metadata;
  if (deletionTimestamp === undefined) {
    const { since: _, ...rest } = move;
    return { ...rest, phase: 'Leaving', deadline: undefined };
  }
  // A pod's deletionTimestamp includes its grace period.
  const since = wholeSecond(Math.max(Date.parse(deletionTimestamp), input.drainStart));
  return detaching(move, 'Leaving', since, input);
}

function detaching(move: VolumeMove, phase: MovePhase, since: number, { pace, now }: MoveInput): Move {
  const deadline = since + pace.detachTimeoutSeconds * 1000;
  return { ...move, phase: now >= deadline ? 'DetachTimedOut' : phase, since: timestamp(since), deadline };
}

function sinceOf({ phase, since }: VolumeMove, phases: readonly string[]): number | undefined {
  return since === undefined || phase === undefined || !phases.includes(phase)
    ? undefined
    : Date.parse(since);
}

function isUsedHere(volume: MovingVolume, { pods, facts }: MoveInput): boolean {
  return pods
    .flatMap((pod) => knownVolumes(facts, pod))
    .some(({ persistentVolume }) => persistentVolume === volume.persistentVolume);
}

function isAwaitedElsewhere(move: VolumeMove, volume: MovingVolume, { facts, nodeName }: MoveInput): boolean {
  if (volume.ephemeral) return false;
  const elsewhere = facts.attachments
    .ofVolume(volume.persistentVolume)
    .filter(({ spec, status }) => spec.nodeName !== nodeName && status?.attached);
  // One that may be attached to many nodes was there before, for others.
  if (elsewhere.length > 0 && !volume.multiNode) return false;
  const succession = facts.successionOf(move);
  if (!succession) return true;
  if (!willBeAttached(volume, succession, nodeName, move.pod.uid)) return false;
  const nodes = successors(volume, succession, nodeName, move.pod.uid).map(({ spec }) => spec.nodeName);
  return !elsewhere.some(({ spec }) => nodes.includes(spec.nodeName));
}

// What is usual, with a kubelet that reports every 10 s and a provider with a queue.
const slowDetachMs = 30_000;

/**
 * Wall-clock milliseconds from which it is said that others wait for the detaching, or for the pod that has not stopped
 * after its grace period; `undefined`: neither is due.
 */
export function slowAt({ phase, since }: VolumeMove): number | undefined {
  const isDue = phase === 'Detaching' || phase === 'Leaving';
  return isDue && since !== undefined ? Date.parse(since) + slowDetachMs : undefined;
}

/** The same of an attachment that no move is about. */
export function orphanSlowAt({ since }: Orphan): number | undefined {
  return since === undefined ? undefined : since + slowDetachMs;
}

/** Still waited for: it takes a place in the lanes of its drivers. */
export function isUnderway({ phase }: VolumeMove): boolean {
  return phase !== 'DetachTimedOut' && phase !== 'AttachTimedOut';
}

/** An attachment to the node that no pod here uses and no move is about: somebody's pod that left unseen. */
export interface Orphan {
  readonly driver: string;
  readonly persistentVolume: string;
  /** Wall-clock milliseconds; `undefined` as long as a pod that is still looked at could turn out to use it. */
  readonly since: number | undefined;
  /** Wall-clock milliseconds until which it is waited for. */
  readonly deadline: number;
}

export function findOrphans(moves: readonly Move[], input: MoveInput): Orphan[] {
  const { pods, facts, here, drainStart, pace } = input;
  const used = pods.flatMap((pod) => knownVolumes(facts, pod));
  const allKnown = pods.every((pod) => facts.volumesOf(pod).kind === 'known');
  const accounted = [...used, ...moves.flatMap(({ volumes }) => volumes)];
  return here.all.flatMap((attached) => {
    const { attachment, persistentVolume } = attached;
    if (!attachment || persistentVolume === undefined || isAmong(attached, accounted)) return [];
    const begun = Date.parse(attachment.metadata.deletionTimestamp ?? '') || 0;
    const since = Math.max(begun, drainStart);
    const deadline = since + pace.detachTimeoutSeconds * 1000;
    return [
      {
        driver: attachment.spec.attacher,
        persistentVolume,
        since: allKnown ? since : undefined,
        deadline,
      },
    ];
  });
}

export function driversOf(volumes: readonly MovingVolume[]): readonly string[] {
  return [...new Set(volumes.map(({ driver }) => driver))];
}

export function isPending(move: VolumeMove, pods: readonly Pod[]): boolean {
  const pod = pods.find(({ metadata }) => metadata.uid === move.pod.uid);
  return pod !== undefined && !isTerminating(pod);
}

/** Status keeps whole seconds: rounded up, so that no wait is cut short. */
function wholeSecond(ms: number): number {
  return Math.ceil(ms / 1000) * 1000;
}
