/** What a replica with nothing to do has cost, from its log and its process. */
import { EARLY_SECONDS, type IdleFigures, SETTLED_SECONDS } from '../../../hack/bench/idle.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { commandOf, startedAt, untilAge, usageOf } from './figures.ts';
import type { RealTestBed } from './real-test-bed.ts';

/** When start-up is over. */
const STARTED_SECONDS = 10;

/** Resolves when the replica is so old that it has settled. */
export async function idleFigures(real: RealTestBed, pod: Pod): Promise<IdleFigures> {
  const pid = pidOf(real, pod);
  const started = startedAt(pid);
  const log = real.operatorLog(pod);
  const after = (message: string): number => {
    const line = log.find((one) => one.message.startsWith(message));
    return (Date.parse(line?.timestamp ?? '') - started) / 1000;
  };
  await untilAge(pid, EARLY_SECONDS);
  const early = usageOf(pid);
  await untilAge(pid, STARTED_SECONDS);
  const before = usageOf(pid);
  const from = performance.now();
  await untilAge(pid, SETTLED_SECONDS);
  const settled = usageOf(pid);
  const seconds = (performance.now() - from) / 1000;
  return {
    listensSeconds: after('serving'),
    inSyncSeconds: after('caches are in sync'),
    startCpuSeconds: early.cpuSeconds,
    earlyMb: early.residentMb,
    settledMb: settled.residentMb,
    cpuPercent: ((settled.cpuSeconds - before.cpuSeconds) / seconds) * 100,
  };
}

export function pidOf(real: RealTestBed, pod: Pod): number {
  const pids = real.node(pod.spec.nodeName).pidsOfPod(pod.metadata.uid ?? '');
  const pid = pids.find((one) => commandOf(one).includes('/app/haulout.mjs'));
  if (pid === undefined) throw new Error(`${pod.metadata.name} has no process`);
  return pid;
}
