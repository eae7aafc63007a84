/** Who else needed the processors meanwhile: the control plane that is drained, and whatever runs beside the bench. */
import { ProcessTable } from '../cluster/lib/processes.ts';
import { cpuSeconds, machineCpuSeconds } from './proc.ts';

export interface MachineFigures {
  /** CPU seconds of each process of the cluster; the operator is one of them. */
  readonly cluster: Readonly<Record<string, number>>;
  /** Share of all processors that was used in any way, from 0 to 1. */
  readonly busy: number;
  /** Share of all processors that neither the cluster nor the bench used: high means that the row was disturbed. */
  readonly others: number;
}

export class MachineMeter {
  readonly #processes: ProcessTable;
  readonly #before: Readonly<Record<string, number>>;
  readonly #ownBefore = cpuSeconds('self');
  readonly #machineBefore = machineCpuSeconds();

  constructor(clusterDir: string) {
    this.#processes = new ProcessTable(clusterDir);
    this.#before = this.#used();
  }

  read(): MachineFigures {
    const machine = machineCpuSeconds();
    const total = machine.total - this.#machineBefore.total;
    const busy = machine.busy - this.#machineBefore.busy;
    const cluster = Object.fromEntries(
      Object.entries(this.#used()).map(([name, used]) => [name, used - (this.#before[name] ?? 0)]),
    );
    const ours = Object.values(cluster).reduce(
      (sum, used) => sum + used,
      cpuSeconds('self') - this.#ownBefore,
    );
    return { cluster, busy: busy / total, others: Math.max(0, busy - ours) / total };
  }

  #used(): Record<string, number> {
    return Object.fromEntries(
      this.#processes.names().map((name) => [name, cpuSeconds(this.#processes.identity(name)?.pid ?? 0)]),
    );
  }
}
