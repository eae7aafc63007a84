// The parts of Kubernetes objects that haulout reads, exactly as the API server sends them (JSON; times are
// RFC 3339 strings). Fields that nothing reads are not stored: see `trim` in the reflectors' set-up.

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly lastHeartbeatTime?: string;
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  readonly timeAdded?: string;
}

export interface Node extends KubeObject {
  readonly spec?: { readonly unschedulable?: boolean; readonly taints?: readonly Taint[] };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    /** Kept for nodes that haulout holds only. */
    readonly volumesAttached?: readonly { readonly name: string }[];
  };
}

export interface Volume {
  readonly name: string;
  readonly emptyDir?: object;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  /** A generic ephemeral volume: its claim is made for the pod and ends with it. */
  readonly ephemeral?: object;
}

export interface Pod extends KubeObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly terminationGracePeriodSeconds?: number;
    readonly priority?: number;
    readonly volumes?: readonly Volume[];
  };
  readonly status?: { readonly phase?: string; readonly conditions?: readonly Condition[] };
}

export interface LabelSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly LabelSelectorRequirement[];
}

export interface PodDisruptionBudget extends KubeObject {
  readonly spec: {
    readonly selector?: LabelSelector;
    readonly minAvailable?: number | string;
    readonly maxUnavailable?: number | string;
    readonly unhealthyPodEvictionPolicy?: string;
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly disruptionsAllowed?: number;
    readonly currentHealthy?: number;
    readonly desiredHealthy?: number;
    readonly expectedPods?: number;
    readonly disruptedPods?: Readonly<Record<string, string>>;
    /** Only SyncFailed is kept: the disruption controller could not work it out, and says why. */
    readonly conditions?: readonly Condition[];
  };
}

export interface PersistentVolumeClaim extends KubeObject {
  readonly spec?: { readonly volumeName?: string };
}

export interface PersistentVolume extends KubeObject {
  readonly spec: {
    readonly accessModes?: readonly string[];
    readonly csi?: { readonly driver: string; readonly volumeHandle: string };
    readonly iscsi?: { readonly targetPortal: string; readonly iqn: string; readonly lun: number };
    readonly fc?: {
      readonly targetWWNs?: readonly string[];
      readonly lun?: number;
      readonly wwids?: readonly string[];
    };
    /** In-tree volumes that a CSI driver attaches. */
    readonly awsElasticBlockStore?: { readonly volumeID: string };
    readonly azureDisk?: { readonly diskURI: string };
    readonly cinder?: { readonly volumeID: string };
    readonly gcePersistentDisk?: { readonly pdName: string };
    readonly portworxVolume?: { readonly volumeID: string };
    readonly vsphereVolume?: { readonly volumePath: string };
  };
}

export interface CsiDriver extends KubeObject {
  readonly spec: { readonly attachRequired?: boolean };
}

export interface VolumeAttachment extends KubeObject {
  readonly spec: {
    readonly attacher: string;
    readonly nodeName: string;
    /** A volume written into a pod itself has no PersistentVolume. */
    readonly source: { readonly persistentVolumeName?: string };
  };
  readonly status?: { readonly attached: boolean };
}

/** What is read of a StatefulSet, ReplicaSet or Job: which pods are its own, and whether it will make more. */
export interface Workload extends KubeObject {
  readonly spec: {
    readonly selector?: LabelSelector;
    readonly replicas?: number;
    readonly ordinals?: { readonly start?: number };
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** metav1.Status: the body of every error answer of the API server. */
export interface ApiStatus {
  readonly kind?: 'Status';
  readonly status?: string;
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly name?: string;
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly {
      readonly reason?: string;
      readonly message?: string;
      readonly field?: string;
    }[];
  };
}
