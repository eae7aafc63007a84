// Generated from crds/ by `make generate`. Do not edit.
// JSON shapes as the API server sends them: times are RFC 3339 strings, and a field with a default may be missing in an
// object that was stored before the default existed (see defaults.ts).
import type { KubeObject } from '../kube/types.ts';

/** One wish: take this node out of service, like this, until the object is deleted. */
export interface NodeMaintenance extends KubeObject {
  readonly spec: NodeMaintenanceSpec;
  readonly status?: NodeMaintenanceStatus;
}

/**
 * What is wanted. It belongs to the user alone: the operator never writes it. Everything but nodeName
 * may be edited at any time and takes effect at once, also in the middle of a drain.
 */
export interface NodeMaintenanceSpec {
  /**
   * Name of the Node to take out of service, as in `kubectl get nodes`. It cannot be changed. The node
   * need not exist yet: the maintenance is Pending until it does.
   */
  nodeName: string;
  /**
   * Why the node is taken out of service, for people. Shown on the node, in events and in `kubectl get
   * nmaint -o wide`. At most 1024 characters; it has no other effect.
   */
  reason?: string;
  /**
   * What is done to the node. Ignore: nothing, the maintenance is only announced (node condition,
   * event). NoSchedule: the node is cordoned and marked; its pods stay, none arrives. Evacuate (the
   * default): the node is cordoned and marked, its pods leave, and it is kept empty until the end. An
   * edit takes effect at once: Evacuate to NoSchedule stops evicting, a change to Ignore also uncordons.
   *
   * Default: "Evacuate"
   */
  nodeDrainPolicy?: 'Ignore' | 'NoSchedule' | 'Evacuate';
  /**
   * What happens when the Node object is deleted while this maintenance exists. Orphan (the default):
   * nothing is held up. Evict: a finalizer on the Node holds its deletion while the pods are evacuated,
   * whatever nodeDrainPolicy says, for at most nodeDeleteTimeoutSeconds. The finalizer comes off at once
   * when the node has not been Ready for 60 seconds or is marked as shut down. It helps where the
   * machine still runs, as after `kubectl delete node`.
   *
   * Default: "Orphan"
   */
  nodeDeletePolicy?: 'Orphan' | 'Evict';
  /**
   * Under nodeDeletePolicy Evict the longest time, in seconds, that the deletion of the Node is held up,
   * whatever drain.onTimeout and suspend say. Without effect under Orphan. Default 3600 (an hour).
   *
   * Default: 3600
   */
  nodeDeleteTimeoutSeconds?: number;
  /**
   * true: nothing new is evicted and deadlines stand still; what is done stays done (the node stays
   * cordoned, pods that are already terminating go). A maintenance that is suspended before it began
   * stays Pending and leaves the node alone. Default false.
   *
   * Default: false
   */
  suspend?: boolean;
  /**
   * true (the default): under nodeDrainPolicy Evacuate the node carries the label
   * node.kubernetes.io/exclude-from-external-load-balancers, so that load balancers send it no new
   * connections. false: the label is not put on.
   *
   * Default: true
   */
  excludeFromLoadBalancers?: boolean;
  /**
   * Extra taints for the node while the maintenance lasts, under NoSchedule and Evacuate. Rarely needed:
   * the node is cordoned anyway and carries the taint haulout.dev/maintenance:PreferNoSchedule.
   * NoSchedule has its price: DaemonSets tolerate a cordon but not a foreign NoSchedule key, so a daemon
   * pod that dies meanwhile (network, storage, monitoring) does not come back until the maintenance
   * ends, unless its DaemonSet tolerates the key. A taint of the same key and effect that the node
   * already has with another value is left alone and reported. Unset: none.
   */
  taints?: ExtraTaint[];
  drain?: DrainSpec;
}
/**
 * One extra taint. Key and effect together are unique in the list.
 */
export interface ExtraTaint {
  /**
   * Key of the taint, such as example.com/maintenance. Not under haulout.dev/, which is the operator's
   * own, and not under node.kubernetes.io/ or node.cloudprovider.kubernetes.io/, which Kubernetes acts
   * on or takes off again.
   */
  key: string;
  /**
   * Value of the taint, written as a label value. Unset or empty, the taint has none.
   */
  value?: string;
  /**
   * NoSchedule: only pods that tolerate the key may arrive. PreferNoSchedule: others arrive only where
   * there is no better node. NoExecute is not offered: it would delete pods past their budgets, which is
   * what spec.drain is for.
   */
  effect: 'NoSchedule' | 'PreferNoSchedule';
}
/**
 * How pods leave, under nodeDrainPolicy Evacuate (and under nodeDeletePolicy Evict while the Node is
 * being deleted). Kept, and without effect, under the other policies.
 *
 * Default: {}
 */
