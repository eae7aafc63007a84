import { budgetGate, budgetKey } from '../drain/budgets.ts';
import { type Miscount, miscountOf } from '../drain/miscount.ts';
import { type Obstacle, miscounted } from '../drain/obstacles.ts';
import type { Pod, PodDisruptionBudget } from '../kube/types.ts';
import type { Snapshot } from './snapshot.ts';

type Known = Pick<Snapshot, 'budgetsOf' | 'memory' | 'monotonic' | 'now' | 'pods'>;

/** The obstacles, with budgets named as such whose status is out of date. */
export function nameMiscounted(
  snapshot: Known,
  obstacles: ReadonlyMap<string, Obstacle>,
): { readonly obstacles: ReadonlyMap<string, Obstacle>; readonly wakeAt: number | undefined } {
  const { budgetsOf, monotonic, now, pods = [] } = snapshot;
  const named = new Map(obstacles);
  const held = pods.filter(({ metadata }) => obstacles.get(metadata.uid)?.cause === 'PodDisruptionBudget');
  if (held.length === 0) return { obstacles, wakeAt: undefined };
  const miscounts = miscountsOf(snapshot);
  let wakeAt: number | undefined;
  for (const pod of held) {
    const gate = budgetGate(pod, budgetsOf(pod));
    const miscount = gate.kind === 'counted' ? miscounts.get(budgetKey(gate.budget)) : undefined;
    const obstacle = obstacles.get(pod.metadata.uid);
    if (miscount === undefined || obstacle === undefined) continue;
    if (miscount.from <= now) named.set(pod.metadata.uid, miscounted(obstacle, miscount.ready));
    else wakeAt = Math.min(wakeAt ?? Infinity, monotonic + miscount.from - now);
  }
  return { obstacles: named, wakeAt };
}

/** By budget, as far as the pods of the node show it; those that somebody is evicting are left out. */
function miscountsOf({ pods = [], budgetsOf, memory, now }: Known): ReadonlyMap<string, Miscount> {
  const selected = new Map<string, { readonly budget: PodDisruptionBudget; readonly pods: Pod[] }>();
  for (const pod of pods) {
    if (memory.accepted.has(pod.metadata.uid) || memory.inFlight.has(pod.metadata.uid)) continue;
    for (const budget of budgetsOf(pod)) {
      const key = budgetKey(budget);
      const known = selected.get(key);
      if (known) known.pods.push(pod);
      else selected.set(key, { budget, pods: [pod] });
    }
  }
  const miscounts = new Map<string, Miscount>();
  for (const [key, of] of selected) {
    const miscount = miscountOf(of.budget, of.pods, now);
    if (miscount) miscounts.set(key, miscount);
  }
  return miscounts;
}
