/** SIGKILL before, after and with the answer of each write of each scenario: test/soak/kills/. */
import { startOwnBed } from '../../test/e2e/support/own-bed.ts';
import { type Calm, KILL_BED, KillStage } from '../../test/soak/kills/kill-stage.ts';
import { inOrder, nameOf, type Target, targetNamed, targetsOf } from '../../test/soak/kills/order.ts';
import { SCENARIOS } from '../../test/soak/kills/scenarios.ts';
import { errorMessage } from '../cluster/lib/untyped.ts';
import type { SoakContext, SoakForm, SoakResult } from './form.ts';
import { fillRun } from './runs.ts';

async function run(context: SoakContext): Promise<SoakResult> {
  const only = context.only === undefined ? undefined : targetNamed(context.only);
  const scenarios = SCENARIOS.filter(({ name }) => only === undefined || name === only.scenario);
  if (scenarios.length === 0)
    throw new Error(
      `--only ${context.only}: the scenarios are ${SCENARIOS.map(({ name }) => name).join(', ')}`,
    );
  const bed = await startOwnBed('soak-kills', 'kills', KILL_BED);
  try {
    const stage = await KillStage.open(bed);
    try {
      const calms = new Map<string, Calm>();
      for (const scenario of scenarios) {
        context.signal.throwIfAborted();
        const calm = await stage.calm(scenario);
        context.log(`${scenario.name}: ${calm.writes.length} writes`);
        calms.set(scenario.name, calm);
      }
      return await killAt(stage, calms, only ? [only] : targetsIn(calms, context), context);
    } finally {
      await stage.close();
    }
  } finally {
    await bed.cleanUp();
    await bed.cluster.stop();
  }
}

/** In another order with each seed: what one kill leaves behind meets all the others. */
function targetsIn(calms: ReadonlyMap<string, Calm>, { seed, count }: SoakContext): readonly Target[] {
  const targets = [...calms].flatMap(([name, { writes }]) => targetsOf(name, writes.length));
  return inOrder(seed, targets).slice(0, count);
}

async function killAt(
  stage: KillStage,
  calms: ReadonlyMap<string, Calm>,
  targets: readonly Target[],
  { signal, log }: Pick<SoakContext, 'signal' | 'log'>,
): Promise<SoakResult> {
  const violations: string[] = [];
  const kills = new Map<string, number>([...calms.keys()].map((name) => [name, 0]));
  let missed = 0;
  for (const [index, target] of targets.entries()) {
    if (signal.aborted) break;
    const calm = calms.get(target.scenario);
    if (!calm) throw new Error(`${nameOf(target)} has nothing to be compared with`);
    const where = `${index + 1}/${targets.length} ${nameOf(target)}`;
    try {
      const [trip] = await stage.killed(calm, target);
      if (trip) kills.set(target.scenario, (kills.get(target.scenario) ?? 0) + 1);
      else missed += 1;
      log(`${where}: ${trip ? trip.write : 'there is no such write'}`);
    } catch (error) {
      // The processes of this run have been interrupted as well.
      if (signal.aborted) break;
      const violation = `--only ${nameOf(target)}: ${errorMessage(error)}`;
      log(`${where}: BROKEN ${violation}`);
      violations.push(violation);
    }
  }
  const survived = [...kills.values()].reduce((sum, one) => sum + one, 0);
  const done = survived + violations.length;
  return {
    summary: `${done} kills in ${calms.size} scenarios, ${violations.length} ended otherwise than undisturbed; ${missed} times there were fewer writes than in the calm run.`,
    // What is never reached is never tried.
    goals: [
      {
        what: 'kills that were not reached',
        value: missed,
        unit: '',
        limit: Math.floor((done + missed) / 10),
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
