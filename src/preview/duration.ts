// How long it takes, by what is known beforehand: grace periods, the pace of volumes, and how many pods a budget lets go
// at a time. How long a replacement takes to be Ready is not known; where it counts there is no upper limit to tell.
import { isSystemCritical } from '../maintenance/order.ts';
import { count } from '../maintenance/words.ts';
import type { Leaver } from './outlook.ts';
import type { BudgetForecast, DurationForecast, Obstruction, VolumeForecast } from './preview.ts';

export interface DurationInput {
  readonly leavers: readonly Leaver[];
  readonly budgets: readonly BudgetForecast[];
  readonly volumes: readonly VolumeForecast[];
  readonly obstacles: readonly Obstruction[];
  /** Seconds that pods which are terminating already have left. */
  readonly terminatingSeconds: number;
}

export function forecastDuration(input: DurationInput): DurationForecast {
  const { leavers, budgets, obstacles, terminatingSeconds } = input;
  const critical = leavers.filter(({ pod }) => isSystemCritical(pod));
  const normal = leavers.filter(({ pod }) => !isSystemCritical(pod));
  const stages = [normal, critical].filter((stage) => stage.length > 0);
  const times = stages.map((stage) => stageSeconds(stage, input));
  const parts: string[] = [];
  if (leavers.length > 0) {
    parts.push(
      `up to ${seconds(Math.max(...leavers.map(graceOf)))} for a pod to stop (its grace period), all side by side`,
    );
  }
  if (stages.length > 1) {
    parts.push(`${count(critical.length, 'system-critical pod')} only when the others are gone`);
  }
  parts.push(...input.volumes.map((volume) => volumePart(volume, leavers)));
  const inTurn = budgets.filter(({ verdict }) => verdict === 'inTurn');
  for (const { namespace, name, pods, disruptionsAllowed } of inTurn) {
    const rounds = Math.ceil(pods / disruptionsAllowed);
    parts.push(
      `budget ${namespace}/${name} lets ${disruptionsAllowed} of its ${count(pods, 'pod')} go at a time: ` +
        `at least ${count(rounds, 'round')}, each until a replacement is Ready`,
    );
  }
  if (terminatingSeconds > 0)
    parts.push(`up to ${seconds(terminatingSeconds)} for pods that are stopping already`);
  const held = obstacles.filter(({ pods, cause }) => pods.length > 0 && cause !== 'NoRoom');
  if (held.length > 0) parts.push('not counted: what stands in the way, for as long as it does');
  if (inTurn.length > 0 || held.length > 0) return { parts };
  const total = times.reduce((sum, one) => sum + one, 0);
  return { atMostSeconds: Math.max(total, terminatingSeconds), parts };
}

function stageSeconds(stage: readonly Leaver[], { volumes }: DurationInput): number {
  const moves = volumes.map((volume) => lane(volume, stage)).filter(({ pods }) => pods > 0);
  const drivers = stage.map((leaver) => driversIn(leaver));
  // A pod with volumes of several drivers waits for a place in each of their lanes: then one may hold up the other.
  const linked = drivers.some((names) => names.length > 1);
  const lanes = moves.map(({ atMost }) => atMost);
  const longestLane = linked ? lanes.reduce((sum, one) => sum + one, 0) : Math.max(0, ...lanes);
  return Math.max(longestLane, ...stage.map(graceOf));
}

function lane(volume: VolumeForecast, leavers: readonly Leaver[]) {
  const own = leavers.filter((leaver) => driversIn(leaver).includes(volume.driver));
  const rounds = Math.ceil(own.length / volume.maxConcurrent);
  const each = Math.max(0, ...own.map(graceOf)) + volume.detachTimeoutSeconds + volume.reattachTimeoutSeconds;
  return { pods: own.length, rounds, each, atMost: rounds * each };
}

function volumePart(volume: VolumeForecast, leavers: readonly Leaver[]): string {
  const { rounds, each, atMost } = lane(volume, leavers);
  const reattach =
    volume.reattachTimeoutSeconds === 0 ? '' : ` and ${volume.reattachTimeoutSeconds} s to attach elsewhere`;
  const made = `grace period, ${volume.detachTimeoutSeconds} s to detach${reattach}`;
  if (rounds === 1) return `up to ${seconds(each)} for volumes of ${volume.driver} (${made})`;
  return (
    `${volume.maxConcurrent} of ${count(volume.pods, 'pod')} with volumes of ${volume.driver} at a time: ` +
    `${rounds} rounds, each up to ${seconds(each)} (${made}), together up to ${seconds(atMost)}`
  );
}

function driversIn({ volumes }: Leaver): readonly string[] {
  return volumes.kind === 'known' ? [...new Set(volumes.volumes.map(({ driver }) => driver))] : [];
}

/** The longest that the pod gets to stop. */
export function graceOf({ pod, gracePeriodSeconds }: Leaver): number {
  return gracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30;
}

/** As people say it: `45 s`, `12 min`, `1 h 30 min`. */
export function seconds(amount: number): string {
  if (amount < 120) return `${Math.ceil(amount)} s`;
  const minutes = Math.ceil(amount / 60);
  if (minutes < 120) return `${minutes} min`;
  const rest = minutes % 60 === 0 ? '' : ` ${minutes % 60} min`;
  return `${Math.floor(minutes / 60)} h${rest}`;
}
