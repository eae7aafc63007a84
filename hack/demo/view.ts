/** The state as text: a table for a terminal, a line for a log. Pure. */
import type { State } from './live.ts';
import { type Blocker, isOfDaemonSet, type Pod, workloadOf } from './types.ts';

interface Row {
  readonly workload: string;
  running: number;
  terminating: number;
  gone: number;
  readonly stays: boolean;
}

export interface Counts {
  readonly running: number;
  readonly terminating: number;
  readonly gone: number;
}

/** Pods by workload, in the order in which they were first seen to matter: the biggest first. */
export function workloads(state: State): Row[] {
  const rows = new Map<string, Row>();
  for (const [uid, pod] of state.seen) {
    const workload = workloadOf(pod);
    const row = rows.get(workload) ?? {
      workload,
      running: 0,
      terminating: 0,
      gone: 0,
      stays: isOfDaemonSet(pod),
    };
    rows.set(workload, row);
    row[stateOf(state.pods.get(uid))]++;
  }
  const size = (row: Row): number => row.running + row.terminating + row.gone;
  return [...rows.values()].toSorted(
    (a, b) => size(b) - size(a) || a.workload.localeCompare(b.workload, 'en'),
  );
}

/** Of the pods that have to leave. */
export function counts(state: State): Counts {
  const sum = { running: 0, terminating: 0, gone: 0 };
  for (const row of workloads(state)) {
    if (row.stays) continue;
    sum.running += row.running;
    sum.terminating += row.terminating;
    sum.gone += row.gone;
  }
  return sum;
}

/** The live table; every line fits into `width`. */
export function table(state: State, elapsedSeconds: number, width: number): string[] {
  const { status } = state.maintenance ?? {};
  const progress = status?.drain?.progress ?? '';
  const lines = [
    `PHASE ${(status?.phase ?? 'Pending').padEnd(18)}PROGRESS ${progress.padEnd(8)}${bar(progress, 30)}  ${elapsedSeconds.toFixed(0)} s`,
    '',
    `${'PODS'.padEnd(20)}${'RUNNING'.padStart(8)}${'TERMINATING'.padStart(13)}${'GONE'.padStart(6)}`,
    ...workloads(state).map(
      (row) =>
        row.workload.padEnd(20) +
        number(row.running, 8) +
        number(row.terminating, 13) +
        number(row.gone, 6) +
        (row.stays ? '   DaemonSet: stays' : ''),
    ),
  ];
  const blockers = status?.blockers ?? [];
  if (blockers.length > 0)
    lines.push('', 'BLOCKERS', ...blockers.flatMap((blocker) => explain(blocker, width)));
  return lines.map((line) => line.slice(0, width));
}

/** Where it stands, on one line; equal as long as nothing has changed. */
export function summary(state: State): string {
  const { status } = state.maintenance ?? {};
  const { running, terminating, gone } = counts(state);
  const blocked = status?.blockersTotal ?? 0;
  return [
    (status?.phase ?? 'Pending').padEnd(17),
    (status?.drain?.progress ?? '').padEnd(7),
    `${running} running, ${terminating} terminating, ${gone} gone`,
    blocked > 0 ? `, ${blocked} blocked` : '',
  ].join('');
}

export function blockerLine({ pod, cause, message, nextStep }: Blocker): string {
  const next = nextStep === undefined ? '' : `; next: ${nextStep}`;
  return `blocked: ${pod.namespace}/${pod.name}: ${cause}: ${message}${next}`;
}

function explain({ pod, cause, message, nextStep }: Blocker, width: number): string[] {
  const indent = '  ';
  return [
    `${pod.namespace}/${pod.name}  ${cause}`,
    ...wrap(message, width - indent.length).map((line) => indent + line),
    ...(nextStep === undefined
      ? []
      : wrap(`next: ${nextStep}`, width - indent.length).map((line) => indent + line)),
  ];
}

/** Breaks at spaces; a word longer than the width stays whole. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function bar(progress: string, width: number): string {
  const [gone = 0, total = 0] = progress.split('/').map(Number);
  const filled = total > 0 ? Math.floor((gone / total) * width) : 0;
  return `[${'#'.repeat(filled)}${'.'.repeat(width - filled)}]`;
}

function number(value: number, width: number): string {
  return (value === 0 ? '-' : String(value)).padStart(width);
}

function stateOf(pod: Pod | undefined): keyof Counts {
  if (!pod) return 'gone';
  return pod.metadata.deletionTimestamp === undefined ? 'running' : 'terminating';
}
