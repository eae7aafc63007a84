// A preview as people read it.
import { count } from '../maintenance/words.ts';
import { escapeUnprintable } from '../runtime/plain-text.ts';
import { seconds } from './duration.ts';
import type { BudgetForecast, Obstruction, PodForecast, PodName, Preview } from './preview.ts';

/** Several short sections; the first line is the verdict, and the only one that is always there with the last. */
export function renderPreview(preview: Preview): string {
  const sections = [
    [verdictLine(preview)],
    section('In the way', preview.obstacles.flatMap(obstacleLines)),
    section('Not known', preview.unknown),
    section('Note', preview.notes),
    podSection('Leave', preview.pods, 'leaves'),
    podSection('Held', preview.pods, 'held'),
    podSection('Stopping already', preview.pods, 'terminating'),
    podSection('Stay', preview.pods, 'stays', 'kept'),
    lossSection(preview.pods),
    budgetSection(preview.budgets),
    volumeSection(preview),
    roomSection(preview),
    durationSection(preview),
    ['Nothing was changed.'],
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.map(escapeUnprintable).join('\n'))
    .join('\n\n')}\n`;
}

/** As programs read it; it may end up on a terminal all the same. */
export function renderJson(preview: Preview): string {
  const lines = JSON.stringify(preview, undefined, 2).split('\n');
  return `${lines.map(escapeUnprintable).join('\n')}\n`;
}

function verdictLine({ nodeName, counts, obstacles, unknown }: Preview): string {
  const { leave, held, terminating, stay } = counts;
  const parts = [
    `${count(leave, 'pod')} ${leave === 1 ? 'leaves' : 'leave'}`,
    ...(held === 0 ? [] : [`${held} held`]),
    ...(terminating === 0 ? [] : [`${terminating} stopping already`]),
    `${stay} ${stay === 1 ? 'stays' : 'stay'}`,
  ];
  const things = obstacles.length;
  const verdict =
    things === 0
      ? 'nothing stands in the way'
      : `${count(things, 'thing')} ${things === 1 ? 'stands' : 'stand'} in the way`;
  const doubt = unknown.length === 0 ? '' : `, ${count(unknown.length, 'thing')} not known`;
  return `node ${nodeName}: ${parts.join(', ')}; ${verdict}${doubt}`;
}

function obstacleLines({ cause, message, nextStep, pods }: Obstruction): string[] {
  return [
    `${cause}: ${message}`,
    ...(pods.length === 0 ? [] : [`  ${pods.length === 1 ? 'pod' : 'pods'} ${some(pods)}`]),
    ...(nextStep === undefined ? [] : [`  then: ${nextStep}`]),
  ];
}

function podSection(
  title: string,
  all: readonly PodForecast[],
  ...outcomes: readonly PodForecast['outcome'][]
): string[] {
  const pods = all.filter(({ outcome }) => outcomes.includes(outcome));
  if (pods.length === 0) return [];
  const rows = pods.map((pod) => [
    nameOf(pod),
    pod.controller ?? '-',
    pod.gracePeriodSeconds === undefined ? '' : seconds(pod.gracePeriodSeconds),
    noteOf(pod),
  ]);
  return section(`${title} (${pods.length})`, table(['POD', 'CONTROLLER', 'GRACE', ''], rows));
}

const reasons: Readonly<Record<string, string>> = {
  mirror: 'static pod of the node',
  daemonSet: 'belongs to the node',
  podSelector: 'not selected (podSelector)',
  nodeDrainPolicy: 'nodeDrainPolicy does not drain',
  suspend: 'suspended',
  otherMaintenance: 'another maintenance of the node holds it',
};

function noteOf({ outcome, why, eviction }: PodForecast): string {
  if (eviction === 'refused') return 'cannot leave now';
  if (eviction === 'unknown') return 'not known whether it can';
  if (why === undefined) return '';
  return reasons[why] ?? `${why} is ${outcome === 'held' ? 'Block' : 'Skip'}`;
}

function lossSection(pods: readonly PodForecast[]): string[] {
  const goes = pods.filter(({ outcome }) => outcome === 'leaves');
  const loses = (what: 'pod' | 'emptyDir') => goes.filter((pod) => pod.loses?.includes(what));
  const [unmanaged, scratch] = [loses('pod'), loses('emptyDir')];
  return section('Lost', [
    ...(unmanaged.length === 0 ? [] : [`pods that nothing creates again: ${some(unmanaged)}`]),
    ...(scratch.length === 0 ? [] : [`emptyDir data of ${some(scratch)}`]),
  ]);
}

const verdicts: Readonly<Record<BudgetForecast['verdict'], string>> = {
  open: 'lets all of them go',
  inTurn: 'lets the others go when replacements are Ready',
  closed: 'refuses now',
  never: 'can never allow it, as it looks now',
  several: 'selects a pod that another budget selects too',
};

function budgetSection(budgets: readonly BudgetForecast[]): string[] {
  if (budgets.length === 0) return [];
  const rows = budgets.map((budget) => [
    nameOf(budget),
    String(budget.pods),
    String(budget.disruptionsAllowed),
    `${budget.currentHealthy}/${budget.desiredHealthy}`,
    verdicts[budget.verdict],
  ]);
  return section('Budgets', table(['BUDGET', 'PODS HERE', 'ALLOWED', 'HEALTHY/NEEDED', ''], rows));
}

function volumeSection({ volumes }: Preview): string[] {
  if (volumes.length === 0) return [];
  const rows = volumes.map(({ driver, pods, volumes: number, maxConcurrent }) => [
    driver,
    String(pods),
    String(number),
    count(maxConcurrent, 'pod'),
  ]);
  return section('Volumes', table(['DRIVER', 'PODS', 'VOLUMES', 'AT A TIME'], rows));
}

const notConsidered =
  'not considered: affinity between pods, topology spread, host ports, where volumes can be attached';

function roomSection({ room }: Preview): string[] {
  if (!room.known || room.pods === 0) return [];
  const homeless = room.homeless.reduce((sum, { pods }) => sum + pods.length, 0);
  const where = count(room.nodes, 'other schedulable node');
  const result =
    homeless === 0
      ? `${room.pods === 1 ? 'the pod finds' : `all ${room.pods} pods find`} room on ${where}`
      : `${homeless} of ${count(room.pods, 'pod')} ${homeless === 1 ? 'finds' : 'find'} no room on ${where}`;
  return section('Room elsewhere', [result, notConsidered]);
}

function durationSection({ duration, counts }: Preview): string[] {
  if (counts.leave + counts.terminating === 0) return [];
  const { atMostSeconds, parts } = duration;
  const total = atMostSeconds === undefined ? 'not known beforehand' : `up to ${seconds(atMostSeconds)}`;
  return section(`Time: ${total}`, parts);
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)];
}

/** Columns of equal width, without those in which no row has anything. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const used = head.map((_, column) => rows.some((row) => (row[column] ?? '') !== ''));
  const lines = [head, ...rows].map((row) => row.filter((_, column) => used[column]));
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? '').length)),
  );
  return lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function some(pods: readonly PodName[]): string {
  const shown = pods.slice(0, mostNames).map(nameOf).join(', ');
  return pods.length > mostNames ? `${shown} and ${pods.length - mostNames} more` : shown;
}

const mostNames = 10;

function nameOf({ namespace, name }: PodName): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}
