/** SIGKILL before, after and with the answer of each write of each scenario: test/soak/kills/. */
import { startOwnBed } from '../../test/e2e/support/own-bed.ts';
import { SeededRandom } from '../../test/e2e/support/random.ts';
import { type Calm, KILL_BED, type Kill, KillStage, MOMENTS } from '../../test/soak/kills/kill-stage.ts';
import { SCENARIOS } from '../../test/soak/kills/scenarios.ts';
import { errorMessage } from '../cluster/lib/untyped.ts';
import type { SoakContext, SoakForm, SoakResult } from './form.ts';
import { fillRun } from './runs.ts';

interface Target extends Kill {
  readonly calm: Calm;
}

async function run({ seed, count, signal, log }: SoakContext): Promise<SoakResult> {
  const bed = await startOwnBed('soak-kills', 'kills', KILL_BED);
  try {
    const stage = await KillStage.open(bed);
    try {
      const calms: Calm[] = [];
      for (const scenario of SCENARIOS) {
        signal.throwIfAborted();
        calms.push(await stage.calm(scenario));
      }
      for (const { scenario, writes } of calms) log(`${scenario.name}: ${writes.length} writes`);
      // In another order each time: what one kill leaves behind meets all the others.
      const targets = new SeededRandom(seed).shuffled(calms.flatMap(targetsOf)).slice(0, count);
      return await killAt(stage, targets, { signal, log });
    } finally {
      await stage.close();
    }
  } finally {
    await bed.cleanUp();
    await bed.cluster.stop();
  }
}

function targetsOf(calm: Calm): readonly Target[] {
  return calm.writes.flatMap((_, index) => MOMENTS.map((moment) => ({ calm, nth: index + 1, moment })));
}

async function killAt(
  stage: KillStage,
  targets: readonly Target[],
  { signal, log }: Pick<SoakContext, 'signal' | 'log'>,
): Promise<SoakResult> {
  const violations: string[] = [];
  const kills = new Map<string, number>(SCENARIOS.map(({ name }) => [name, 0]));
  let missed = 0;
  for (const [index, { calm, nth, moment }] of targets.entries()) {
    if (signal.aborted) break;
    const { name } = calm.scenario;
    try {
      const [trip] = await stage.killed(calm, { nth, moment });
      if (trip) kills.set(name, (kills.get(name) ?? 0) + 1);
      else missed += 1;
      log(`${index + 1}/${targets.length} ${name}: ${trip ? `${moment} ${trip.write}` : `no write ${nth}`}`);
    } catch (error) {
      // The processes of this run have been interrupted as well.
      if (signal.aborted) break;
      const violation = errorMessage(error);
      log(`${index + 1}/${targets.length} ${name}: BROKEN ${violation}`);
      violations.push(violation);
    }
  }
  const survived = [...kills.values()].reduce((sum, one) => sum + one, 0);
  const done = survived + violations.length;
  return {
    summary: `${done} kills in ${SCENARIOS.length} scenarios, ${violations.length} ended otherwise than undisturbed; ${missed} times there were fewer writes than in the calm run.`,
    // What is never reached is never tried.
    goals: [
      {
        what: 'kills that were not reached',
        value: missed,
        unit: '',
        limit: Math.ceil((done + missed) / 10),
      },
    ],
    violations,
    figures: { kills: Object.fromEntries(kills), missed },
  };
}

export const kills: SoakForm = {
  name: 'kills',
  title: 'the operator is killed at every write',
  run,
  fill: fillRun('kills'),
};
