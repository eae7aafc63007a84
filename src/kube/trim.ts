import {
  doNotDisruptAnnotation,
  excludeFromLoadBalancersLabel,
  excludeFromRemediationLabel,
  maintenanceAnnotation,
  maintenanceLabel,
  scaleDownDisabledAnnotation,
} from '../api/names.ts';
import type {
  Condition,
  KubeObject,
  Node,
  ObjectMeta,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  VolumeAttachment,
  Workload,
} from './types.ts';

// What is kept of an object in memory. A field that is added to types.ts has to be added here.

const nodeConditionsOfInterest = new Set([
  'Ready',
  'MaintenancePlanned',
  'MaintenanceInProgress',
  'DrainInProgress',
  'Drained',
]);
const nodeAnnotations = [maintenanceAnnotation, scaleDownDisabledAnnotation, doNotDisruptAnnotation];
const nodeLabels = [maintenanceLabel, excludeFromRemediationLabel, excludeFromLoadBalancersLabel];
const mirrorAnnotation = 'kubernetes.io/config.mirror';

/** Without images, capacity and heartbeats: a node costs a few hundred bytes, and a heartbeat changes nothing. */
export function trimNode(node: Node): Node {
  const { labels: _, ...metadata } = trimMetadata(node.metadata, nodeAnnotations);
  return {
    metadata: { ...metadata, ...labelsOf(node) },
    spec: {
      ...(node.spec?.unschedulable ? { unschedulable: true } : {}),
      ...(node.spec?.taints ? { taints: node.spec.taints } : {}),
    },
    status: {
      conditions: (node.status?.conditions ?? [])
        .filter(({ type }) => nodeConditionsOfInterest.has(type))
        .map(trimNodeCondition),
      ...volumesAttached(node),
    },
  };
}

/** All of a node that is or was in maintenance, as its record may name any; of others those that haulout puts on. */
function labelsOf({ metadata: { labels, annotations } }: Node): Pick<ObjectMeta, 'labels'> {
  if (!labels) return {};
  if (annotations?.[maintenanceAnnotation] !== undefined || labels[maintenanceLabel] !== undefined)
    return { labels };
  const ours = Object.entries(labels).filter(([key]) => nodeLabels.includes(key));
  return ours.length === 0 ? {} : { labels: Object.fromEntries(ours) };
}

/** Heartbeats change nothing, and what a kubelet says in a sentence nobody reads here. */
function trimNodeCondition({ lastHeartbeatTime: _, message, ...condition }: Condition): Condition {
  return condition.type === 'Ready' || message === undefined ? condition : { ...condition, message };
}

/** Of nodes that are in maintenance only: nobody asks for those of the others. */
function volumesAttached({ metadata, status }: Node): Pick<NonNullable<Node['status']>, 'volumesAttached'> {
  if (metadata.annotations?.[maintenanceAnnotation] === undefined || !status?.volumesAttached) return {};
  return { volumesAttached: status.volumesAttached.map(({ name }) => ({ name })) };
}

export function trimPod(pod: Pod): Pod {
  const { nodeName, terminationGracePeriodSeconds, priority, volumes } = pod.spec;
  return {
    metadata: trimMetadata(pod.metadata, [mirrorAnnotation]),
    spec: {
      ...(nodeName === undefined ? {} : { nodeName }),
      ...(terminationGracePeriodSeconds === undefined ? {} : { terminationGracePeriodSeconds }),
      ...(priority === undefined ? {} : { priority }),
      volumes: (volumes ?? [])
        .filter(
          ({ emptyDir, persistentVolumeClaim, ephemeral }) => emptyDir ?? persistentVolumeClaim ?? ephemeral,
        )
        .map(({ name, emptyDir, persistentVolumeClaim, ephemeral }) => ({
          name,
          ...(emptyDir ? { emptyDir: {} } : {}),
          ...(ephemeral ? { ephemeral: {} } : {}),
          ...(persistentVolumeClaim
            ? { persistentVolumeClaim: { claimName: persistentVolumeClaim.claimName } }
            : {}),
        })),
    },
    status: {
      ...(pod.status?.phase === undefined ? {} : { phase: pod.status.phase }),
      conditions: (pod.status?.conditions ?? [])
        .filter(({ type }) => type === 'Ready' || type === 'PodScheduled')
        .map(trimPodCondition),
    },
  };
}

