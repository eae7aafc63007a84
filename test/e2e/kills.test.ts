// The operator is killed at API writes, as docs/endurance.md says: the short form of `make soak ARGS=kills`.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { KILL_BED, KillStage } from '../soak/kills/kill-stage.ts';
import { inOrder, targetsOf } from '../soak/kills/order.ts';
import { SCENARIOS } from '../soak/kills/scenarios.ts';
import { ownTestBed } from './support/beds.ts';
import { SeededRandom } from './support/random.ts';

const bed = ownTestBed(import.meta.filename, KILL_BED);
const { seed } = SeededRandom.forTest('killed at API writes');
let stage: KillStage;

beforeAll(async () => {
  stage = await KillStage.open(bed);
}, 60_000);

afterAll(async () => stage.close());

/** The second one soon after the first: in the middle of what a new process finds. */
const LARGEST_GAP = 4;

test.each(SCENARIOS)(
  '$name: killed at two of its writes, it ends as it does undisturbed',
  async (scenario) => {
    const calm = await stage.calm(scenario);
    expect(calm.writes.length).toBeGreaterThan(2);
    const [first] = inOrder(seed, targetsOf(scenario.name, calm.writes.length - 1));
    const [second] = inOrder(seed, targetsOf(`${scenario.name}, again`, LARGEST_GAP));
    if (!first || !second) throw new Error('there is nothing to be killed at');
    const trips = await stage.killed(calm, first, second);
    process.stdout.write(
      `${scenario.name}\n${trips.map(({ moment, write }) => `  ${moment} ${write}\n`).join('')}`,
    );
    expect(trips).not.toEqual([]);
  },
  300_000,
);
