/** What was measured last, of each form: docs/performance/figures.json, from which the page and its plots are made. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BudgetsFigures } from '../../../test/soak/scale/budgets.ts';
import type { ChurnFigures } from '../../../test/soak/scale/churn.ts';
import type { DrainFigures } from '../../../test/soak/scale/drain.ts';
import type { FinishedGrowth } from '../../../test/soak/scale/finished.ts';
import type { MaintenancesGrowth, NodesPoint, PodsPoint } from '../../../test/soak/scale/growth.ts';
import type { Machine } from '../../bench/report.ts';
import { repositoryRoot } from '../../cluster/lib/paths.ts';
import { as } from '../../cluster/lib/untyped.ts';

/** By form. */
export interface Figures {
  readonly nodes: { readonly points: readonly NodesPoint[] };
  readonly pods: { readonly points: readonly PodsPoint[] };
  readonly maintenances: MaintenancesGrowth;
  readonly finished: FinishedGrowth;
  readonly budgets: BudgetsFigures;
  readonly drain: DrainFigures;
  readonly fleet: DrainFigures;
  readonly churn: ChurnFigures;
}

export interface Measured<F> {
  readonly machine: Machine;
  readonly kubernetes: string;
  readonly haulout: string;
  readonly figures: F;
}

export type Records = { readonly [Name in keyof Figures]?: Measured<Figures[Name]> };

export const DIRECTORY = join(repositoryRoot, 'docs', 'performance');
const FILE = join(DIRECTORY, 'figures.json');

export function readRecords(): Records {
  return existsSync(FILE) ? as<Records>(JSON.parse(readFileSync(FILE, 'utf8'))) : {};
}

export function writeRecord<N extends keyof Figures>(name: N, measured: Measured<Figures[N]>): Records {
  const records: Records = { ...readRecords(), [name]: measured };
  mkdirSync(DIRECTORY, { recursive: true });
  writeFileSync(FILE, `${JSON.stringify(records, rounded, 1)}\n`);
  return records;
}

/** Six digits say more than any of these measurements can. */
function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value;
}
