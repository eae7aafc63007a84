import type { MovingPodOwner, MovingVolume, VolumeMove } from '../api/types.generated.ts';
import { isFinished, isTerminating } from '../drain/filters.ts';
import type { Pod, Workload } from '../kube/types.ts';
import { claimsOf } from './attachable.ts';

/** Who comes after a pod that left, as far as its volumes are concerned. */
export interface Succession {
  /** Claims of the pod that exist and are not being deleted. */
  readonly claims: ReadonlySet<string>;
  /** Pods of its namespace that may be its successors; others are among them. */
  readonly pods: readonly Pod[];
  /** Its controller may still make a successor. */
  readonly moreToCome: boolean;
}

/**
 * Whether there is still somebody for whom the volume will be attached to another node: without a claim, or with
 * nobody to use it, no attachment comes.
 */
export function willBeAttached(
  volume: MovingVolume,
  succession: Succession,
  nodeName: string,
  uid: string,
): boolean {
  if (volume.claim === undefined || !succession.claims.has(volume.claim)) return false;
  const users = successors(volume, succession, nodeName, uid);
  if (users.length === 0) return succession.moreToCome;
  return !users.every(isUnschedulable);
}

/** Live pods elsewhere, or not placed yet, that use the volume's claim. */
export function successors(
  { claim }: MovingVolume,
  { pods }: Succession,
  nodeName: string,
  uid: string,
): readonly Pod[] {
  return pods.filter(
    (pod) =>
      pod.metadata.uid !== uid &&
      pod.spec.nodeName !== nodeName &&
      !isFinished(pod) &&
      !isTerminating(pod) &&
      claimsOf(pod).some((use) => use.claim === claim),
  );
}

function isUnschedulable(pod: Pod): boolean {
  return (
    pod.spec.nodeName === undefined &&
    (pod.status?.conditions ?? []).some(
      ({ type, status, reason }) =>
        type === 'PodScheduled' && status === 'False' && reason === 'Unschedulable',
    )
  );
}

/** Controllers that are watched, with their collections. Others are taken at their word: the time-out ends the wait. */
const workloadPaths: Readonly<Record<string, string>> = {
  'apps/v1 StatefulSet': 'statefulsets',
  'apps/v1 ReplicaSet': 'replicasets',
  'batch/v1 Job': 'jobs',
};

/** The collection in which the controller is; `undefined` where its kind is not known. */
export function workloadPath({ apiVersion, kind }: MovingPodOwner, namespace: string): string | undefined {
  const plural = workloadPaths[`${apiVersion} ${kind}`];
  return plural === undefined ? undefined : `/apis/${apiVersion}/namespaces/${namespace}/${plural}`;
}

/** Whether the controller will make a successor of this very pod; `workload` is undefined where it does not exist. */
export function makesSuccessor({ pod, owner }: VolumeMove, workload: Workload | undefined): boolean {
  if (!owner || workload?.metadata.uid !== owner.uid) return false;
  if (workload.metadata.deletionTimestamp !== undefined) return false;
  const { replicas = 1, ordinals } = workload.spec;
  switch (owner.kind) {
    case 'StatefulSet': {
      const start = ordinals?.start ?? 0;
      const ordinal = Number(pod.name.slice(pod.name.lastIndexOf('-') + 1));
      return ordinal >= start && ordinal < start + replicas;
    }
    case 'Job':
      return !(workload.status?.conditions ?? []).some(
        ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
      );
    default:
      return replicas > 0;
  }
}
