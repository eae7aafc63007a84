/** What a maintenance asks of its node's pods, read from docs/drain.md and docs/sharing.md. */
import { selects } from './selector.ts';
import { type ClusterState, nodeOf, type StateMaintenance, type StatePod } from './state.ts';

export function evacuates(maintenance: StateMaintenance, state: Pick<ClusterState, 'nodes'>): boolean {
  const { nodeDrainPolicy = 'Evacuate', nodeDeletePolicy } = maintenance.spec;
  const isLeaving = nodeOf(maintenance, state)?.metadata.deletionTimestamp !== undefined;
  return nodeDrainPolicy === 'Evacuate' || (nodeDeletePolicy === 'Evict' && isLeaving);
}

export function hasToLeave({ metadata }: StatePod): boolean {
  const isMirror = metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined;
  return !isMirror && controllerOf(metadata)?.kind !== 'DaemonSet';
}

/** Whether this maintenance has a say about it: what it leaves alone it need not explain. Block counts before Skip. */
export function isAsked(pod: StatePod, { spec: { drain = {} } }: StateMaintenance): boolean {
  const { podSelector = {}, unmanagedPods = 'Block', emptyDirPods = 'Evict' } = drain;
  const policies = [
    ...(isUnmanaged(pod) ? [unmanagedPods] : []),
    ...(hasEmptyDir(pod) ? [emptyDirPods] : []),
  ];
  const isSkipped = policies.includes('Skip') && !policies.includes('Block');
  return hasToLeave(pod) && selects(podSelector, pod.metadata.labels ?? {}) && !isSkipped;
}

/** Nothing would create it again, and it is not over. */
export const isUnmanaged = ({ metadata, status }: StatePod): boolean =>
  !isFinished(status?.phase) && controllerOf(metadata) === undefined;

/** It has data that would be lost. */
export const hasEmptyDir = ({ spec, status }: StatePod): boolean =>
  !isFinished(status?.phase) && (spec.volumes?.some(({ emptyDir }) => emptyDir !== undefined) ?? false);

const isFinished = (phase: string | undefined): boolean => phase === 'Succeeded' || phase === 'Failed';

function controllerOf({ ownerReferences = [] }: StatePod['metadata']) {
  return ownerReferences.find(({ controller }) => controller === true);
}
