import { budgetGate, budgetKey } from '../drain/budgets.ts';
import type { Obstacle } from '../drain/obstacles.ts';
import { unsatisfiable, unsatisfiableAfterMs, unsatisfiableReason } from '../drain/unsatisfiable.ts';
import { isTerminating } from '../drain/filters.ts';
import type { Pod, PodDisruptionBudget } from '../kube/types.ts';
import { type PodView, podName } from './pods.ts';
import { leavesByRestart } from './restarts.ts';
import type { Snapshot } from './snapshot.ts';
import type { Stance } from './stance.ts';

type Known = Pick<Snapshot, 'budgetsOf' | 'memory' | 'monotonic'>;

/** The one budget that holds the pod up for ever, as far as can be known now. */
export function hopelessBudget(snapshot: Known, pod: Pod): PodDisruptionBudget | undefined {
  const { since, budget } = suspicion(snapshot, pod) ?? {};
  return since !== undefined && snapshot.monotonic - since >= unsatisfiableAfterMs ? budget : undefined;
}

function suspicion(
  { budgetsOf, memory }: Known,
  pod: Pod,
): { readonly since: number; readonly budget: PodDisruptionBudget } | undefined {
  const { uid } = pod.metadata;
  // A webhook's "no" means that somebody moves the pod: the budget is not what it waits for.
  if (memory.accepted.has(uid) || memory.attempts.get(uid)?.refusal.kind === 'admission') return undefined;
  if (leavesByRestart(memory, pod)) return undefined;
  const gate = budgetGate(pod, budgetsOf(pod));
  const since = gate.kind === 'counted' ? memory.unsatisfiableSince(gate.budget) : undefined;
  return gate.kind === 'counted' && since !== undefined ? { since, budget: gate.budget } : undefined;
}

/** The obstacles with unsatisfiable budgets named as such. */
export function nameUnsatisfiable(
  snapshot: Known,
  pods: readonly Pod[],
  obstacles: ReadonlyMap<string, Obstacle>,
): { readonly obstacles: ReadonlyMap<string, Obstacle>; readonly wakeAt: number | undefined } {
  const named = new Map(obstacles);
  let wakeAt: number | undefined;
  for (const pod of pods) {
    if (obstacles.get(pod.metadata.uid)?.cause !== 'PodDisruptionBudget') continue;
    const { since, budget } = suspicion(snapshot, pod) ?? {};
    if (since === undefined || budget === undefined) continue;
    const at = since + unsatisfiableAfterMs;
    if (at <= snapshot.monotonic) named.set(pod.metadata.uid, unsatisfiable(budget));
    else wakeAt = Math.min(wakeAt ?? at, at);
  }
  return { obstacles: named, wakeAt };
}

/** Why the drain of a maintenance that does not want to wait for unsatisfiable budgets gives up now, as a sentence. */
export function givesUp(
  snapshot: Snapshot,
  { spec, maintenance }: Stance,
  view: PodView,
): string | undefined {
  if (spec.drain.unsatisfiableBudgets !== 'Fail') return undefined;
  const { status } = maintenance;
  // It is said in status before it is acted upon, so that a failed drain names what it failed with.
  const said = status?.blockers?.some(({ cause }) => cause === 'UnsatisfiablePodDisruptionBudget');
  const unseen = (status?.blockersTotal ?? 0) > (status?.blockers?.length ?? 0);
  const isSaid = ({ metadata: { uid } }: Pod) =>
    snapshot.memory.heldUpSince.has(`${uid} UnsatisfiablePodDisruptionBudget`);
  if (said !== true && !unseen) return undefined;
  for (const pod of view.remaining) {
    if (isTerminating(pod) || view.verdicts.get(pod.metadata.uid)?.kind !== 'leaves' || !isSaid(pod))
      continue;
    const budget = hopelessBudget(snapshot, pod);
    if (budget)
      return `budget ${budgetKey(budget)} can never let pod ${podName(pod)} go (${unsatisfiableReason(budget)}), and unsatisfiableBudgets is Fail`;
  }
  return undefined;
}
