// What the operator would do for one node, found out by letting its own planner plan until it has nothing to write any
// more, with every write applied in memory only.
import { maintenanceAnnotation, restoreNodeFinalizer } from '../api/names.ts';
import type { NodeMaintenance, NodeMaintenanceSpec } from '../api/types.generated.ts';
import { BudgetIndex } from '../drain/budget-index.ts';
import { type BudgetGate, budgetGate } from '../drain/budgets.ts';
import { isTerminating } from '../drain/filters.ts';
import { applyMergePatch } from '../kube/merge-patch.ts';
import { Store } from '../kube/store.ts';
import { trimBudget, trimNode, trimPod } from '../kube/trim.ts';
import type { KubeObject, Node, Pod, PodDisruptionBudget, VolumeAttachment } from '../kube/types.ts';
import { planDrain } from '../maintenance/drain.ts';
import { timestamp } from '../maintenance/drain-clock.ts';
import { commonGracePeriod } from '../maintenance/evacuation.ts';
import { Memory } from '../maintenance/memory.ts';
import { plan } from '../maintenance/plan.ts';
import { everythingPermitted, notPermitted, type Permissions } from '../drain/permissions.ts';
import { comparePods } from '../maintenance/pods.ts';
import type { Snapshot } from '../maintenance/snapshot.ts';
import { type Stance, isSilent, takeStance } from '../maintenance/stance.ts';
import type { DrainFacts } from '../maintenance/status.ts';
import { parseRecord } from '../node/record.ts';
import { nullLogger } from '../runtime/logger.ts';
import type { PodVolumes, VolumeFacts } from '../volumes/moves.ts';

/** All that a preview knows of the cluster, read at about one moment. */
export interface Scene {
  /** Wall-clock milliseconds. */
  readonly now: number;
  readonly node: Node;
  /** The pods of the node. */
  readonly pods: readonly Pod[];
  readonly budgets: readonly PodDisruptionBudget[];
  /** Listed after the pods: a DaemonSet that is not among them is gone. */
  readonly daemonSets: readonly KubeObject[];
  /** The other maintenances of the node. */
  readonly maintenances: readonly NodeMaintenance[];
  /** The attachable volumes of the node's pods, by the pod's UID. */
  readonly volumes: ReadonlyMap<string, PodVolumes>;
  readonly attachments: readonly VolumeAttachment[];
}

/** A pod that would be asked to leave. */
export interface Leaver {
  readonly pod: Pod;
  /** A shorter grace period than the pod's own, in seconds. */
  readonly gracePeriodSeconds: number | undefined;
  readonly gate: BudgetGate;
  readonly volumes: PodVolumes;
}

/** The operator's own view, as it would be with the maintenance holding the node. */
export interface Outlook {
  readonly stance: Stance;
  /** Cordoned and marked. */
  readonly node: Node;
  /** `undefined`: the maintenance does not evacuate the node, or is suspended. */
  readonly drain: DrainFacts | undefined;
  /** Sorted by namespace and name. */
  readonly leavers: readonly Leaver[];
  /** Why the operator would not begin, as a sentence; the rest is what it would do if it was permitted. */
  readonly notPermitted: string | undefined;
}

/** UID of a maintenance that exists only in a preview. */
export const previewUid = 'preview';

/** A maintenance as it would be just after it was created. */
export function imagine(name: string, spec: NodeMaintenanceSpec, now: number): NodeMaintenance {
  return {
    metadata: {
      name,
      uid: previewUid,
      resourceVersion: '0',
      generation: 1,
      creationTimestamp: timestamp(now),
      finalizers: [restoreNodeFinalizer],
    },
    spec,
  };
}

/**
 * What would happen to the node of `scene` if `maintenance` began now and its turn had come. `operator` is what whoever
 * installed the operator lets it do.
 */
export function lookAhead(scene: Scene, maintenance: NodeMaintenance, operator: Permissions): Outlook {
  const settled = settle(snapshotOf(scene, maintenance));
  const { maintenances, admitted, permitted, node = scene.node } = settled;
  const stances = maintenances.map((each) => takeStance({ maintenance: each, node, admitted, permitted }));
  const stance = stances.find((each) => each.maintenance.metadata.uid === previewUid);
  if (stance === undefined) throw new Error('the previewed maintenance got lost');
  const holding = stances.filter(({ kind, evacuates }) => kind === 'holding' && evacuates);
  const silent = stances.filter(isSilent);
  const isHolding = holding.includes(stance);
  const nobody: Outlook = {
    stance,
    node,
    drain: undefined,
    leavers: [],
    notPermitted: isHolding ? notPermitted(stance.spec, operator) : undefined,
  };
  if (!isHolding) return nobody;
  const { facts } = planDrain(settled, node, holding, silent);
  const drain = facts.get(stance);
  // Suspended, although it holds the node: it asks nobody to leave.
  if (!drain?.clock.active) return nobody;
  return { ...nobody, drain, leavers: leaversOf(settled, drain, [...holding, ...silent]) };
}

