/** What every row of the table has, and how it is measured. */
import type { AuditEntry } from '../../test/e2e/support/audit.ts';
import type { Goal } from './goals.ts';
import { type MachineFigures, MachineMeter } from './machine-meter.ts';
import { type ProcessFigures, ProcessMeter } from './process-meter.ts';
import { type Contestant, type EvictionFigures, type Requests } from './requests.ts';
import type { Stage } from './stage.ts';

export interface Row {
  readonly work: string;
  readonly kubectl: string;
  readonly haulout: string;
  readonly goals: readonly Goal[];
  readonly traffic: readonly Traffic[];
  readonly operator: ProcessFigures;
  readonly machine: MachineFigures;
  /** A table of its own, for what does not fit into one line. */
  readonly details?: Details;
  /** Single values behind the figures, for --json. */
  readonly samples?: Readonly<Record<string, readonly number[]>>;
}

/** By the name that it has on the command line. */
export interface NamedRow extends Row {
  readonly name: string;
}

export type Cells = readonly (string | number)[];

export interface Details {
  readonly about: string;
  readonly head: Cells;
  readonly rows: readonly Cells[];
}

/** What one contestant asked of the API server. */
export interface Traffic {
  readonly who: Contestant;
  readonly requests: Requests;
  readonly evictions: EvictionFigures;
}

export interface Play {
  readonly stage: Stage;
  /** Aborted when the bench is interrupted. */
  readonly signal: AbortSignal;
  /** Whether what takes kubectl minutes is left out. */
  readonly quick: boolean;
  readonly log: (line: string) => void;
}

export interface Observed<T> {
  readonly result: T;
  readonly entries: readonly AuditEntry[];
  readonly operator: ProcessFigures;
  readonly machine: MachineFigures;
}

/** Runs `work` with an eye on the operator, until nothing more comes from it: what follows its end belongs to it. */
export async function observe<T>(stage: Stage, work: (mark: number) => Promise<T>): Promise<Observed<T>> {
  const meter = await ProcessMeter.start(stage.operator);
  try {
    const mark = stage.audit.mark();
    const machineMeter = new MachineMeter(stage.cluster.dir);
    const result = await work(mark);
    const machine = machineMeter.read();
    await stage.quiet('haulout');
    const operator = await meter.stop();
    return { result, entries: stage.audit.entries().slice(mark), operator, machine };
  } finally {
    meter.cancel();
  }
}
