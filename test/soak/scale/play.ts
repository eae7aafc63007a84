/** What every scene of the scale tests is given, and what they have in common. */
import type { Cost } from './cost.ts';
import { type Fleet, pause } from './fleet.ts';

export interface Play {
  readonly fleet: Fleet;
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
  /** How long it is measured what the operator needs with nothing to do. */
  readonly idleSeconds: number;
  /** What a start or a drain leaves behind is of no interest: it is measured when that has had time to go. */
  readonly settleSeconds: number;
}

/** For all that has to happen sometime: only a failure takes so long. */
export const PATIENCE_MS = 1_800_000;
/** Every node may be out of service. */
export const ALL = '--max-unavailable-nodes=100%';
/** Rates of evictions that hold up nothing here. */
export const FAST = ['--eviction-qps=1000', '--eviction-burst=1000'];

export async function settle({ settleSeconds, signal }: Play): Promise<void> {
  return pause(settleSeconds, signal);
}

export function describe({ rssAfterMb, cpuPercent, watches }: Cost): string {
  return `${rssAfterMb.toFixed(0)} MB, ${cpuPercent.toFixed(2)} % of a core, ${watches} watches`;
}
