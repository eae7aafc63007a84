// Fuzzed NodeMaintenances, the short form: `make soak ARGS=fuzz` is the long one.
import { expect, test } from '@jest/globals';
import { Campaign } from '../soak/hostile/campaign.ts';
import { ownTestBed } from './support/beds.ts';
import { SeededRandom } from './support/random.ts';

const bed = ownTestBed(import.meta.filename);

test('whatever the schema lets pass: nobody is evicted that is not meant, and each object is told where it stands', async () => {
  const { seed } = SeededRandom.forTest('hostile objects');
  const operator = await bed.startOperator({
    flags: ['--max-unavailable-nodes=80%', '--log-level=debug', '--eviction-burst=1000'],
  });
  const campaign = await Campaign.begin(bed, operator, 12);
  const rounds = [await campaign.round(seed, 120), await campaign.round(seed + 1, 120)];
  expect(rounds.flatMap(({ violations }) => violations)).toEqual([]);
  // A run in which all is refused, or nobody is evicted, shows nothing.
  for (const round of rounds) {
    expect(round.accepted).toBeGreaterThan(50);
    expect(round.refused).toBeGreaterThan(5);
    expect(round.evictions).toBeGreaterThan(3);
  }
}, 400_000);
