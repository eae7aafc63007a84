/** What an operator with nothing to do costs: what the project promises, and the table of README.md. */
import { describeGoal, type Goal, withUnit } from './goals.ts';
import { table } from './markdown.ts';
import type { Machine } from './report.ts';

/** Of one replica. Seconds are those since its process began. */
export interface IdleFigures {
  readonly listensSeconds: number;
  readonly inSyncSeconds: number;
  /** Processor time until it was EARLY_SECONDS old. */
  readonly startCpuSeconds: number;
  readonly earlyMb: number;
  readonly settledMb: number;
  /** Of one core, over a minute. */
  readonly cpuPercent: number;
}

/** Age of the process when its memory is looked at. */
export const EARLY_SECONDS = 3;
export const SETTLED_SECONDS = 70;

export function idleGoals({ inSyncSeconds, earlyMb, settledMb, cpuPercent }: IdleFigures): Goal[] {
  return [
    {
      what: 'start of the process until all caches are in sync',
      // Known to a hundredth of a second.
      value: round(inSyncSeconds, 2) * 1000,
      unit: 'ms',
      limit: 1000,
    },
    {
      what: `resident memory after ${EARLY_SECONDS} s`,
      value: round(earlyMb, 0),
      unit: 'MB',
      limit: 125,
    },
    {
      what: `resident memory after ${SETTLED_SECONDS} s`,
      value: round(settledMb, 0),
      unit: 'MB',
      limit: 125,
    },
    { what: 'processor, over a minute', value: round(cpuPercent, 2), unit: '% of a core', limit: 0.5 },
  ];
}

export function idleLines(
  { date, cores, memoryGb, loadBefore }: Machine,
  leader: IdleFigures,
  standby: IdleFigures,
): string[] {
  const ofStandby = idleGoals(standby);
  return [
    `Measured ${date}, on one machine with ${cores} cores and ${memoryGb} GiB for all of it (load average ${loadBefore.toFixed(1)} before):`,
    '',
    ...table(
      ['', 'leader', 'standby', 'goal'],
      idleGoals(leader).map((goal, index) => [
        goal.what,
        withUnit(goal.value, goal.unit),
        withUnit(ofStandby[index]?.value ?? Number.NaN, goal.unit),
        describeGoal(goal),
      ]),
    ),
    '',
    `A start takes ${Math.max(leader.startCpuSeconds, standby.startCpuSeconds).toFixed(1)} s of processor time.`,
  ];
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
