/** What the operator needed over a while. */
import { ProcessMeter } from '../../../hack/bench/process-meter.ts';
import { MachineMeter } from '../../../hack/bench/machine-meter.ts';
import { countRequests, type Requests } from '../../../hack/bench/requests.ts';
import { type Fleet, pause } from './fleet.ts';

export interface Cost {
  readonly seconds: number;
  readonly rssBeforeMb: number;
  readonly rssPeakMb: number;
  readonly rssAfterMb: number;
  /** Of one core. */
  readonly cpuPercent: number;
  readonly cpuSeconds: number;
  readonly loopP99Ms: number;
  readonly loopMaxMs: number;
  readonly requests: Requests;
  /** Open at the end. */
  readonly watches: number;
  /** Share of all processors that was used by nobody of this test: high means that the times say little. */
  readonly others: number;
}

export interface Observed<T> {
  readonly result: T;
  readonly cost: Cost;
}

export async function observed<T>(fleet: Fleet, work: () => Promise<T>): Promise<Observed<T>> {
  const meter = await ProcessMeter.start(fleet.operator);
  try {
    const mark = fleet.traffic.entries().length;
    const machineMeter = new MachineMeter(fleet.bed.cluster.dir);
    const started = performance.now();
    const result = await work();
    const seconds = (performance.now() - started) / 1000;
    const { others } = machineMeter.read();
    const figures = await meter.stop();
    const requests = countRequests(fleet.traffic.entries().slice(mark), 'haulout');
    const cpuPercent = (figures.cpuSeconds / seconds) * 100;
    return {
      result,
      cost: { ...figures, seconds, cpuPercent, requests, watches: fleet.traffic.openWatches(), others },
    };
  } finally {
    meter.cancel();
  }
}

/** Of having nothing to do. */
export async function idleCost(fleet: Fleet, seconds: number, signal: AbortSignal): Promise<Cost> {
  const { cost } = await observed(fleet, async () => pause(seconds, signal));
  return cost;
}