function trimPodCondition({ type, status, reason, lastTransitionTime }: Condition): Condition {
  return {
    type,
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(type === 'Ready' && lastTransitionTime !== undefined ? { lastTransitionTime } : {}),
  };
}

export function trimBudget({ metadata, spec, status }: PodDisruptionBudget): PodDisruptionBudget {
  const { generation, ownerReferences } = metadata;
  const trimmed = {
    metadata: {
      ...identityOf(metadata),
      ...(generation === undefined ? {} : { generation }),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
    },
    spec,
  };
  if (!status) return trimmed;
  const {
    observedGeneration,
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    disruptedPods,
  } = status;
  const failed = status.conditions?.find(({ reason }) => reason === 'SyncFailed');
  return {
    ...trimmed,
    status: {
      ...(observedGeneration === undefined ? {} : { observedGeneration }),
      ...(disruptionsAllowed === undefined ? {} : { disruptionsAllowed }),
      ...(currentHealthy === undefined ? {} : { currentHealthy }),
      ...(desiredHealthy === undefined ? {} : { desiredHealthy }),
      ...(expectedPods === undefined ? {} : { expectedPods }),
      ...(disruptedPods === undefined ? {} : { disruptedPods }),
      ...(failed ? { conditions: [trimFailure(failed)] } : {}),
    },
  };
}

function trimFailure({ type, status, reason, message }: Condition): Condition {
  return {
    type,
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
}

export function trimAttachment({ metadata, spec, status }: VolumeAttachment): VolumeAttachment {
  const { persistentVolumeName } = spec.source;
  return {
    metadata: trimMetadata(metadata, []),
    spec: {
      attacher: spec.attacher,
      nodeName: spec.nodeName,
      source: persistentVolumeName === undefined ? {} : { persistentVolumeName },
    },
    ...(status ? { status: { attached: status.attached } } : {}),
  };
}

export function trimClaim({ metadata }: PersistentVolumeClaim): PersistentVolumeClaim {
  return { metadata: trimMetadata(metadata, []) };
}

export function trimWorkload({ metadata, spec, status }: Workload): Workload {
  const { selector, replicas, ordinals } = spec;
  return {
    metadata: trimMetadata(metadata, []),
    spec: {
      ...(selector ? { selector } : {}),
      ...(replicas === undefined ? {} : { replicas }),
      ...(ordinals ? { ordinals } : {}),
    },
    status: { conditions: (status?.conditions ?? []).map(({ type, status: is }) => ({ type, status: is })) },
  };
}

/** For objects of which only the existence counts. */
export function trimToIdentity({ metadata }: KubeObject): KubeObject {
  return { metadata: identityOf(metadata) };
}

function identityOf(metadata: ObjectMeta): ObjectMeta {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    uid,
    resourceVersion,
    creationTimestamp,
  };
}

/** Drops managedFields and all annotations but those named. */
export function trimMetadata(metadata: ObjectMeta, annotations: readonly string[]): ObjectMeta {
  const kept = Object.entries(metadata.annotations ?? {}).filter(([key]) => annotations.includes(key));
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp } = metadata;
  const { deletionTimestamp, deletionGracePeriodSeconds, labels, finalizers, ownerReferences } = metadata;
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    uid,
    resourceVersion,
    ...(generation === undefined ? {} : { generation }),
    creationTimestamp,
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(deletionGracePeriodSeconds === undefined ? {} : { deletionGracePeriodSeconds }),
    ...(labels === undefined ? {} : { labels }),
    ...(kept.length === 0 ? {} : { annotations: Object.fromEntries(kept) }),
    ...(finalizers === undefined ? {} : { finalizers }),
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
  };
}
