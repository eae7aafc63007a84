/** Drains of fifty pods under schedules of faults: test/soak/faults/. Schedule N of a run with seed S is that of S + N. */
import { startOwnBed } from '../../test/e2e/support/own-bed.ts';
import type { OperatorProcess } from '../../test/e2e/support/operator-process.ts';
import type { TestBed } from '../../test/e2e/support/test-bed.ts';
import { Ferry } from '../../test/soak/faults/ferry.ts';
import { fiftyPods } from '../../test/soak/faults/fifty-pods.ts';
import { FaultProxy } from '../../test/soak/faults/proxy.ts';
import { schedule } from '../../test/soak/faults/schedule.ts';
import { QUICK_VOLUMES, startThrough } from '../../test/soak/faults/set-up.ts';
import { errorMessage } from '../cluster/lib/untyped.ts';
import type { SoakContext, SoakForm, SoakResult } from './form.ts';
import { goOn, Progress } from './progress.ts';
import { fillRun } from './runs.ts';

const DEFAULT_COUNT = 1000;
/** Side by side, as a drain mostly waits. */
const CLUSTERS = 2;
/** Then a cluster is made anew, so that its records do not grow without end. */
const SCHEDULES_PER_CLUSTER = 100;

interface Tally {
  readonly progress: Progress;
  readonly seconds: number[];
  readonly struck: Record<string, number>;
  /** Schedules in which nothing struck. */
  spared: number;
  readonly violations: string[];
}

async function run(context: SoakContext): Promise<SoakResult> {
  const { seed, count = DEFAULT_COUNT, signal, log } = context;
  const tally: Tally = { progress: new Progress(count), seconds: [], struck: {}, spared: 0, violations: [] };
  const clusters = Array.from({ length: Math.min(CLUSTERS, count) }, (_, index) => index + 1);
  // All of them, whatever becomes of one: each has a cluster to stop.
  const lanes = await Promise.allSettled(
    clusters.map(async (cluster) => {
      while (tally.progress.hasNext && !signal.aborted)
        await playOn(`soak-faults-${cluster}`, { ...context, seed, count }, tally);
    }),
  );
  // What an interruption has broken is no reason to forget what was done.
  for (const lane of lanes) if (lane.status === 'rejected' && !signal.aborted) throw lane.reason;
  const strikes = Object.values(tally.struck).reduce((sum, one) => sum + one, 0);
  const median = tally.seconds.toSorted((a, b) => a - b)[Math.floor(tally.seconds.length / 2)] ?? 0;
  const { violations, spared, progress } = tally;
  const rest = progress.goOnAt === undefined ? '' : goOn(seed + progress.goOnAt, count - progress.goOnAt);
  const played = tally.seconds.length + violations.length;
  log(`what struck: ${JSON.stringify(tally.struck)}`);
  return {
    summary: `${played} schedules with ${strikes} faults, ${violations.length} not survived; in ${spared} nothing struck; a drain and its restoration took ${median.toFixed(1)} s (median).${rest}`,
    // Many in which nothing comes to pass would prove nothing.
    goals: [
      { what: 'schedules in which nothing struck', value: spared, unit: '', limit: Math.ceil(played / 20) },
    ],
    violations,
    figures: { schedules: played, spared, faults: tally.struck, medianSeconds: median },
  };
}

/** Plays on one cluster until it has served its time, or something was not as it must be. */
async function playOn(
  name: string,
  { seed, count, signal, log }: SoakContext & { readonly count: number },
  tally: Tally,
): Promise<void> {
  const bed = await startOwnBed(name, name, { volumes: QUICK_VOLUMES });
  const proxy = await FaultProxy.start(bed.files.operatorKubeconfig, bed.files.dir);
  try {
    const operator = await startThrough(bed, proxy);
    const ferry = await Ferry.load(bed, proxy, 'fifty', fiftyPods);
    for (let played = 0; played < SCHEDULES_PER_CLUSTER && tally.progress.hasNext; played++) {
      if (signal.aborted) return;
      const piece = tally.progress.begin();
      const own = seed + piece;
      try {
        await cross(own, { ferry, bed, operator, tally });
        tally.progress.finish(piece);
      } catch (error) {
        // The processes of this run have been interrupted as well.
        if (signal.aborted) return;
        const violation = `--seed ${own} --count 1: ${errorMessage(error)}`;
        log(`BROKEN ${violation}`);
        tally.violations.push(violation);
        tally.progress.finish(piece);
        return;
      }
      if (tally.seconds.length % 20 === 0) log(`${tally.seconds.length} of ${count} schedules survived`);
    }
  } finally {
    await proxy.stop();
    await bed.cleanUp();
    await bed.cluster.stop();
  }
}

interface Lane {
  readonly ferry: Ferry;
  readonly bed: TestBed;
  readonly operator: OperatorProcess;
  readonly tally: Tally;
}

async function cross(seed: number, { ferry, bed, operator, tally }: Lane): Promise<void> {
  const { seconds, strikes } = await ferry.cross(schedule(seed));
  bed.forgetAuditLog();
  if (!operator.isRunning) throw new Error('the operator has ended');
  tally.seconds.push(seconds);
  if (strikes.length === 0) tally.spared += 1;
  for (const { fault } of strikes) tally.struck[fault.harm.does] = (tally.struck[fault.harm.does] ?? 0) + 1;
}

export const faults: SoakForm = {
  name: 'faults',
  title: 'drains under schedules of faults between the operator and the API server',
  run,
  fill: fillRun('faults'),
};
