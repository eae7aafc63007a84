import { restoreNodeFinalizer } from '../api/names.ts';
import type { NodeMaintenanceStatus } from '../api/types.generated.ts';
import type { Node } from '../kube/types.ts';
import { type MaintenanceState, conditionsDiffer, desiredNodeConditions } from '../node/conditions.ts';
import { type Holder, carriesMarks } from '../node/marks.ts';
import { type NodeChange, planNodeChange } from '../node/patch.ts';
import { findCondition } from './conditions.ts';
import { finalizerEvents, nodeEvents, statusEvents } from './announcements.ts';
import { type DrainPart, noDrain, planDrain } from './drain.ts';
import { type Guard, planGuard } from './guard.ts';
import { type FoundRecord, findRecord, restorable } from './node-record.ts';
import type { FinalizerWrite, Plan, Snapshot, StatusWrite } from './snapshot.ts';
import { type Stance, hasFinalizer, isSilent, takeStance } from './stance.ts';
import { type DrainFacts, computeStatus } from './status.ts';
import { isUrgent, sameStatus } from './status-diff.ts';
import { nodeNotFoundStalledAt } from './describe.ts';
import { unverifiedHolders } from './holders.ts';

/** A node that cannot be written for so long does not hold up the deletion of its maintenance any longer. */
const releaseAfterMs = 10 * 60_000;

/**
 * The rules of a node maintenance in one place: what to write on the node, which pods to evict or delete now, who is
 * held up and why, what each status says, and when to look again. Pure: the same snapshot gives the same plan.
 */
export function plan(snapshot: Snapshot): Plan {
  const { node, maintenances, admitted, permitted } = snapshot;
  const stances = maintenances.map((maintenance) => takeStance({ maintenance, node, admitted, permitted }));
  return node === undefined
    ? withoutNode(snapshot, stances)
    : new NodePlanner(snapshot, node, stances).plan();
}

class NodePlanner {
  readonly #snapshot: Snapshot;
  readonly #node: Node;
  readonly #stances: readonly Stance[];

  constructor(snapshot: Snapshot, node: Node, stances: readonly Stance[]) {
    this.#snapshot = snapshot;
    this.#node = node;
    this.#stances = stances;
  }