export interface DrainSpec {
  podSelector?: PodSelector;
  /**
   * Ceiling, in seconds, for the time that a pod gets to stop: the smaller of this and the pod's own
   * terminationGracePeriodSeconds. At least 1, never 0 (0 would mean to kill without waiting for the
   * kubelet). Unset: the pod's own.
   */
  maxGracePeriodSeconds?: number;
  /**
   * Seconds of active draining after which onTimeout applies; suspended time does not count. Unset: the
   * drain never gives up.
   */
  timeoutSeconds?: number;
  /**
   * What happens when timeoutSeconds is over. Fail (the default): nothing more is evicted, the node
   * stays cordoned and the maintenance is Failed until nodeDrainPolicy, suspend or drain is edited.
   * Delete: pods that a budget still refuses are deleted with their own grace period (or the ceiling);
   * pods held by Block or refused by a webhook are not. Delete needs timeoutSeconds.
   *
   * Default: "Fail"
   */
  onTimeout?: 'Fail' | 'Delete';
  /**
   * A pod that its budget has refused for so many seconds is deleted, past the budget, with its own
   * grace period (or the ceiling). Must be smaller than timeoutSeconds where both are set. Unset: never.
   */
  deleteBlockedAfterSeconds?: number;
  /**
   * The slowest first retry, in seconds, after a refused eviction. While a budget keeps saying no the
   * interval doubles up to 10 minutes; a change of the budget or its pods is tried at once. Default 20,
   * at most 600.
   *
   * Default: 20
   */
  retryIntervalSeconds?: number;
  /**
   * On a node that is not Ready: a pod whose deletion (its grace period included) is more than so many
   * seconds overdue is no longer waited for, and condition Ready names it. 0 (the default): always
   * waited for.
   *
   * Default: 0
   */
  skipWaitForDeleteTimeoutSeconds?: number;
  /**
   * Pods without a controller, which nothing would create again. Block (the default): such a pod is
   * reported as a blocker and stays until somebody deletes it; the others leave. Evict: it is evicted
   * and gone for good. Skip: it stays and is not waited for.
   *
   * Default: "Block"
   */
  unmanagedPods?: 'Block' | 'Evict' | 'Skip';
  /**
   * Pods with an emptyDir volume, whose content is lost when they leave. Evict (the default): they leave
   * like the others. Block: such a pod is reported as a blocker and stays; the others leave. Skip: it
   * stays and is not waited for.
   *
   * Default: "Evict"
   */
  emptyDirPods?: 'Evict' | 'Block' | 'Skip';
  /**
   * What happens to a pod whose PodDisruptionBudget can never allow a disruption, because it wants all
   * of its pods to be healthy (such as minAvailable 1 of 1 pod). Wait (the default): it is reported with
   * that reason and waited for. Fail: the drain gives up at once and the node stays cordoned. Delete:
   * the pod is deleted with its own grace period (or the ceiling).
   *
   * Default: "Wait"
   */
  unsatisfiableBudgets?: 'Wait' | 'Fail' | 'Delete';
  /**
   * What happens when the budget of a Deployment's pod refuses its eviction. Wait (the default): it is
   * waited for. Restart: the Deployment gets one rolling restart, so that a new pod is ready elsewhere
   * before this one stops; only where its strategy never takes a pod away first (maxUnavailable 0,
   * maxSurge at least 1). A restart also picks up changed ConfigMaps, Secrets and image tags.
   *
   * Default: "Wait"
   */
  blockedDeployments?: 'Wait' | 'Restart';
  volumes?: VolumePace;
}
/**
 * Only pods whose labels match are asked to leave; the others stay, and condition Drained says how
 * many. Unset or empty: all pods. A selector that cannot be parsed evicts nothing (Stalled,
 * InvalidSpec).
 */
export interface PodSelector {
  /**
   * Labels that a pod must have, key and value. Each is the same as an expression with operator In and
   * one value.
   */
  matchLabels?: {
    [k: string]: string;
  };
  /**
   * Requirements that a pod's labels must all meet.
   */
  matchExpressions?: PodSelectorRequirement[];
}
/**
 * One requirement on the labels of a pod.
 */
