/** Tens of thousands of budgets, thousands of them in one namespace. */
import { createAll, forAll } from '../bulk.ts';
import { type Cost, idleCost, observed } from './cost.ts';
import type { Fleet } from './fleet.ts';
import { boundPod, fleetBudget, numbered } from './manifests.ts';
import { ALL, describe, FAST, PATIENCE_MS, type Play, settle } from './play.ts';

const NODE = 'under-budgets';

export interface BudgetsFigures {
  readonly budgets: number;
  readonly inNamespace: number;
  /** No node is being emptied: nobody watches budgets. */
  readonly before: Cost;
  /** A node whose pods lie under as many budgets of the large namespace. */
  readonly pods: number;
  readonly drain: Cost;
  readonly waiting: Cost;
  readonly afterwards: Cost;
}

/** `total` budgets in namespaces of 100, and as many as `inNamespace` in one more; each selects one pod, if any. */
export async function underBudgets(
  play: Play,
  {
    total,
    inNamespace,
    pods,
  }: { readonly total: number; readonly inNamespace: number; readonly pods: number },
): Promise<BudgetsFigures> {
  const { fleet, signal, log, idleSeconds } = play;
  const large = 'large';
  const spaces = numbered('space', Math.ceil(total / 100));
  await fleet.addNodes([NODE]);
  await forAll([large, ...spaces], async (name) => fleet.bed.namespace(name));
  await forAll(
    [
      ...numbered('app', inNamespace).map((name) => [large, name] as const),
      ...numbered('app', total).map((name, index) => [spaces[Math.floor(index / 100)] ?? '', name] as const),
    ],
    async ([space, name]) =>
      createAll(fleet.client, `/apis/policy/v1/namespaces/${space}/poddisruptionbudgets`, [
        fleetBudget(space, name, name),
      ]),
  );
  await createAll(
    fleet.client,
    `/api/v1/namespaces/${large}/pods`,
    numbered('app', pods).map((name) => boundPod(large, name, NODE, name)),
  );
  // The disruption controller takes them one after the other.
  await untilSeen(fleet, large, numbered('app', inNamespace).at(-1) ?? '');
  await untilSeen(fleet, spaces.at(-1) ?? '', numbered('app', total).at(-1) ?? '');
  await fleet.operate([ALL, ...FAST]);
  await settle(play);
  const before = await idleCost(fleet, idleSeconds, signal);
  const { cost: drain } = await observed(fleet, async () => {
    await fleet.maintain([NODE], { drain: { unmanagedPods: 'Evict' } });
    await fleet.drained([NODE], PATIENCE_MS);
  });
  await settle(play);
  const waiting = await idleCost(fleet, idleSeconds, signal);
  await fleet.endMaintenances([NODE], PATIENCE_MS);
  await settle(play);
  const afterwards = await idleCost(fleet, idleSeconds, signal);
  log(
    `${total + inNamespace} budgets: before ${describe(before)}; ${pods} pods left in ${drain.seconds.toFixed(1)} s, longest hold-up of the loop ${drain.loopMaxMs.toFixed(0)} ms`,
  );
  log(`with them watched: ${describe(waiting)}; afterwards: ${describe(afterwards)}`);
  return { budgets: total + inNamespace, inNamespace, before, pods, drain, waiting, afterwards };
}

async function untilSeen(fleet: Fleet, space: string, name: string): Promise<void> {
  await fleet.bed.eventually(
    `the disruption controller has seen budget ${space}/${name}`,
    async () => (await fleet.bed.api.budget(space, name)).status?.observedGeneration === 1,
    { timeoutMs: PATIENCE_MS },
  );
}
