/** The long forms of the scale tests: what is played, how large, and what it promises. */
import { underBudgets } from '../../../test/soak/scale/budgets.ts';
import { churn } from '../../../test/soak/scale/churn.ts';
import { drainMany, type DrainFigures, type DrainSize } from '../../../test/soak/scale/drain.ts';
import { growFinished } from '../../../test/soak/scale/finished.ts';
import { growMaintenances, growNodes, growPods } from '../../../test/soak/scale/growth.ts';
import type { Play } from '../../../test/soak/scale/play.ts';
import type { Goal } from '../../bench/goals.ts';
import { scaleForm } from './run.ts';

/** `part` of the full size, at least one. */
export type Sized = (full: number) => number;

/** 40 a second is what two cores can follow: each eviction is some ten writes of controllers, scheduler and kubelets. */
const EVICTION_QPS = 40;
const HALF_FULL: DrainSize = {
  nodes: 1_000,
  pods: 20_000,
  maintained: 500,
  spares: 0,
  evictionQps: EVICTION_QPS,
};
/** As NVSentinel's Inf3: half of 1,500 nodes, with as many pods on them. */
const FLEET: DrainSize = {
  nodes: 750,
  pods: 11_683,
  maintained: 750,
  spares: 750,
  evictionQps: EVICTION_QPS,
};

/** Of some 12 s: two hours. */
const ROUNDS = 600;

const goal = (what: string, value: number, unit: string, limit: number): Goal => ({
  what,
  value,
  unit,
  limit,
});

export const SCALE_FORMS = [
  scaleForm({
    name: 'nodes',
    title: 'up to 5,000 nodes, and nothing to do',
    play: async (play, sized) => ({
      points: await growNodes(play, [0, 1_000, 2_500, 5_000].map(sized0(sized))),
    }),
    judge: ({ points }) => {
      const most = points.at(-1);
      return [
        goal('resident memory, idle', Math.round(most?.idle.rssAfterMb ?? Number.NaN), 'MB', 160),
        goal(
          'processor, idle',
          Math.round((most?.idle.cpuPercent ?? Number.NaN) * 100) / 100,
          '% of a core',
          1,
        ),
      ];
    },
  }),
  scaleForm({
    name: 'pods',
    title: 'up to 10,000 pods that hold up 100 nodes',
    play: async (play, sized) => ({ points: await growPods(play, sized(100), [0, 25, 50, 100]) }),
    judge: () => [],
  }),
  scaleForm({
    name: 'maintenances',
    title: 'up to 500 maintenances in effect',
    play: async (play, sized) => growMaintenances(play, [125, 250, 500].map(sized)),
    judge: () => [],
  }),
  scaleForm({
    name: 'finished',
    title: '10,000 maintenances that nobody cleans up',
    play: async (play, sized) => growFinished(play, [0, 2_500, 5_000, 10_000].map(sized0(sized)), 500),
    judge: ({ points, oneMoreSeconds: { alone, beside } }) => {
      const [none, most] = [points[0], points.at(-1)];
      const perFinished =
        ((most?.idle.rssAfterMb ?? 0) - (none?.idle.rssAfterMb ?? 0)) / (most?.finished ?? 1);
      return [
        goal('memory of a finished maintenance', Math.round(perFinished * 10_240) / 10, 'kB', 10),
        goal('one more beside them', Math.round((beside - alone) * 10) / 10, 's later', 1),
      ];
    },
  }),
  scaleForm({
    name: 'budgets',
    title: '50,000 budgets, and 5,000 more in one namespace',
    play: async (play, sized) =>
      underBudgets(play, { total: sized(50_000), inNamespace: sized(5_000), pods: sized(50) }),
    judge: ({ drain }) => [goal('longest hold-up of the event loop', Math.round(drain.loopMaxMs), 'ms', 250)],
  }),
  scaleForm({
    name: 'drain',
    title: '500 of 1,000 nodes with 20,000 pods at once',
    play: async (play, sized) => drainMany(play, sizedDrain(HALF_FULL, sized)),
    judge: judgeDrain,
  }),
  scaleForm({
    name: 'fleet',
    title: '750 of 1,500 nodes with 11,683 pods at once',
    play: async (play, sized) => drainMany(play, sizedDrain(FLEET, sized)),
    judge: judgeDrain,
  }),
  scaleForm({
    name: 'churn',
    title: 'drains and restores for hours',
    endsEarly: true,
    play: async (play: Play, sized) =>
      churn(play, {
        nodes: 20,
        podsPerNode: 3,
        rounds: sized(ROUNDS),
        warmUpRounds: Math.ceil(sized(ROUNDS) / 4),
      }),
    judge: ({ bytesPerMaintenance }) => [
      goal('growth of the heap', Math.round(bytesPerMaintenance), 'bytes per maintenance', 200),
    ],
  }),
];

function sized0(sized: Sized): (full: number) => number {
  return (full) => (full === 0 ? 0 : sized(full));
}

function sizedDrain(size: DrainSize, sized: Sized): DrainSize {
  const { nodes, pods, maintained, spares, evictionQps } = size;
  return {
    nodes: sized(nodes),
    pods: sized(pods),
    maintained: sized(maintained),
    spares: spares === 0 ? 0 : sized(spares),
    evictionQps,
  };
}

function judgeDrain({ readySeconds, leastSeconds, before, afterwards }: DrainFigures): Goal[] {
  return [
    goal(
      'until all are Ready',
      Math.round((readySeconds / leastSeconds) * 100) / 100,
      'x the evictions alone',
      1.2,
    ),
    goal(
      'memory afterwards',
      Math.round((afterwards.rssAfterMb / before.rssAfterMb) * 100) / 100,
      'x that of before',
      1.25,
    ),
  ];
}