export interface PodSelectorRequirement {
  /**
   * Key of the label that the requirement is about.
   */
  key: string;
  /**
   * In: the label is one of values. NotIn: it is none of them, or the pod does not have it. Exists: the
   * pod has the label. DoesNotExist: it does not.
   */
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  /**
   * Values for In and NotIn (at least one); not allowed with the other operators.
   */
  values?: string[];
}
/**
 * The pace of pods whose volumes have to be detached from this node and attached to another one.
 *
 * Default: {}
 */
export interface VolumePace {
  /**
   * How many pods with volumes of one driver are on the move at the same time; each driver is counted by
   * itself. Default 1: the shortest outage for each pod, and the longest drain. Pods without such
   * volumes do not wait for any of them.
   *
   * Default: 1
   */
  maxConcurrent?: number;
  /**
   * Seconds that the volumes of a pod may take to be detached, after its grace period. Then the drain
   * goes on, and condition VolumesDetached says so. Default 120.
   *
   * Default: 120
   */
  detachTimeoutSeconds?: number;
  /**
   * Seconds that the detached volumes of a pod may take to be attached to another node before the next
   * pod goes. 0: that is not waited for. Default 90.
   *
   * Default: 90
   */
  reattachTimeoutSeconds?: number;
}
/**
 * Where the maintenance stands. Written by the operator alone.
 *
 * Default: {"observedGeneration":-1}
 */
export interface NodeMaintenanceStatus {
  /**
   * The metadata.generation that the rest of the status is about.
   */
  observedGeneration?: number;
  /**
   * One word for people, derived from the conditions: Pending, Draining, UnderMaintenance, Failed,
   * NodeGone or Restoring. More may be added: programs read the conditions.
   */
  phase?: string;
  /**
   * When work on the node began.
   */
  startTime?: string;
  node?: NodeRecord;
  drain?: DrainStatus;
  /**
   * Pods that cannot leave at the moment, sorted by cause, namespace and name; the first 10 of
   * blockersTotal.
   */
  blockers?: Blocker[];
  /**
   * How many pods cannot leave at the moment.
   */
  blockersTotal?: number;
  /**
   * The state in a form for programs. Ready: all that the policy asks is done. Cordoned: the node is
   * unschedulable and marked. Drained: nothing is left but DaemonSet and mirror pods and pods that are
   * no longer waited for; wait for this one before a reboot. DrainBlocked: at least one pod cannot leave
   * now. Reconciling and Stalled are there only while they are true.
   */
  conditions?: StatusCondition[];
}
/**
 * The Node as it was found, and what was put on it; the record that restoring follows.
 */
export interface NodeRecord {
  /**
   * metadata.uid of the Node. A node of the same name with another uid is a new node.
   */
  uid: string;
  before?: NodeBefore;
  added?: NodeAdded;
}
/**
 * What the node looked like before.
 */
export interface NodeBefore {
  /**
   * Whether the node was cordoned before; if so it stays cordoned.
   */
  unschedulable: boolean;
}
/**
 * What was put on the node, to be taken off again.
 */
export interface NodeAdded {
  /**
   * Labels that were put on.
   */
  labels?: {
    [k: string]: string;
  };
  /**
   * Annotations that were put on.
   */
  annotations?: {
    [k: string]: string;
  };
  /**
   * Taints that were put on.
   */
  taints?: AddedTaint[];
}
/**
 * One taint that was put on.
 */
export interface AddedTaint {
  /**
   * Key of the taint.
   */
  key: string;
  /**
   * Value of the taint.
   */
  value?: string;
  /**
   * Effect of the taint.
   */
  effect: string;
}
/**
 * How far the evacuation is.
 */
export interface DrainStatus {
  /**
   * When evicting became allowed; absent while it is not.
   */
  startTime?: string;
  /**
   * Seconds of earlier periods of active draining. timeoutSeconds counts these and the time since
   * startTime.
   */
  activeSeconds?: number;
  /**
   * When nothing that has to leave was left any more.
   */
  completionTime?: string;
  /**
   * Pods that have left, of all that have to leave, such as 14/20.
   */
  progress?: string;
  pods?: PodCounts;
  /**
   * Pods whose volumes are on the move, written before the pod is asked to leave; and those that took
   * longer than they may, as long as they are not settled. Sorted by namespace and name of the pod.
   */
  volumes?: VolumeMove[];
  failure?: DrainFailure;
}
/**
 * Numbers of pods; total is gone plus remaining.
 */
