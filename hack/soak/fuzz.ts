/** Fuzzed NodeMaintenances, 100,000 unless told otherwise, in rounds; a new cluster now and then keeps its database small. */
import { startOwnBed } from '../../test/e2e/support/own-bed.ts';
import { Campaign, type Round } from '../../test/soak/hostile/campaign.ts';
import { unlessAborted } from '../cluster/lib/unless-aborted.ts';
import { errorMessage } from '../cluster/lib/untyped.ts';
import type { SoakContext, SoakForm, SoakResult } from './form.ts';
import { goOn, Progress } from './progress.ts';
import { fillRun } from './runs.ts';

const COUNT = 100_000;
const OBJECTS_A_ROUND = 1_000;
const ROUNDS_A_CLUSTER = 10;
const NODES = 100;
const FLAGS = ['--max-unavailable-nodes=80%', '--log-level=info', '--eviction-burst=1000'];

interface Tally {
  readonly sizes: readonly number[];
  readonly progress: Progress;
  readonly rounds: Round[];
  readonly violations: string[];
}

/** Plays rounds on one cluster until it has served its time, or one does not come to its end. */
async function playOn(context: SoakContext, tally: Tally): Promise<void> {
  const { signal, log } = context;
  const broken = (violation: string): void => {
    log(`BROKEN ${violation}`);
    tally.violations.push(violation);
  };
  const bed = await startOwnBed('fuzz', 'fuzz', { signal });
  try {
    const operator = await bed.startOperator({ flags: FLAGS });
    const campaign = await Campaign.begin(bed, operator, NODES);
    for (let played = 0; played < ROUNDS_A_CLUSTER && tally.progress.hasNext; played++) {
      if (signal.aborted) return;
      const piece = tally.progress.begin();
      const [seed, size] = [context.seed + piece, tally.sizes[piece] ?? 0];
      const again = `--seed ${seed} --count ${size}`;
      const started = performance.now();
      try {
        const round = await unlessAborted(campaign.round(seed, size), signal);
        bed.forgetAuditLog();
        tally.rounds.push(round);
        tally.progress.finish(piece);
        for (const violation of round.violations) broken(`${again}: ${violation}`);
        const seconds = ((performance.now() - started) / 1000).toFixed(0);
        log(
          `round ${piece + 1}: ${round.accepted} taken, ${round.refused} refused, ${round.evictions} pods evicted, ` +
            `${round.deletions} deleted, ${round.violations.length} problems, ${seconds} s (${again})`,
        );
      } catch (error) {
        // The processes of this run have been interrupted as well.
        if (signal.aborted) return;
        for (const problem of [...campaign.violations, errorMessage(error)]) broken(`${again}: ${problem}`);
        tally.progress.finish(piece);
        return;
      }
    }
  } finally {
    await bed.cleanUp();
    await bed.cluster.stop();
  }
}

async function run(context: SoakContext): Promise<SoakResult> {
  const count = context.count ?? COUNT;
  const sizes = Array.from({ length: Math.ceil(count / OBJECTS_A_ROUND) }, (_, index) =>
    Math.min(OBJECTS_A_ROUND, count - index * OBJECTS_A_ROUND),
  );
  const tally: Tally = { sizes, progress: new Progress(sizes.length), rounds: [], violations: [] };
  while (tally.progress.hasNext && !context.signal.aborted) {
    await playOn(context, tally).catch((error: unknown) => {
      // What an interruption has broken is no reason to forget what was done.
      if (!context.signal.aborted) throw error;
    });
  }
  const { rounds, violations, progress } = tally;
  const open = sizes.slice(progress.goOnAt ?? sizes.length).reduce((total, size) => total + size, 0);
  const rest = progress.goOnAt === undefined ? '' : goOn(context.seed + progress.goOnAt, open);
  const sum = (of: (round: Round) => number): number => rounds.reduce((total, round) => total + of(round), 0);
  const [accepted, refused] = [sum((one) => one.accepted), sum((one) => one.refused)];
  const [evictions, deletions] = [sum((one) => one.evictions), sum((one) => one.deletions)];
  return {
    summary: `${accepted + refused} objects in ${rounds.length} rounds: ${accepted} taken, ${refused} refused by the API server, ${evictions} pods evicted, ${deletions} deleted.${rest}`,
    // A round in which nobody has to leave proves nothing.
    goals: [
      {
        what: 'rounds in which nobody was evicted',
        value: rounds.filter((one) => one.evictions === 0).length,
        unit: '',
        limit: Math.floor(rounds.length / 20),
      },
    ],
    violations,
    figures: { accepted, refused, evictions, deletions, rounds: rounds.length },
  };
}

export const fuzz: SoakForm = {
  name: 'fuzz',
  title: 'fuzzed NodeMaintenances through a real API server',
  run,
  fill: fillRun('fuzz'),
};
