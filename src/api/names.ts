// Every name that haulout gives to something in a cluster, or looks for there. They are part of the contract with users
// (docs/api-reference.md) and with objects that older versions left behind, so none is ever renamed.

/** API group of NodeMaintenance. */
export const group = 'haulout.dev';

/** API version of NodeMaintenance. */
export const version = 'v1alpha1';

/** Group and version as objects carry them in `apiVersion`. */
export const apiVersion = 'haulout.dev/v1alpha1';

/** Kind of the only resource of the group. */
export const kind = 'NodeMaintenance';

/** Plural name of the resource, as in URLs and RBAC rules. */
export const plural = 'nodemaintenances';

/** Path of the (cluster-scoped) collection of all NodeMaintenances. */
export const nodeMaintenancesPath = '/apis/haulout.dev/v1alpha1/nodemaintenances';

/** Path of one NodeMaintenance. */
export function nodeMaintenancePath(name: string): string {
  return `${nodeMaintenancesPath}/${encodeURIComponent(name)}`;
}

/** Path of the status subresource of one NodeMaintenance. */
export function nodeMaintenanceStatusPath(name: string): string {
  return `${nodeMaintenancePath(name)}/status`;
}

/** Key of the taint (effect PreferNoSchedule) that marks a Node as held by at least one maintenance. */
export const maintenanceTaintKey = 'haulout.dev/maintenance';

/** Effect of the marking taint. Not NoSchedule: DaemonSets tolerate a cordon, but not a foreign key. */
export const maintenanceTaintEffect = 'PreferNoSchedule';

/** Label that marks a Node as held; the operator's own pods avoid such Nodes by it. Its value is `"true"`. */
export const maintenanceLabel = 'haulout.dev/maintenance';

/** Annotation of a Node: JSON that says who holds it and what it looked like before. */
export const maintenanceAnnotation = 'haulout.dev/maintenance';

/** Finalizer of a NodeMaintenance: the object goes only when its Node has been put back. */
export const restoreNodeFinalizer = 'haulout.dev/restore-node';

/** Finalizer of a Node under nodeDeletePolicy Evict: the Node's deletion waits for the evacuation. */
export const evacuateFinalizer = 'haulout.dev/evacuate';

/** Annotation that keeps the Cluster Autoscaler from removing the (empty) Node. Value `"true"`. */
export const scaleDownDisabledAnnotation = 'cluster-autoscaler.kubernetes.io/scale-down-disabled';

/** Annotation that keeps Karpenter from disrupting the Node. Value `"true"`. */
export const doNotDisruptAnnotation = 'karpenter.sh/do-not-disrupt';

/** Label that keeps the medik8s remediators from fencing the (rebooting) Node. Value `"true"`. */
export const excludeFromRemediationLabel = 'remediation.medik8s.io/exclude-from-remediation';

/** Label that takes the Node out of external load balancers. Its presence counts; we write `"true"`. */
export const excludeFromLoadBalancersLabel = 'node.kubernetes.io/exclude-from-external-load-balancers';

/** Label of the pod that puts all nodes back before the operator is uninstalled. Its presence counts. */
export const releaseAllLabel = 'haulout.dev/release-all';

/** Annotation of the pods of a Deployment: UIDs of the maintenances for which it was restarted, with commas between. */
export const restartedForAnnotation = 'haulout.dev/restarted-for';

/** Taint that follows `spec.unschedulable` of a Node; Kubernetes puts it on and takes it off. */
export const unschedulableTaintKey = 'node.kubernetes.io/unschedulable';

/** Taint by which an administrator says that a Node is shut down and its volumes may be taken away. */
export const outOfServiceTaintKey = 'node.kubernetes.io/out-of-service';

/** Taint by which a cloud's node controller says that the machine is shut down. */
export const cloudShutdownTaintKey = 'node.cloudprovider.kubernetes.io/shutdown';