export interface PodCounts {
  /**
   * Pods that have to leave, those that left included.
   */
  total: number;
  /**
   * Pods that have left.
   */
  gone: number;
  /**
   * Pods that still have to leave, the terminating ones included.
   */
  remaining: number;
  /**
   * Pods that are on their way out.
   */
  terminating: number;
  /**
   * Pods that stay and are not counted: of DaemonSets, mirror pods, not selected by podSelector, or kept
   * by Skip.
   */
  ignored: number;
}
/**
 * A pod on its way to another node, and its volumes.
 */
export interface VolumeMove {
  pod: MovingPod;
  owner?: MovingPodOwner;
  /**
   * The volumes of the pod that are attached to its node.
   */
  volumes: MovingVolume[];
  /**
   * Leaving (the pod is here), Detaching, Attaching, DetachTimedOut or AttachTimedOut; the last two are
   * not waited for any more.
   */
  phase?: string;
  /**
   * From when the time of the phase counts: the end of the pod's grace period, or the moment at which
   * its volumes were detached. Absent while the pod has not been deleted.
   */
  since?: string;
}
/**
 * The pod that leaves.
 */
export interface MovingPod {
  /**
   * Namespace of the pod.
   */
  namespace: string;
  /**
   * Name of the pod.
   */
  name: string;
  /**
   * UID of the pod.
   */
  uid: string;
}
/**
 * The controller that will create its replacement; absent where nothing does.
 */
export interface MovingPodOwner {
  /**
   * API version of the controller.
   */
  apiVersion: string;
  /**
   * Kind of the controller.
   */
  kind: string;
  /**
   * Name of the controller, in the namespace of the pod.
   */
  name: string;
  /**
   * UID of the controller.
   */
  uid: string;
}
/**
 * One volume that is attached to the node of its pod.
 */
export interface MovingVolume {
  /**
   * Name of the PersistentVolume.
   */
  persistentVolume: string;
  /**
   * Name of its PersistentVolumeClaim, in the namespace of the pod.
   */
  claim?: string;
  /**
   * The CSI driver (or in-tree plugin) that attaches it.
   */
  driver: string;
  /**
   * How status.volumesAttached of a Node calls it.
   */
  attachedName?: string;
  /**
   * It ends with the pod (a generic ephemeral volume) and is not attached again.
   */
  ephemeral?: boolean;
  /**
   * It may be attached to several nodes at the same time.
   */
  multiNode?: boolean;
}
/**
 * Why the drain gave up; absent while it has not.
 */
export interface DrainFailure {
  /**
   * When it gave up.
   */
  time: string;
  /**
   * The cause, as one CamelCase word.
   */
  reason: string;
  /**
   * The cause, as a sentence.
   */
  message: string;
  /**
   * Identifies the nodeDrainPolicy, suspend and drain that failed; an edit of any of them begins again.
   */
  specHash: string;
}
/**
 * One pod that cannot leave at the moment, and why.
 */
export interface Blocker {
  pod: BlockedPod;
  /**
   * The cause, as one CamelCase word, such as PodDisruptionBudget, UnmanagedPod, EmptyDir,
   * StuckTerminating or AdmissionDenied. More may be added.
   */
  cause: string;
  /**
   * The cause, as a sentence.
   */
  message: string;
  budget?: BlockingBudget;
  /**
   * Since when the pod has been held up by this cause.
   */
  since: string;
  /**
   * What happens next without anybody's doing, and when. Absent if nothing does.
   */
  nextStep?: string;
}
/**
 * The pod.
 */
export interface BlockedPod {
  /**
   * Its namespace.
   */
  namespace: string;
  /**
   * Its name.
   */
  name: string;
  /**
   * Its metadata.uid; a later pod of the same name has another.
   */
  uid?: string;
}
/**
 * The PodDisruptionBudget that refuses, where it is one.
 */
export interface BlockingBudget {
  /**
   * Name of the budget, in the pod's namespace.
   */
  name: string;
  /**
   * Healthy pods that the budget asks for.
   */
  needs?: number;
  /**
   * Healthy pods that there are.
   */
  has?: number;
}
/**
 * One aspect of the state.
 */
export interface StatusCondition {
  /**
   * Name of the condition, in CamelCase.
   */
  type: string;
  /**
   * Whether it holds.
   */
  status: 'True' | 'False' | 'Unknown';
  /**
   * The metadata.generation that the condition is about.
   */
  observedGeneration?: number;
  /**
   * When status last changed.
   */
  lastTransitionTime: string;
  /**
   * Why, as one CamelCase word for programs.
   */
  reason: string;
  /**
   * Why, as a sentence for people. May be empty.
   */
  message: string;
}
