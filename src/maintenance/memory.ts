import type { NodeMaintenance } from '../api/types.generated.ts';
import { LiveDrainMemory } from '../drain/memory.ts';
import { UnsatisfiableBudgets } from '../drain/unsatisfiable.ts';
import type { Pod, PodDisruptionBudget } from '../kube/types.ts';
import type { NodeRecord } from '../node/record.ts';
import type { OwnPodFate } from './order.ts';
import type { RestartNote } from './restarts.ts';
import { type Lineage, afterEviction, lineageOf } from './returns.ts';
import type { NodeMemory, Tally } from './snapshot.ts';

/** What is remembered of one node. */
interface NodeNotes {
  lastRecord: { readonly nodeUid: string; readonly record: NodeRecord } | undefined;
  tallies: ReadonlyMap<string, Tally>;
  carriers: NodeMemory['carriers'];
  heldUpSince: ReadonlyMap<string, number>;
  readonly toldCauses: Map<string, Set<string>>;
  readonly lineages: Map<string, Lineage>;
  /** Pods of the same controller that were here when a pod was asked to leave, by its UID. */
  readonly siblings: Map<string, readonly Pod[]>;
  ownPod: OwnPodFate | undefined;
  readonly restarts: Map<string, RestartNote>;
  recordonAt: number;
  recordons: number;
  nodeWriteProblem: string | undefined;
  /** When the status of a maintenance was written last, by UID; monotonic milliseconds. */
  readonly statusWrittenAt: Map<string, number>;
}

// Somebody who uncordons the node again and again is not fought at full speed.
const firstRecordonDelayMs = 1_000;
const longestRecordonDelayMs = 300_000;
const recordonsForgottenMs = 600_000;

/** All that this process remembers, and may forget. */
export class Memory {
  readonly drain = new LiveDrainMemory();
  readonly unsatisfiable = new UnsatisfiableBudgets();
  readonly absentHolders = new Set<string>();
  readonly #notes = new Map<string, NodeNotes>();

  of(nodeName: string): NodeNotes {
    let notes = this.#notes.get(nodeName);
    if (!notes) {
      notes = {
        lastRecord: undefined,
        tallies: new Map(),
        carriers: undefined,
        heldUpSince: new Map(),
        toldCauses: new Map(),
        lineages: new Map(),
        siblings: new Map(),
        ownPod: undefined,
        restarts: new Map(),
        recordonAt: 0,
        recordons: 0,
        nodeWriteProblem: undefined,
        statusWrittenAt: new Map(),
      };
      this.#notes.set(nodeName, notes);
    }
    return notes;
  }

  blockedByCause(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { heldUpSince } of this.#notes.values()) {
      for (const key of heldUpSince.keys()) {
        const cause = key.slice(key.indexOf(' ') + 1);
        counts.set(cause, (counts.get(cause) ?? 0) + 1);
      }
    }
    return counts;
  }

  /** Nothing is in maintenance on this node any more. */
  forget(nodeName: string): void {
    this.#notes.delete(nodeName);
  }

  /** Pods are asked to leave; `present` are all of the node. The answer may come after the next pod of a controller. */
  asked(nodeName: string, pods: readonly Pod[], present: readonly Pod[]): void {
    const { siblings } = this.of(nodeName);
    for (const pod of pods) {
      const key = lineageOf(pod);
      const own = present.filter((each) => lineageOf(each) === key);
      if (key !== undefined) siblings.set(pod.metadata.uid, own);
    }
  }

  /** A pod's eviction (or deletion) was accepted. */
  evicted(pod: Pod, maintenances: readonly NodeMaintenance[]): void {
    const { lineages, siblings } = this.of(pod.spec.nodeName ?? '');
    const key = lineageOf(pod);
    const present = siblings.get(pod.metadata.uid) ?? [pod];
    siblings.delete(pod.metadata.uid);
    if (key !== undefined) lineages.set(key, afterEviction(lineages.get(key), pod, present, maintenances));
  }

  /** `now`: monotonic milliseconds. */
  budgetChanged(old: PodDisruptionBudget | undefined, changed: PodDisruptionBudget, now: number): void {
    this.drain.budgetChanged(changed);
    this.unsatisfiable.seen(changed, now, old?.metadata.uid !== changed.metadata.uid);
  }

  budgetGone(budget: PodDisruptionBudget): void {
    this.drain.budgetGone(budget);
    this.unsatisfiable.gone(budget);
  }

  /** Nobody watches budgets any more. */
  budgetsUnwatched(): void {
    this.drain.budgetsUnwatched();
    this.unsatisfiable.unwatched();
  }

  /** The node was cordoned again after somebody uncordoned it; the next time has to wait longer. */
  recordoned(nodeName: string, now: number): void {
    const notes = this.of(nodeName);
    if (now - notes.recordonAt > recordonsForgottenMs) notes.recordons = 0;
    notes.recordonAt = now + Math.min(firstRecordonDelayMs * 2 ** notes.recordons, longestRecordonDelayMs);
    notes.recordons++;
  }

  told(nodeName: string, maintenanceUid: string, cause: string): void {
    const { toldCauses } = this.of(nodeName);
    const told = toldCauses.get(maintenanceUid) ?? new Set();
    toldCauses.set(maintenanceUid, told.add(cause));
  }

  view(nodeName: string): NodeMemory {
    const { drain, unsatisfiable, absentHolders } = this;
    return {
      ...this.of(nodeName),
      attempts: drain.attempts,
      inFlight: drain.inFlight,
      accepted: drain.accepted,
      lane: (key) => drain.lane(key),
      unsatisfiableSince: (budget) => unsatisfiable.since(budget),
      absentHolders,
    };
  }
}
