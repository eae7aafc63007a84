/** What the operator's process needs meanwhile: memory, CPU, and how long its event loop kept others waiting. */
import type { OperatorProcess } from '../../test/e2e/support/operator-process.ts';
import { cpuSeconds, rssMb } from './proc.ts';

export interface ProcessFigures {
  readonly rssBeforeMb: number;
  readonly rssPeakMb: number;
  readonly rssAfterMb: number;
  readonly cpuSeconds: number;
  /** As /metrics says it: the times between two ticks of a timer of 10 ms, so that an idle loop shows 10 ms. */
  readonly loopP99Ms: number;
  readonly loopMaxMs: number;
}

const SAMPLE_MS = 50;

/** One at a time per process: reading /metrics begins a new period of the event loop's statistics. */
export class ProcessMeter {
  readonly #operator: OperatorProcess;
  readonly #rssBefore: number;
  readonly #cpuBefore: number;
  readonly #timer: NodeJS.Timeout;
  #rssPeak: number;

  static async start(operator: OperatorProcess): Promise<ProcessMeter> {
    await scrape(operator);
    return new ProcessMeter(operator);
  }

  private constructor(operator: OperatorProcess) {
    this.#operator = operator;
    this.#rssBefore = rssMb(operator.pid);
    this.#rssPeak = this.#rssBefore;
    this.#cpuBefore = cpuSeconds(operator.pid);
    this.#timer = setInterval(() => {
      if (operator.isRunning) this.#rssPeak = Math.max(this.#rssPeak, rssMb(operator.pid));
    }, SAMPLE_MS);
  }

  async stop(): Promise<ProcessFigures> {
    this.cancel();
    const { pid } = this.#operator;
    const rssAfterMb = rssMb(pid);
    const cpu = cpuSeconds(pid) - this.#cpuBefore;
    const metrics = await scrape(this.#operator);
    return {
      rssBeforeMb: this.#rssBefore,
      rssPeakMb: Math.max(this.#rssPeak, rssAfterMb),
      rssAfterMb,
      cpuSeconds: cpu,
      loopP99Ms: metric(metrics, 'nodejs_eventloop_lag_p99_seconds') * 1000,
      loopMaxMs: metric(metrics, 'nodejs_eventloop_lag_max_seconds') * 1000,
    };
  }

  cancel(): void {
    clearInterval(this.#timer);
  }
}

async function scrape(operator: OperatorProcess): Promise<string> {
  const response = await operator.http('/metrics');
  if (response?.status !== 200) throw new Error('the operator shows no /metrics');
  return response.text();
}

/** The value of a metric without labels. */
export function metric(text: string, name: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  if (line === undefined) throw new Error(`/metrics has no ${name}`);
  return Number(line.slice(name.length + 1));
}
