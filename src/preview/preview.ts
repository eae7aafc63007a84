// The answer of `haulout plan`: what is printed with -o json. Fields are added in later versions; none is renamed or gets
// another meaning under the same apiVersion.
import type { Cause } from '../drain/obstacles.ts';

export const previewApiVersion = 'preview.haulout.dev/v1alpha1';
export const previewKind = 'MaintenancePreview';

/** What a maintenance of one node would do if it began now. Lists are sorted by namespace and name. */
export interface Preview {
  readonly apiVersion: typeof previewApiVersion;
  readonly kind: typeof previewKind;
  /** When the cluster was looked at (RFC 3339). */
  readonly time: string;
  readonly nodeName: string;
  readonly nodeDrainPolicy: 'Ignore' | 'NoSchedule' | 'Evacuate';
  /** Of the manifest; absent where the defaults of a NodeMaintenance were looked at. */
  readonly maintenance?: string;
  /** Nothing stands in the way: exit code 0. */
  readonly clear: boolean;
  /** By `outcome` of the pods. */
  readonly counts: {
    readonly leave: number;
    readonly held: number;
    readonly terminating: number;
    /** `stays` and `kept`. */
    readonly stay: number;
  };
  /** What stands in the way, one entry for each cause and what it says. */
  readonly obstacles: readonly Obstruction[];
  /** What could not be found out, as sentences; what stands in the way because of that is in `obstacles` too. */
  readonly unknown: readonly string[];
  /** What else is worth knowing, as sentences. */
  readonly notes: readonly string[];
  readonly pods: readonly PodForecast[];
  readonly budgets: readonly BudgetForecast[];
  readonly volumes: readonly VolumeForecast[];
  readonly room: RoomForecast;
  readonly duration: DurationForecast;
}

export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

/** Causes of blockers in the status of a maintenance, and those that only a preview knows. */
export type ObstructionCause = Cause | 'NodeNotReady' | 'NoRoom' | 'NotPermitted';

export interface Obstruction {
  readonly cause: ObstructionCause;
  readonly message: string;
  readonly pods: readonly PodName[];
  /** What the maintenance would do about it by itself. */
  readonly nextStep?: string;
}

export interface PodForecast extends PodName {
  readonly uid: string;
  /** `KIND/NAME` of what would create it again. */
  readonly controller?: string;
  /**
   * `leaves`: would be asked to leave. `held`: has to leave and is not asked, because it is protected. `terminating`: is on its
   * way already. `stays`: belongs to the node, or nothing leaves. `kept`: stays at the user's wish.
   */
  readonly outcome: 'leaves' | 'held' | 'terminating' | 'stays' | 'kept';
  /** Why it does not leave: `mirror`, `daemonSet`, the policy of the maintenance (`unmanagedPods`) or its field. */
  readonly why?: string;
  /** The longest that it gets to stop. */
  readonly gracePeriodSeconds?: number;
  /** What would be gone for good: the pod itself (`pod`: nothing creates it again), its emptyDir data (`emptyDir`). */
  readonly loses?: readonly ('pod' | 'emptyDir')[];
  /** What is detached from the node when it leaves. */
  readonly volumes?: readonly PodVolumeForecast[];
  /** What the API server answered to an eviction as a dry run. */
  readonly eviction?: 'allowed' | 'refused' | 'unknown';
}

export interface PodVolumeForecast {
  readonly claim?: string;
  readonly persistentVolume: string;
  readonly driver: string;
}

export interface BudgetForecast extends PodName {
  /** Pods that leave and are counted by it. */
  readonly pods: number;
  readonly disruptionsAllowed: number;
  readonly desiredHealthy: number;
  readonly currentHealthy: number;
  /**
   * `open`: lets all of them go at once. `inTurn`: lets some go, the others when replacements are ready. `closed`: lets
   * none go now. `never`: can never let one go, as it looks now. `several`: another budget selects the same pod, which
   * the eviction API does not support.
   */
  readonly verdict: 'open' | 'inTurn' | 'closed' | 'never' | 'several';
}

/** The pods of one CSI driver (or in-tree plugin) that leave: `maxConcurrent` of them are on the move at a time. */
export interface VolumeForecast {
  readonly driver: string;
  readonly pods: number;
  readonly volumes: number;
  readonly maxConcurrent: number;
  readonly detachTimeoutSeconds: number;
  readonly reattachTimeoutSeconds: number;
}

export interface RoomForecast {
  /** False: the other nodes or their pods could not be read. */
  readonly known: boolean;
  /** Pods that will be created again and need a place. */
  readonly pods: number;
  /** Other nodes that take pods at all. */
  readonly nodes: number;
  readonly homeless: readonly HomelessForecast[];
}

export interface HomelessForecast {
  readonly pods: readonly PodName[];
  /** Each would find room alone, but not beside the others. */
  readonly fitsAlone: boolean;
  readonly reasons: readonly { readonly why: string; readonly nodes: number }[];
}

export interface DurationForecast {
  /** Seconds until all pods that leave have stopped; absent where something makes it longer than can be known. */
  readonly atMostSeconds?: number;
  /** How it is made up, as sentences. */
  readonly parts: readonly string[];
}
