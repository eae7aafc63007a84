import { maintenanceAnnotation, scaleDownDisabledAnnotation, doNotDisruptAnnotation } from '../api/names.ts';
import type { KubeObject, Node, ObjectMeta, Pod, PodDisruptionBudget } from './types.ts';

// What is kept of an object in memory. A field that is added to types.ts has to be added here.

const nodeConditionsOfInterest = new Set([
  'Ready',
  'MaintenancePlanned',
  'MaintenanceInProgress',
  'DrainInProgress',
  'Drained',
]);
const nodeAnnotations = [maintenanceAnnotation, scaleDownDisabledAnnotation, doNotDisruptAnnotation];
const mirrorAnnotation = 'kubernetes.io/config.mirror';

/** Without images, capacity and heartbeats: a node costs a few hundred bytes, and a heartbeat changes nothing. */
export function trimNode(node: Node): Node {
  return {
    metadata: trimMetadata(node.metadata, nodeAnnotations),
    spec: {
      ...(node.spec?.unschedulable ? { unschedulable: true } : {}),
      ...(node.spec?.taints ? { taints: node.spec.taints } : {}),
    },
    status: {
      conditions: (node.status?.conditions ?? [])
        .filter(({ type }) => nodeConditionsOfInterest.has(type))
        .map(({ lastHeartbeatTime: _, ...condition }) => condition),
    },
  };
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
        .filter(({ emptyDir }) => emptyDir !== undefined)
        .map(({ name }) => ({ name, emptyDir: {} })),
    },
    status: {
      ...(pod.status?.phase === undefined ? {} : { phase: pod.status.phase }),
      conditions: (pod.status?.conditions ?? [])
        .filter(({ type }) => type === 'Ready')
        .map(({ type, status }) => ({ type, status })),
    },
  };
}

export function trimBudget({ metadata, spec, status }: PodDisruptionBudget): PodDisruptionBudget {
  const trimmed = { metadata: trimMetadata(metadata, []), spec };
  if (!status) return trimmed;
  const {
    observedGeneration,
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    disruptedPods,
  } = status;
  return {
    ...trimmed,
    status: {
      ...(observedGeneration === undefined ? {} : { observedGeneration }),
      ...(disruptionsAllowed === undefined ? {} : { disruptionsAllowed }),
      ...(currentHealthy === undefined ? {} : { currentHealthy }),
      ...(desiredHealthy === undefined ? {} : { desiredHealthy }),
      ...(expectedPods === undefined ? {} : { expectedPods }),
      ...(disruptedPods === undefined ? {} : { disruptedPods }),
    },
  };
}

/** For objects of which only the existence counts. */
export function trimToIdentity({ metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid,
      resourceVersion,
      creationTimestamp,
    },
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