  plan(): Plan {
    const { now, maintenances, memory } = this.#snapshot;
    const found = findRecord(this.#node, maintenances, memory.lastRecord);
    const verifyHolders = unverifiedHolders(found.holders, maintenances, memory.absentHolders);
    const mayTouchNode = verifyHolders.length === 0;
    // Without its finalizer a maintenance does not hold anything yet, or any more; one that the node names and that
    // lost it by hand goes on holding while it is put on again.
    const named = new Set(found.holders.map(({ uid }) => uid));
    const ready = this.#stances.filter(
      ({ kind, maintenance }) =>
        hasFinalizer(maintenance) || (kind !== 'restoring' && named.has(maintenance.metadata.uid)),
    );
    const holding = ready.filter(({ kind }) => kind === 'holding');
    const drain = this.#drain(holding);
    const guard = planGuard(
      this.#node,
      ready.filter(({ guardsDeletion }) => guardsDeletion),
      drain.remaining,
      now,
    );
    const change = this.#change(found, holding, guard);
    const recordonLater = change.uncordonedByHand && memory.recordonAt > this.#snapshot.monotonic;
    const overdue = this.#stances.some((stance) => isRestoring(stance) && now >= releaseTime(stance));
    // What failed before, and would fail again, does not stand in the way of the release.
    const tryNode = mayTouchNode && !recordonLater && !(overdue && memory.nodeWriteProblem !== undefined);
    const nodePatch = tryNode ? change.patch : undefined;
    const states = desiredNodeConditions(ready.flatMap((stance) => stateOf(stance, this.#node, drain)));
    const conditions = conditionsDiffer(this.#node, states) ? states : undefined;
    const dropFinalizers = this.#finished(
      ready,
      mayTouchNode && change.patch === undefined && conditions === undefined,
    );
    const ended = new Set(dropFinalizers.map(({ maintenance }) => maintenance));
    const lasting = ready.filter(({ maintenance }) => hasFinalizer(maintenance) && !ended.has(maintenance));
    return {
      ...drain.actions(mayTouchNode && this.#isCordoned(change) && this.#allObserved()),
      addFinalizers: this.#missingFinalizers(),
      statuses: this.#statuses(lasting, drain, change, found, this.#undisturbed(holding, found)),
      nodePatch,
      recordon: change.uncordonedByHand,
      nodeEvents: nodeEvents(this.#node, change, found, holding, nodePatch !== undefined),
      nodeConditions: overdue ? undefined : conditions,
      dropFinalizers,
      verifyHolders,
      wakeAfterMs: this.#wakeAfter(drain, guard, recordonLater),
    };
  }

  #drain(holding: readonly Stance[]): DrainPart {
    const evacuating = holding.filter(({ evacuates }) => evacuates);
    const silent = this.#stances.filter(isSilent);
    return evacuating.length > 0 ? planDrain(this.#snapshot, this.#node, evacuating, silent) : noDrain;
  }

  #change(found: FoundRecord, holding: readonly Stance[], guard: Guard): NodeChange {
    const record = restorable(this.#node, found);
    const change = planNodeChange(this.#node, holding.map(asHolder), record, guard.wanted);
    // With the record lost for good nobody can tell that the node was ever cordoned.
    return { ...change, uncordonedByHand: change.uncordonedByHand && found.restoreData !== undefined };
  }

  #isCordoned(change: NodeChange): boolean {
    return change.patch === undefined && this.#node.spec?.unschedulable === true;
  }

  /** A status that says what is wanted comes before anything is done about it. */
  #allObserved(): boolean {
    return this.#stances.every(
      ({ kind, maintenance: { metadata, status } }) =>
        kind === 'restoring' || status?.observedGeneration === metadata.generation,
    );
  }

  /** Those for whom the node is as they want it, although others come or go and it has to be written for them. */
  #undisturbed(holding: readonly Stance[], { holders }: FoundRecord): ReadonlySet<Stance> {
    const recorded = new Set(holders.map(({ uid }) => uid));
    const uids = holding.map(({ maintenance }) => maintenance.metadata.uid);
    if (recorded.size === uids.length && uids.every((uid) => recorded.has(uid))) return new Set();
    return new Set(
      holding.filter(
        (stance) =>
          recorded.has(stance.maintenance.metadata.uid) && carriesMarks(this.#node, asHolder(stance)),
      ),
    );
  }

  #statuses(
    stances: readonly Stance[],
    drain: DrainPart,
    change: NodeChange,
    { restoreData }: FoundRecord,
    undisturbed: ReadonlySet<Stance>,
  ): StatusWrite[] {
    return stances.flatMap((stance) => {
      const holds = stance.kind === 'holding';
      const status = computeStatus({
        stance,
        node: this.#node,
        restoreData: holds ? change.mirror : undefined,
        nodeSettled: change.patch === undefined || undisturbed.has(stance),
        heldAlready: restoreData !== undefined,
        uncordonedByHand: holds && change.uncordonedByHand,
        foreignTaints: holds ? change.foreignTaints : [],
        nodeWriteProblem: this.#snapshot.memory.nodeWriteProblem,
        drain: drain.facts.get(stance),
        now: this.#snapshot.now,
      });
      return statusWrite(stance, status, this.#snapshot);
    });
  }

  #missingFinalizers(): FinalizerWrite[] {
    return this.#stances
      .filter(({ kind, maintenance }) => kind !== 'restoring' && !hasFinalizer(maintenance))
      .map(({ maintenance }) => ({
        maintenance,
        finalizers: [...(maintenance.metadata.finalizers ?? []), restoreNodeFinalizer],
        events: [],
      }));
  }

  #finished(stances: readonly Stance[], restored: boolean): FinalizerWrite[] {
    return stances
      .filter(({ kind, maintenance }) => kind === 'restoring' && hasFinalizer(maintenance))
      .filter((stance) => restored || this.#snapshot.now >= releaseTime(stance))
      .map(({ maintenance }) => dropFinalizer(maintenance, restored ? this.#node : undefined));
  }

  #wakeAfter(drain: DrainPart, guard: Guard, recordonLater: boolean): number | undefined {
    const { now, monotonic, memory } = this.#snapshot;
    const dates = [...drain.wakeAt, guard.wakeAt, ...this.#stances.filter(isRestoring).map(releaseTime)];
    const delays = dates.filter((date) => date !== undefined).map((date) => date - now);
    if (drain.wakeAtMonotonic !== undefined) delays.push(drain.wakeAtMonotonic - monotonic);
    if (recordonLater) delays.push(memory.recordonAt - monotonic);
    const future = delays.filter((delay) => delay > 0);
    return future.length > 0 ? Math.min(...future) : undefined;
  }
}

function withoutNode(snapshot: Snapshot, stances: readonly Stance[]): Plan {
  const statuses = stances
    .filter((stance) => !isRestoring(stance))
    .flatMap((stance) =>
      statusWrite(stance, computeStatus({ ...noNode, stance, now: snapshot.now }), snapshot),
    );
  const dates = stances
    .filter(({ kind }) => kind === 'nodeNotFound')
    .map(({ maintenance }) => nodeNotFoundStalledAt(maintenance, snapshot.now) - snapshot.now)
    .filter((delay) => delay > 0);
  return {
    ...noDrain.actions(false),
    addFinalizers: [],
    statuses,
    nodePatch: undefined,
    recordon: false,
    nodeEvents: [],
    nodeConditions: undefined,
    dropFinalizers: stances
      .filter((stance) => isRestoring(stance) && hasFinalizer(stance.maintenance))
      .map(({ maintenance }) => dropFinalizer(maintenance, undefined)),
    verifyHolders: [],
    wakeAfterMs: dates.length > 0 ? Math.min(...dates) : undefined,
  };
}

const noNode = {
  node: undefined,
  restoreData: undefined,
  nodeSettled: false,
  heldAlready: false,
  uncordonedByHand: false,
  foreignTaints: [],
  nodeWriteProblem: undefined,
  drain: undefined,
} as const;

function statusWrite(stance: Stance, status: NodeMaintenanceStatus, { memory }: Snapshot): StatusWrite[] {
  const { maintenance } = stance;
  if (sameStatus(maintenance.status, status)) return [];
  const told = memory.toldCauses.get(maintenance.metadata.uid) ?? new Set();
  const events = statusEvents(maintenance, maintenance.status, status, told);
  return [{ maintenance, status, urgent: isUrgent(maintenance.status, status), events }];
}

function dropFinalizer(maintenance: Stance['maintenance'], restoredNode: Node | undefined): FinalizerWrite {
  return {
    maintenance,
    finalizers: (maintenance.metadata.finalizers ?? []).filter(
      (finalizer) => finalizer !== restoreNodeFinalizer,
    ),
    events: finalizerEvents(maintenance, restoredNode),
  };
}

function asHolder({ maintenance, spec, evacuates }: Stance): Holder {
  return {
    name: maintenance.metadata.name,
    uid: maintenance.metadata.uid,
    reason: spec.reason ?? '',
    evacuates,
    excludeFromLoadBalancers: spec.excludeFromLoadBalancers,
    taints: spec.taints ?? [],
  };
}

function stateOf(stance: Stance, node: Node, drain: DrainPart): MaintenanceState[] {
  if (isRestoring(stance)) return [];
  const { metadata } = stance.maintenance;
  const base = { name: metadata.name, reason: stance.spec.reason ?? '' };
  if (stance.kind !== 'holding') return [{ ...base, state: 'planned' }];
  if (!stance.evacuates) return [{ ...base, state: 'inProgress' }];
  return [{ ...base, state: drainState(stance, node, drain.facts.get(stance)) }];
}

function drainState(
  { maintenance: { status }, spec }: Stance,
  node: Node,
  facts: DrainFacts | undefined,
): MaintenanceState['state'] {
  if (!facts) {
    // A process that has just started goes on with what the one before it said of this node.
    const drained =
      status?.node?.uid === node.metadata.uid ? findCondition(status.conditions, 'Drained') : undefined;
    if (drained?.status === 'True') return 'drained';
    const rests = spec.suspend || drained?.reason === 'PodsKept' || status?.drain?.failure !== undefined;
    return rests ? 'inProgress' : 'draining';
  }
  if (facts.view.remaining.length > 0) return facts.clock.active ? 'draining' : 'inProgress';
  return facts.view.kept.length > 0 ? 'inProgress' : 'drained';
}

function isRestoring({ kind }: Stance): boolean {
  return kind === 'restoring';
}

function releaseTime({ maintenance }: Stance): number {
  return Date.parse(maintenance.metadata.deletionTimestamp ?? '') + releaseAfterMs;
}
