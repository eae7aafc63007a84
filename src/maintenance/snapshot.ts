import type { NodeMaintenance, NodeMaintenanceStatus } from '../api/types.generated.ts';
import type { DaemonSetExists } from '../drain/filters.ts';
import type { Claim, DrainMemory } from '../drain/memory.ts';
import type { Deletion, Post } from '../drain/evictions.ts';
import type { Node, Pod, PodDisruptionBudget } from '../kube/types.ts';
import type { NodeCondition } from '../node/conditions.ts';
import type { NodePatch } from '../node/patch.ts';
import type { NodeRecord } from '../node/record.ts';
import type { OwnPodFate } from './order.ts';
import type { Permissions } from '../drain/permissions.ts';
import type { Lineage } from './returns.ts';
import type { RestartNote, RestartWork } from './restarts.ts';
import type { Move, VolumeFacts } from '../volumes/moves.ts';
import type { Carriers } from './volumes.ts';

/** All that the plan for one node may know. Plain data and pure look-ups, taken at one moment. */
export interface Snapshot {
  /** Wall clock, milliseconds: for times that are in the API. */
  readonly now: number;
  /** Monotonic clock, milliseconds: for retries. */
  readonly monotonic: number;
  readonly nodeName: string;
  readonly node: Node | undefined;
  /** The maintenances of this node, the oldest first. */
  readonly maintenances: readonly NodeMaintenance[];
  /** The pods of the node; `undefined` as long as they are not watched or not all known yet. */
  readonly pods: readonly Pod[] | undefined;
  readonly budgetsOf: (pod: Pod) => readonly PodDisruptionBudget[];
  readonly daemonSetExists: DaemonSetExists;
  readonly volumes: VolumeFacts;
  /** The node is out of service already, or may be taken out now. */
  readonly admitted: boolean;
  readonly permitted: Permissions;
  /** The pod that this process runs in. */
  readonly self: { readonly namespace: string; readonly name: string } | undefined;
  readonly memory: NodeMemory;
}

/** What the process remembers of a node, and may forget. */
export interface NodeMemory extends DrainMemory {
  /** Since when a budget looks unsatisfiable without interruption; monotonic milliseconds. */
  readonly unsatisfiableSince: (budget: PodDisruptionBudget) => number | undefined;
  /** UIDs of holders that a live look at the API server did not find. */
  readonly absentHolders: ReadonlySet<string>;
  /** The last intact record seen on the node, with the node's UID. */
  readonly lastRecord: { readonly nodeUid: string; readonly record: NodeRecord } | undefined;
  /** Who had to leave, by the UID of the maintenance. */
  readonly tallies: ReadonlyMap<string, Tally>;
  /** Pods with volumes that the last plan saw. */
  readonly carriers: Carriers | undefined;
  /** Since when a pod is held up (wall-clock milliseconds), by its UID, a space and the cause. */
  readonly heldUpSince: ReadonlyMap<string, number>;
  /** Pods that were evicted from the node, by what makes new ones in their place. */
  readonly lineages: ReadonlyMap<string, Lineage>;
  /** What is to become of the operator's own pod on this node. */
  readonly ownPod: OwnPodFate | undefined;
  /** What is known of Deployments whose pods are held up, by the UID of their ReplicaSet. */
  readonly restarts: ReadonlyMap<string, RestartNote>;
  /** When the node may be cordoned again after somebody uncordoned it; monotonic milliseconds. */
  readonly recordonAt: number;
  /** Causes of blockers that an event has told already, by the UID of the maintenance. */
  readonly toldCauses: ReadonlyMap<string, ReadonlySet<string>>;
  /** Why the node could not be written the last time, as a sentence. */
  readonly nodeWriteProblem: string | undefined;
}

/** The pods that had to leave one node for one maintenance. */
export interface Tally {
  readonly nodeUid: string;
  /** Gone before this process looked. */
  readonly goneBefore: number;
  /** UIDs that this process has seen. */
  readonly uids: ReadonlySet<string>;
}

export interface EventNote {
  /** The maintenance that it is about; `undefined`: the node. */
  readonly maintenance: NodeMaintenance | undefined;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: string;
  readonly note: string;
  /** The cause of a blocker that it tells of: once for each maintenance. */
  readonly cause?: string;
}

export interface StatusWrite {
  readonly maintenance: NodeMaintenance;
  readonly status: NodeMaintenanceStatus;
  /** Something other than progress changed: not to be held back. */
  readonly urgent: boolean;
  /** To be told once the status is written. */
  readonly events: readonly EventNote[];
}

export interface FinalizerWrite {
  readonly maintenance: NodeMaintenance;
  readonly finalizers: readonly string[];
  readonly events: readonly EventNote[];
}

/** What to do for one node now. Carried out from top to bottom; a failed step leaves the rest to the next plan. */
export interface Plan {
  /** Maintenances that must not touch the node before their finalizer is there. */
  readonly addFinalizers: readonly FinalizerWrite[];
  readonly statuses: readonly StatusWrite[];
  readonly nodePatch: NodePatch | undefined;
  /** The patch cordons again what somebody uncordoned. */
  readonly recordon: boolean;
  readonly nodeEvents: readonly EventNote[];
  /** All of ours that the node should have; `undefined`: nothing to write. */
  readonly nodeConditions: readonly NodeCondition[] | undefined;
  readonly posts: readonly Post[];
  readonly deletions: readonly Deletion[];
  /** UIDs of all pods that may be asked to leave now, those that are underway included. */
  readonly mayLeave: ReadonlySet<string>;
  /** What is left for each lane of a budget beside the posts. */
  readonly claims: ReadonlyMap<string, Claim>;
  /** The operator's own pod is all that is left: it has to be looked for what is to become of it. */
  readonly undecided: Pod | undefined;
  readonly restarts: RestartWork;
  /** Maintenances that are done with the node, or have to let go of it. */
  readonly dropFinalizers: readonly FinalizerWrite[];
  /** Names (and UIDs) on the node's record to look up on the API server. */
  readonly verifyHolders: readonly { readonly name: string; readonly uid: string }[];
  /** Pods of the node have to be watched. */
  readonly watchPods: boolean;
  /** Pods whose volumes are on the move: their successors and attachments matter to this node. */
  readonly moves: readonly Move[];
  /** Budgets (or combinations of them) whose change this node waits for. */
  readonly waitsFor: ReadonlySet<string>;
  /** Milliseconds from now after which the plan has to be made again. */
  readonly wakeAfterMs: number | undefined;
  /** For the memory, which they replace. */
  readonly tallies: ReadonlyMap<string, Tally>;
  readonly carriers: Carriers | undefined;
  readonly heldUpSince: ReadonlyMap<string, number>;
}
