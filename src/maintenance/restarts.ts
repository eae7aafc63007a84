import type { NodeMaintenance } from '../api/types.generated.ts';
import { budgetGate } from '../drain/budgets.ts';
import { controllerOf } from '../drain/filters.ts';
import type { Obstacle } from '../drain/obstacles.ts';
import type { Pod } from '../kube/types.ts';
import type { Evacuator } from './evacuation.ts';
import type { NodeMemory, Snapshot } from './snapshot.ts';

/** What is known of the Deployment of a pod that is held up, by the UID of its ReplicaSet. */
export interface RestartNote {
  readonly state: RestartState;
  /** What is going to happen, or why it is not, for people; `undefined`: not known yet. */
  readonly words: string | undefined;
  /** Monotonic milliseconds at which the Deployment is looked at again; `undefined`: it is being looked at. */
  readonly lookAt: number | undefined;
  /** How often the answer was no, one after another. */
  readonly refusals: number;
}

export type RestartState =
  /** Nobody has looked yet. */
  | 'unknown'
  | 'no'
  /** A restart would be safe; it is done if that is still so in a moment. */
  | 'settling'
  /** The last look before the restart, and the restart. */
  | 'confirming'
  /** Its pods are being replaced. */
  | 'rolling';

/** One Deployment to look at, named by the ReplicaSet whose pods are held up. */
export interface RestartLook {
  readonly namespace: string;
  readonly replicaSet: { readonly name: string; readonly uid: string };
  /** The maintenance on whose behalf it would be restarted. */
  readonly maintenance: NodeMaintenance;
  /** UIDs of all that evacuate the node: one restart is enough for all of them. */
  readonly maintenances: ReadonlySet<string>;
  readonly retryIntervalMs: number;
}

export interface RestartWork {
  readonly looks: readonly RestartLook[];
  /** UIDs of ReplicaSets of which the notes still count. */
  readonly keep: ReadonlySet<string>;
}

export interface RestartWords {
  readonly text: string;
  /** The pod leaves by it. */
  readonly helps: boolean;
}

export interface RestartPlan extends RestartWork {
  /** What the blockers of pods say of it, by the pod's UID. */
  readonly words: ReadonlyMap<string, RestartWords>;
  /** Monotonic milliseconds. */
  readonly wakeAt: number | undefined;
}

export const noRestarts: RestartPlan = { looks: [], keep: new Set(), words: new Map(), wakeAt: undefined };

/** A restart is on its way or going on: neither deleting the pod nor giving up is what is left to do. */
export function leavesByRestart({ restarts }: Pick<NodeMemory, 'restarts'>, pod: Pod): boolean {
  const state = restarts.get(controllerOf(pod)?.uid ?? '')?.state;
  return state === 'settling' || state === 'confirming' || state === 'rolling';
}

/**
 * Whether the eviction of the pod could take away what a rolling restart counts on: a rollout does not ask budgets, so
 * budget and rollout together could take two pods where each allows one. `heldUpBefore` tells of restarts that a
 * process before this one may have begun.
 */
export function isWithheld(
  snapshot: Snapshot,
  evacuators: readonly Evacuator[],
  pod: Pod,
  heldUpBefore: boolean,
): boolean {
  const owner = controllerOf(pod);
  if (!heldUpBefore || owner?.kind !== 'ReplicaSet' || objector(evacuators)) return false;
  const { memory } = snapshot;
  if (memory.attempts.get(pod.metadata.uid)?.refusal.kind === 'admission') return false;
  if (budgetGate(pod, snapshot.budgetsOf(pod)).kind === 'free') return false;
  const state = memory.restarts.get(owner.uid)?.state ?? 'unknown';
  return state === 'unknown' || state === 'confirming' || state === 'rolling';
}

/** Which Deployments to look at now. `held`: pods that an active maintenance wants to go, and that a budget holds up. */
export function planRestarts(
  snapshot: Snapshot,
  evacuators: readonly Evacuator[],
  held: readonly Pod[],
): RestartPlan {
  const against = objector(evacuators);
  if (!evacuators.some(asks)) return noRestarts;
  const words = new Map<string, RestartWords>();
  const looks = new Map<string, RestartLook>();
  const keep = new Set<string>();
  let wakeAt: number | undefined;
  for (const pod of held) {
    const owner = controllerOf(pod);
    const objection = against
      ? `maintenance ${against.stance.maintenance.metadata.name} does not ask for it`
      : ownerObjection(pod);
    if (objection !== undefined || !owner) {
      words.set(pod.metadata.uid, { text: `not restarted: ${objection ?? ''}`, helps: false });
      continue;
    }
    const note = snapshot.memory.restarts.get(owner.uid);
    if (note?.words !== undefined)
      words.set(pod.metadata.uid, { text: note.words, helps: leavesByRestart(snapshot.memory, pod) });
    keep.add(owner.uid);
    const lookAt = note ? note.lookAt : snapshot.monotonic;
    if (lookAt === undefined) continue;
    if (lookAt > snapshot.monotonic) wakeAt = Math.min(wakeAt ?? lookAt, lookAt);
    else if (!looks.has(owner.uid)) looks.set(owner.uid, lookOf(evacuators, pod, owner));
  }
  // A rollout goes on whether or not its pods are asked to leave now.
  for (const pod of snapshot.pods ?? []) {
    const uid = controllerOf(pod)?.uid ?? '';
    if (snapshot.memory.restarts.get(uid)?.state === 'rolling') keep.add(uid);
  }
  return { looks: [...looks.values()], keep, words, wakeAt };
}

/** Restarting needs the consent of every maintenance that evacuates the node. */
function objector(evacuators: readonly Evacuator[]): Evacuator | undefined {
  return evacuators.find((evacuator) => !asks(evacuator));
}

function asks({ stance }: Evacuator): boolean {
  return stance.refused === undefined && stance.spec.drain.blockedDeployments === 'Restart';
}

function ownerObjection(pod: Pod): string | undefined {
  const owner = controllerOf(pod);
  if (!owner) return 'it belongs to no Deployment';
  return owner.kind === 'ReplicaSet'
    ? undefined
    : `it belongs to ${owner.kind} ${owner.name}, not to a Deployment`;
}

function lookOf(
  evacuators: readonly Evacuator[],
  pod: Pod,
  { name, uid }: { readonly name: string; readonly uid: string },
): RestartLook {
  const wanting = evacuators.filter(
    ({ clock, view }) => clock.active && view.verdicts.get(pod.metadata.uid)?.kind === 'leaves',
  );
  const [first] = wanting;
  if (!first) throw new Error(`nobody wants pod ${pod.metadata.name} to leave`);
  const intervals = wanting.map(({ stance }) => stance.spec.drain.retryIntervalSeconds * 1000);
  return {
    namespace: pod.metadata.namespace ?? '',
    replicaSet: { name, uid },
    maintenance: first.stance.maintenance,
    maintenances: new Set(evacuators.map(({ stance }) => stance.maintenance.metadata.uid)),
    retryIntervalMs: Math.min(...intervals),
  };
}

/** Pods that wait for their budget, and not for a webhook or a protection. */
export function isHeldByBudget(obstacle: Obstacle | undefined): boolean {
  return (
    obstacle?.cause.endsWith('PodDisruptionBudget') === true ||
    obstacle?.cause === 'MultiplePodDisruptionBudgets'
  );
}