/** Those whom nothing but a budget or a webhook may keep. */
function leaversOf(
  { budgetsOf, volumes }: Snapshot,
  { view, blockers }: DrainFacts,
  stances: readonly Stance[],
): Leaver[] {
  const held = new Set(blockers.filter(({ cause }) => protections.has(cause)).map(({ pod }) => pod.uid));
  return view.remaining
    .filter((pod) => view.verdicts.get(pod.metadata.uid)?.kind === 'leaves')
    .filter((pod) => !isTerminating(pod) && !held.has(pod.metadata.uid))
    .toSorted(comparePods)
    .map((pod) => ({
      pod,
      gracePeriodSeconds: commonGracePeriod(
        pod,
        stances.map((stance) => ({ stance })),
      ),
      gate: budgetGate(pod, budgetsOf(pod)),
      volumes: volumes.volumesOf(pod),
    }));
}

const protections: ReadonlySet<string> = new Set(['UnmanagedPod', 'EmptyDir']);

function snapshotOf(scene: Scene, maintenance: NodeMaintenance): Snapshot {
  const budgets = new Store<PodDisruptionBudget>({ trim: trimBudget, logger: nullLogger });
  const index = new BudgetIndex(budgets);
  budgets.replace(scene.budgets);
  const daemonSets = new Set(scene.daemonSets.map(({ metadata }) => metadata.uid));
  const memory = new Memory();
  const maintenances = [...scene.maintenances, maintenance];
  for (const uid of holdersThatAreGone(scene.node, maintenances)) memory.absentHolders.add(uid);
  const nodeName = scene.node.metadata.name;
  return {
    now: scene.now,
    monotonic: 0,
    nodeName,
    node: nodeAsHeld(scene.node),
    maintenances,
    pods: scene.pods.map(trimPod),
    budgetsOf: (pod) => index.select(pod),
    daemonSetExists: (uid) => daemonSets.has(uid),
    volumes: volumeFacts(scene),
    admitted: true,
    // It is told beside what it keeps from happening.
    permitted: everythingPermitted,
    self: undefined,
    memory: memory.view(nodeName),
  };
}

/** Of a node that is not in maintenance yet the operator does not keep what is attached to it. */
function nodeAsHeld(node: Node): Node {
  const trimmed = trimNode(node);
  const { volumesAttached } = node.status ?? {};
  return volumesAttached ? { ...trimmed, status: { ...trimmed.status, volumesAttached } } : trimmed;
}

function volumeFacts({ volumes, attachments }: Scene): VolumeFacts {
  return {
    volumesOf: ({ metadata }) => volumes.get(metadata.uid) ?? { kind: 'known', volumes: [] },
    attachments: {
      toNode: (nodeName) => attachments.filter(({ spec }) => spec.nodeName === nodeName),
      ofVolume: (name) => attachments.filter(({ spec }) => spec.source.persistentVolumeName === name),
    },
    // Where pods of earlier moves went to matters to these moves only.
    successionOf: () => undefined,
  };
}

/** The list of maintenances is complete: who is not in it does not exist. */
function holdersThatAreGone(node: Node, maintenances: readonly NodeMaintenance[]): string[] {
  const text = node.metadata.annotations?.[maintenanceAnnotation];
  const holders = text === undefined ? [] : (parseRecord(text)?.holders ?? []);
  const known = new Set(maintenances.map(({ metadata }) => metadata.uid));
  return holders.map(({ uid }) => uid).filter((uid) => !known.has(uid));
}

// Finalizers, the status that says what is wanted, the node, and the status that says it is so: with room to spare.
const mostRounds = 12;

/** Applies what the planner wants written, but for pods, until it wants nothing more. */
function settle(snapshot: Snapshot): Snapshot {
  let current = snapshot;
  for (let round = 0; round < mostRounds; round++) {
    const { addFinalizers, dropFinalizers, statuses, nodePatch, tallies, heldUpSince } = plan(current);
    if (addFinalizers.length + dropFinalizers.length + statuses.length === 0 && nodePatch === undefined) {
      return current;
    }
    const finalizers = new Map(
      [...addFinalizers, ...dropFinalizers].map((w) => [w.maintenance, w.finalizers]),
    );
    const written = new Map(statuses.map((write) => [write.maintenance, write.status]));
    current = {
      ...current,
      maintenances: current.maintenances
        .map((each) => {
          const list = finalizers.get(each);
          const status = written.get(each);
          return {
            ...each,
            metadata: list ? { ...each.metadata, finalizers: list } : each.metadata,
            ...(status ? { status } : {}),
          };
        })
        .filter(
          ({ metadata }) => metadata.deletionTimestamp === undefined || metadata.finalizers?.length !== 0,
        ),
      ...(nodePatch && current.node ? { node: applyMergePatch(current.node, nodePatch) } : {}),
      memory: { ...current.memory, tallies, heldUpSince },
    };
  }
  throw new Error('the plan does not come to rest');
}
