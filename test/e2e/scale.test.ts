// The short form of `make soak ARGS=scale`: what does not depend on how busy the machine is. docs/performance.md has the rest.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { churn, SOON_WARM } from '../soak/scale/churn.ts';
import { Fleet, FLEET_GRACE_SECONDS, FLEET_HEARTBEATS } from '../soak/scale/fleet.ts';
import { fewEvents } from '../soak/scale/few-events.ts';
import { underBudgets } from '../soak/scale/budgets.ts';
import { growMaintenances } from '../soak/scale/growth.ts';
import type { Play } from '../soak/scale/play.ts';
import { ownTestBed } from './support/beds.ts';

/** One of 5,000 nodes has to stay below 160 MB; these are few, and what is measured here is mostly Node.js itself. */
const IDLE_MB = 130;
/** Nodes, maintenances, Lease. */
const WATCHES = 3;
/** Budgets, DaemonSets, CSIDrivers, VolumeAttachments: while a node is being emptied. */
const SHARED_WATCHES = 4;
/** What is left of it for good must be nothing; what is measured is off by up to a kilobyte. A finished one is 5,800. */
const BYTES_PER_MAINTENANCE = 2_000;
/** Not more than a round of the churn or two have. */
const REMEMBERED_EVENTS = 50;

const bed = ownTestBed(import.meta.filename, {
  heartbeats: FLEET_HEARTBEATS,
  nodeMonitorGraceSeconds: FLEET_GRACE_SECONDS,
});
let fleet: Fleet | undefined;
let play: Play;

const log = (line: string): void => void process.stdout.write(`scale: ${line}\n`);

beforeAll(async () => {
  const opened = await Fleet.open(bed, fewEvents(REMEMBERED_EVENTS));
  fleet = opened;
  const { signal } = new AbortController();
  play = { fleet: opened, signal, idleSeconds: 3, settleSeconds: 2, log };
}, 120_000);
afterAll(async () => fleet?.close());

/** For a machine that is busy with other tests. */
const LIMIT_MS = 300_000;

describe('the cost of', () => {
  test(
    'having nothing to do, and of maintenances before and after',
    async () => {
      const { points, afterwards } = await growMaintenances(play, [0, 40]);
      const [before, during] = points;
      expect(before?.idle).toMatchObject({ watches: WATCHES, requests: { counted: 0, firstLists: 0 } });
      expect(before?.idle.rssAfterMb).toBeLessThan(IDLE_MB);
      expect(during?.idle.watches).toBe(WATCHES + SHARED_WATCHES + 40);
      expect(during?.idle.requests).toMatchObject({ counted: 0, firstLists: 0 });
      expect(afterwards).toMatchObject({ watches: WATCHES, requests: { counted: 0, firstLists: 0 } });
    },
    LIMIT_MS,
  );

  test(
    'a thousand budgets in one namespace',
    async () => {
      const { pods, drain } = await underBudgets(play, { total: 100, inNamespace: 1_000, pods: 20 });
      expect(drain.requests.kinds).toMatchObject({ 'create pods/eviction': pods });
      // Status (its progress once a second), node, finalizer: as many as without any budget, and no look at single ones.
      expect(drain.requests.counted).toBeLessThan(pods + 20 + drain.seconds);
    },
    LIMIT_MS,
  );

  test(
    'maintenances that are over',
    async () => {
      const size = { nodes: 12, podsPerNode: 2, rounds: 10, warmUpRounds: 4, nodeFlags: SOON_WARM };
      const { perRound, bytesPerMaintenance } = await churn(play, size);
      expect(perRound.every(({ evictions }) => evictions > 0)).toBe(true);
      log(`the heap grew by ${bytesPerMaintenance.toFixed(0)} bytes for each maintenance`);
      expect(bytesPerMaintenance).toBeLessThan(BYTES_PER_MAINTENANCE);
    },
    2 * LIMIT_MS,
  );
});
