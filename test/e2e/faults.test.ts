// Faults between the operator and the API server, as docs/endurance.md says: the short form of `make soak ARGS=faults`.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Ferry } from '../soak/faults/ferry.ts';
import { fiftyPods } from '../soak/faults/fifty-pods.ts';
import { FaultProxy } from '../soak/faults/proxy.ts';
import { schedule } from '../soak/faults/schedule.ts';
import { QUICK_VOLUMES, startThrough } from '../soak/faults/set-up.ts';
import { ownTestBed } from './support/beds.ts';
import { SeededRandom } from './support/random.ts';

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 9];

const bed = ownTestBed(import.meta.filename, { volumes: QUICK_VOLUMES });
const random = SeededRandom.forTest('a schedule of faults');
let proxy: FaultProxy;
let ferry: Ferry;

beforeAll(async () => {
  proxy = await FaultProxy.start(bed.files.operatorKubeconfig, bed.files.dir);
  await startThrough(bed, proxy);
  ferry = await Ferry.load(bed, proxy, 'fifty', fiftyPods);
}, 120_000);

afterAll(async () => proxy.stop());

test.each([...SEEDS, random.seed])('fifty pods are drained under the schedule of seed %i', async (seed) => {
  const { strikes } = await ferry.cross(schedule(seed));
  expect(strikes).not.toEqual([]);
});
