import type { EffectiveSpec } from '../api/defaults.ts';
import type { Blocker } from '../api/types.generated.ts';
import { controllerOf } from '../drain/filters.ts';
import type { Obstacle } from '../drain/obstacles.ts';
import {
  looksUnsatisfiable,
  unsatisfiable,
  unsatisfiableAdvice,
  unsatisfiableAfterMs,
} from '../drain/unsatisfiable.ts';
import type { PodDisruptionBudget } from '../kube/types.ts';
import { byItself } from '../maintenance/blockers.ts';
import { readyCondition } from '../maintenance/pods.ts';
import { isHeldByBudget } from '../maintenance/restarts.ts';
import type { Stance } from '../maintenance/stance.ts';
import { count } from '../maintenance/words.ts';
import { compareText } from '../runtime/compare.ts';
import type { Leaver, Outlook } from './outlook.ts';
import type { HomelessForecast, Obstruction, ObstructionCause, PodName } from './preview.ts';
import type { Rehearsal } from './rehearsal.ts';

/** One pod and why it cannot leave, or what cannot be told about it. */
interface Finding {
  readonly cause: ObstructionCause;
  readonly message: string;
  readonly nextStep?: string | undefined;
  readonly pods: readonly PodName[];
}

/** What stands in the way: what the planner holds up, what the API server refuses, and pods without a place to go. */
export function findObstructions(
  outlook: Outlook,
  rehearsals: ReadonlyMap<string, Rehearsal>,
  homeless: readonly HomelessForecast[],
): Obstruction[] {
  const { drain, leavers, stance } = outlook;
  const blockers = new Map((drain?.blockers ?? []).map((blocker) => [blocker.pod.uid ?? '', blocker]));
  const leaving = new Set(leavers.map(({ pod }) => pod.metadata.uid));
  const findings: Finding[] = [
    ...[...blockers.values()].filter(({ pod }) => !leaving.has(pod.uid ?? '')).map(ofPlanner),
    ...leavers.flatMap((leaver) => {
      const { uid } = leaver.pod.metadata;
      return ofServer(leaver, rehearsals.get(uid), blockers.get(uid), stance);
    }),
    ...ofNode(outlook),
    ...ofOperator(outlook),
    ...homeless.map(ofHomeless),
  ];
  return merge(findings);
}

function ofPlanner({ cause, message, nextStep, pod }: Blocker): Finding {
  // The API knows more causes than this version of the planner.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const known = cause as ObstructionCause;
  return { cause: known, message, nextStep, pods: [{ namespace: pod.namespace, name: pod.name }] };
}

/** The server has the last word; where it says nothing about the pod, the planner's view of the budgets stands. */
function ofServer(
  leaver: Leaver,
  rehearsal: Rehearsal | undefined,
  blocker: Blocker | undefined,
  stance: Stance,
): Finding[] {
  const pods = [nameOf(leaver)];
  switch (rehearsal?.kind) {
    case 'allowed':
    case 'gone':
      // What is wrong with the pod itself, such as volumes that cannot be looked up.
      return blocker?.cause === 'ApiError' ? [ofPlanner(blocker)] : [];
    case 'refused':
      return [refusal(leaver, rehearsal.obstacle, blocker, stance)];
    case undefined:
    case 'unknown':
      return blocker ? [refusal(leaver, obstacleOf(blocker), blocker, stance)] : [];
    case 'notPermitted': {
      const planned = blocker ? [refusal(leaver, obstacleOf(blocker), blocker, stance)] : [];
      return [{ cause: 'NotPermitted', message: mayNotAsk, pods }, ...planned];
    }
    case 'failed':
      return [{ cause: 'ApiError', message: `the API server could not tell: ${rehearsal.message}`, pods }];
  }
}

const mayNotAsk =
  'you may not ask for evictions, not even as a dry run, so what the API server would say is not known: ' +
  'get the right to create pods/eviction';

function obstacleOf({ cause, message }: Blocker): Obstacle {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { cause: cause as Obstacle['cause'], message };
}

