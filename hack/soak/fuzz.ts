/** Fuzzed NodeMaintenances, 100,000 unless told otherwise, in rounds; a new cluster now and then keeps its database small. */
import { startOwnBed } from '../../test/e2e/support/own-bed.ts';
import { Campaign, type Round } from '../../test/soak/hostile/campaign.ts';
import type { SoakContext, SoakForm, SoakResult } from './form.ts';

const COUNT = 100_000;
const OBJECTS_A_ROUND = 1_000;
const ROUNDS_A_CLUSTER = 10;
const NODES = 100;
const FLAGS = ['--max-unavailable-nodes=80%', '--log-level=info', '--eviction-burst=1000'];

/** `sizes`: objects of each round that is still to come. */
async function roundsOf(context: SoakContext, from: number, sizes: readonly number[]): Promise<Round[]> {
  const { signal, log } = context;
  const bed = await startOwnBed('fuzz', 'fuzz', { signal });
  const done: Round[] = [];
  try {
    const operator = await bed.startOperator({ flags: FLAGS });
    const campaign = await Campaign.begin(bed, operator, NODES);
    for (const [index, size] of sizes.entries()) {
      signal.throwIfAborted();
      const started = performance.now();
      const round = await campaign.round(context.seed + from + index, size);
      done.push(round);
      bed.forgetAuditLog();
      const seconds = ((performance.now() - started) / 1000).toFixed(0);
      log(
        `round ${from + index + 1}: ${round.accepted} taken, ${round.refused} refused, ${round.evictions} pods evicted, ` +
          `${round.violations.length} problems, ${seconds} s (seed ${round.seed})`,
      );
    }
  } finally {
    await bed.cleanUp();
    await bed.cluster.stop();
  }
  return done;
}

async function run(context: SoakContext): Promise<SoakResult> {
  const count = context.count ?? COUNT;
  const sizes = Array.from({ length: Math.ceil(count / OBJECTS_A_ROUND) }, (_, index) =>
    Math.min(OBJECTS_A_ROUND, count - index * OBJECTS_A_ROUND),
  );
  const rounds: Round[] = [];
  while (rounds.length < sizes.length) {
    const from = rounds.length;
    const part = sizes.slice(from, from + ROUNDS_A_CLUSTER);
    rounds.push(...(await roundsOf(context, from, part)));
  }
  const sum = (of: (round: Round) => number): number => rounds.reduce((total, round) => total + of(round), 0);
  const [accepted, refused, evictions] = [
    sum((one) => one.accepted),
    sum((one) => one.refused),
    sum((one) => one.evictions),
  ];
  return {
    summary: `${count} objects: ${accepted} taken, ${refused} refused by the API server, ${evictions} pods evicted.`,
    goals: [],
    violations: rounds.flatMap(({ seed, violations }) =>
      violations.map((violation) => `${violation} (--seed ${seed} --count ${OBJECTS_A_ROUND})`),
    ),
    figures: { accepted, refused, evictions, rounds: rounds.length },
  };
}

export const fuzz: SoakForm = {
  name: 'fuzz',
  title: 'fuzzed NodeMaintenances through a real API server',
  run,
};
