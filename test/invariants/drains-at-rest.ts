/** Drains that have come to where they can go: who is still there is explained, and what is waited for is there. */
import { hasToLeave, isAsked } from './asks.ts';
import { isSo } from './causes.ts';
import { type ClusterState, keyOf, said, type StateMaintenance, type StatePod } from './state.ts';

/** Nothing is left but what belongs to the node, or was left alone as the maintenance says. */
export function falselyDone(maintenance: StateMaintenance, state: ClusterState): string[] {
  const drained = said(maintenance, 'Drained');
  if (drained?.status === 'True') return stays('Drained', hasToLeave, maintenance, state);
  // A selector that nobody can read selects nothing.
  if (drained?.reason !== 'PodsKept' || said(maintenance, 'Ready')?.reason === 'InvalidSpec') return [];
  return stays('PodsKept', (pod) => isAsked(pod, maintenance), maintenance, state);
}

/** Pods that came back again and again are named, and pods that do not stop are not always waited for. */
function stays(
  words: string,
  mustGo: (pod: StatePod) => boolean,
  { metadata, spec, status = {} }: StateMaintenance,
  { pods }: ClusterState,
): string[] {
  const named = new Set((status.blockers ?? []).map(({ pod }) => `${pod.namespace}/${pod.name}`));
  const isPatient = (spec.drain?.skipWaitForDeleteTimeoutSeconds ?? 0) === 0;
  const there = pods.filter(
    (pod) =>
      pod.spec.nodeName === spec.nodeName &&
      mustGo(pod) &&
      !named.has(keyOf(pod)) &&
      (isPatient || pod.metadata.deletionTimestamp === undefined),
  );
  const unlisted = (status.blockersTotal ?? 0) - named.size;
  return there.length > unlisted
    ? [`${metadata.name} says ${words}, and there is ${there.map(keyOf).join(', ')}`]
    : [];
}

/** A drain that waits for nothing, or for what is not so. */
export function idle(maintenance: StateMaintenance, state: ClusterState): string[] {
  const { metadata, spec, status = {} } = maintenance;
  const here = state.pods.filter((pod) => pod.spec.nodeName === spec.nodeName);
  const leaving = here.filter((pod) => isAsked(pod, maintenance));
  const waitsForVolumes =
    said(maintenance, 'VolumesDetached')?.status === 'False' && isLeftAttached(maintenance, here, state);
  if (leaving.length === 0 && !waitsForVolumes)
    return [`${metadata.name} still drains, and nothing is left to leave`];
  const { blockers = [], blockersTotal = 0 } = status;
  const listed = new Map(blockers.map(({ cause, pod }) => [`${pod.namespace}/${pod.name}`, cause]));
  const there = new Set(state.pods.map(keyOf));
  const waiting = leaving.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  const unlisted = waiting.filter((pod) => !listed.has(keyOf(pod)));
  const unexplained = unlisted.length - Math.max(0, blockersTotal - blockers.length);
  return [
    ...[...listed.keys()]
      .filter((key) => !there.has(key))
      .map((key) => `${metadata.name} waits for ${key}, which is gone`),
    ...(unexplained > 0
      ? [
          `${metadata.name} says nothing about ${unexplained} of ${unlisted.map(keyOf).join(', ')}, which stay`,
        ]
      : []),
    ...waiting.flatMap((pod) => {
      const cause = listed.get(keyOf(pod));
      if (cause === undefined || isSo(cause, pod, state)) return [];
      return [`${metadata.name} says that ${keyOf(pod)} is held up by ${cause}, and that is not so`];
    }),
  ];
}

/** Whether a volume is attached that no pod uses which stays. */
function isLeftAttached(
  maintenance: StateMaintenance,
  here: readonly StatePod[],
  { attachments, claims }: ClusterState,
): boolean {
  const staying = new Set(here.filter((pod) => !isAsked(pod, maintenance)).flatMap(claimsOf));
  const used = new Set(
    claims.filter((claim) => staying.has(keyOf(claim))).map(({ spec }) => spec.volumeName),
  );
  return attachments.some(
    ({ spec: { nodeName, source } }) =>
      nodeName === maintenance.spec.nodeName && !used.has(source?.persistentVolumeName ?? ''),
  );
}

/** A generic ephemeral volume's claim is called like the pod and the volume. */
function claimsOf({ metadata: { namespace, name }, spec }: StatePod): string[] {
  return (spec.volumes ?? []).flatMap((volume) => {
    const claim =
      volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral ? `${name}-${volume.name}` : undefined);
    return claim === undefined ? [] : [`${namespace}/${claim}`];
  });
}