function refusal(leaver: Leaver, obstacle: Obstacle, blocker: Blocker | undefined, stance: Stance): Finding {
  const pods = [nameOf(leaver)];
  const { spec } = stance;
  const { gate } = leaver;
  const isBudget = obstacle.cause === 'PodDisruptionBudget';
  if (isBudget && gate.kind === 'counted' && looksUnsatisfiable(gate.budget)) {
    const { cause, message } = unsatisfiable(gate.budget);
    const nextStep = withRestart(nextStepWithoutHope(gate.budget, blocker, spec), leaver, spec);
    return { cause, message: `${message} (as it looks now)`, nextStep, pods };
  }
  // The planner names the budget in full.
  const same = blocker?.cause === obstacle.cause ? blocker : undefined;
  const message = same?.message ?? obstacle.message;
  const alone = same?.nextStep ?? byItself(obstacle, { stance });
  const nextStep = isHeldByBudget(obstacle) ? withRestart(alone, leaver, spec) : alone;
  return { cause: obstacle.cause, message, nextStep, pods };
}

/** Whether it is safe is looked at when the drain has begun. */
function withRestart(
  nextStep: string | undefined,
  { pod }: Leaver,
  { drain }: EffectiveSpec,
): string | undefined {
  if (drain.blockedDeployments !== 'Restart' || controllerOf(pod)?.kind !== 'ReplicaSet') return nextStep;
  const restart = 'its Deployment is restarted where that is safe (blockedDeployments is Restart)';
  return nextStep === undefined ? restart : `${restart}, otherwise: ${nextStep}`;
}

/** What the maintenance does about a budget that can never allow a disruption, once it is sure of it. */
function nextStepWithoutHope(
  budget: PodDisruptionBudget,
  blocker: Blocker | undefined,
  { drain }: EffectiveSpec,
): string | undefined {
  const after = `after ${unsatisfiableAfterMs / 1000} s (unsatisfiableBudgets is ${drain.unsatisfiableBudgets})`;
  if (drain.unsatisfiableBudgets === 'Delete') return `deleted ${after}`;
  if (drain.unsatisfiableBudgets === 'Fail') return `the drain gives up ${after}`;
  const ends = drain.timeoutSeconds !== undefined || drain.deleteBlockedAfterSeconds !== undefined;
  return ends ? blocker?.nextStep : `nothing happens by itself: ${unsatisfiableAdvice(budget)}`;
}

function ofNode({ node, leavers, stance }: Outlook): Finding[] {
  const ready = readyCondition(node);
  const waits = stance.spec.drain.skipWaitForDeleteTimeoutSeconds === 0;
  if (ready?.status === 'True' || leavers.length === 0 || !waits) return [];
  const why = `node ${node.metadata.name} is not Ready (${ready?.reason ?? 'no condition'})`;
  const message = `${why}: its kubelet cannot confirm that pods have stopped, so they would stay Terminating`;
  return [{ cause: 'NodeNotReady', message, pods: [] }];
}

function ofOperator({ notPermitted: message }: Outlook): Finding[] {
  return message === undefined ? [] : [{ cause: 'NotPermitted', message, pods: [] }];
}

function ofHomeless({ pods, fitsAlone, reasons }: HomelessForecast): Finding {
  const why = reasons.map(({ why: one, nodes }) => `${count(nodes, 'node')}: ${one}`).join('; ');
  const [head, none] = fitsAlone
    ? ['finds no room beside the other pods that leave', 'found']
    : ['finds room on no other node', 'there is none that takes pods'];
  return { cause: 'NoRoom', message: `${head}; ${why === '' ? none : why}`, pods };
}

/** Pods that are held up by the same thing are one thing that stands in the way. */
function merge(findings: readonly Finding[]): Obstruction[] {
  const merged = new Map<string, Obstruction>();
  for (const { cause, message, nextStep, pods } of findings) {
    const key = `${cause} ${message} ${nextStep ?? ''}`;
    const known = merged.get(key)?.pods ?? [];
    merged.set(key, {
      cause,
      message,
      pods: [...known, ...pods],
      ...(nextStep === undefined ? {} : { nextStep }),
    });
  }
  return [...merged].toSorted(([a], [b]) => compareText(a, b)).map(([, obstruction]) => obstruction);
}

function nameOf({ pod }: Leaver): PodName {
  return { namespace: pod.metadata.namespace ?? '', name: pod.metadata.name };
}
