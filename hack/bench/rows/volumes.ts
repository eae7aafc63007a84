/**
 * Row 8: 16 pods with a volume each, at several paces and by two providers. All drains go on at the same time, each with
 * a driver, a csi-attacher and nodes of its own: what they have in common is the machine, and it waits most of the time.
 */
import { seconds, withUnit } from '../goals.ts';
import { PodWatch } from '../pod-watch.ts';
import { type Contestant, countRequests, evictionFigures } from '../requests.ts';
import { type Cells, observe, type Play, type Row, type Traffic } from '../row.ts';
import type { AuditEntry } from '../../../test/e2e/support/audit.ts';
import { drain, prepare, type Scene, slowDown } from '../volumes/drains.ts';
import type { Figures } from '../volumes/outages.ts';
import { ONE, PODS, type Setting, SETTINGS, SINGLE, SINGLES, STOPS_IN_S } from '../volumes/settings.ts';

/** Of the line in the table; the others have a table of their own. */
const MAIN_PACE = 4;

interface Result extends Figures {
  readonly setting: Setting;
}

export async function volumes(play: Play): Promise<Row> {
  const { stage, log } = play;
  await stage.operate('--max-unavailable-nodes=100%');
  log('pods with volumes: placing them on 16 nodes');
  const [scenes, singles] = await Promise.all([
    Promise.all(
      SETTINGS.map(async (setting) => ({
        setting,
        scene: await prepare(stage, setting.name, setting.name, PODS),
      })),
    ),
    Promise.all(
      Array.from({ length: SINGLES }, async (_, index) =>
        prepare(stage, `${SINGLE}-${index + 1}`, SINGLE, 1),
      ),
    ),
  ]);
  for (const { name, provider } of SETTINGS) slowDown(stage, name, provider.perNode);
  slowDown(stage, SINGLE, ONE.perNode);
  const watch = new PodWatch(stage.cluster);
  try {
    const all = SETTINGS.length * PODS + SINGLES;
    await watch.until(
      'all pods are seen',
      () => scenes.every(({ scene: { island } }) => watch.countOn(island.node) === PODS),
      60_000,
    );
    await stage.quiet();
    log(
      `${all} pods with volumes: haulout and kubectl drain at the same time, which takes about five minutes`,
    );
    const { result, entries, operator, machine } = await observe(stage, async () => {
      const results = scenes.map(async ({ setting, scene }): Promise<Result> => {
        const figures = await drain(play, watch, scene, setting.maxConcurrent);
        log(`${setting.name}: ${figures.mostDown} pods down at once, ${text(figures)}`);
        return { setting, ...figures };
      });
      const moves = singles.map(async (scene) => drain(play, watch, scene, 1));
      return Promise.all([Promise.all(results), Promise.all(moves)]);
    });
    checkDrivers(play);
    const traffic = (who: Contestant): Traffic => {
      const pace = who === 'kubectl' ? undefined : MAIN_PACE;
      const { scene } = playedAt(scenes, pace);
      const own = entries.filter((entry) => isAbout(entry, scene));
      return {
        who,
        requests: countRequests(own, who),
        evictions: evictionFigures(own, who, STOPS_IN_S * 1000),
      };
    };
    const [results, moves] = result;
    const single = moves.map(({ outageMean }) => outageMean);
    return {
      ...rowOf(results, mean(single)),
      traffic: [traffic('haulout'), traffic('kubectl')],
      operator,
      machine,
      samples: { single, ...Object.fromEntries(results.map(sampleOf)) },
    };
  } finally {
    await watch.close();
  }
}

function checkDrivers({ stage }: Play): void {
  stage.bed.checkAuditLog();
  for (const driver of stage.cluster.volumeDrivers()) {
    if (driver.summary().violations.length > 0)
      throw new Error(`${driver.name} attached twice what is exclusive`);
  }
}

function rowOf(
  results: readonly Result[],
  single: number,
): Pick<Row, 'work' | 'kubectl' | 'haulout' | 'goals' | 'details'> {
  const [kubectl, one, four] = [
    playedAt(results, undefined),
    playedAt(results, 1),
    playedAt(results, MAIN_PACE),
  ];
  return {
    work: `${PODS} pods with volumes, ${ONE.says}, at maxConcurrent ${MAIN_PACE}`,
    kubectl: text(kubectl),
    haulout: text(four),
    goals: [
      {
        what: 'volumes at 4, pod-seconds',
        value: tenth(four.podSeconds),
        unit: 'pod-seconds',
        limit: tenth(kubectl.podSeconds / 2),
      },
      { what: 'volumes at 4, wall clock', value: four.wallClock, unit: 's', limit: kubectl.wallClock * 1.15 },
      { what: 'volumes at 1, mean outage', value: one.outageMean, unit: 's', limit: single * 1.1 },
    ],
    details: {
      about: `${PODS} pods with a volume each, which stop in ${STOPS_IN_S} s; attaching and detaching take 3 s each, kubelets report every 10 s, csi-attacher is as it comes, and there are two nodes to go to. All drains go on at the same time, each with a driver, a csi-attacher and nodes of its own. A single pod's move takes ${single.toFixed(1)} s (the mean of ${SINGLES} nodes):`,
      head: [
        'provider',
        'drain',
        'all Ready again',
        'drain ended',
        'outage per pod',
        'longest',
        'pod-seconds down',
        'volumes moving at once',
        'attacher time-outs',
      ],
      rows: results.map(cellsOf),
    },
  };
}

/** The one with the slow provider. */
function playedAt<T extends { readonly setting: Setting }>(
  all: readonly T[],
  maxConcurrent: number | undefined,
): T {
  const found = all.find(
    ({ setting }) => setting.provider === ONE && setting.maxConcurrent === maxConcurrent,
  );
  if (!found) throw new Error('a setting was not played');
  return found;
}

/** Node, maintenance, pods, claims and volumes of one of the drains. */
function isAbout({ objectRef }: AuditEntry, { island }: Scene): boolean {
  const { namespace, name = '' } = objectRef ?? {};
  return (
    namespace === island.namespace ||
    (namespace === undefined && (name === island.node || name.startsWith(`${island.name}-`)))
  );
}

function cellsOf({ setting: { provider, maxConcurrent }, ...figures }: Result): Cells {
  return [
    provider.says,
    maxConcurrent === undefined ? 'kubectl drain' : `maxConcurrent ${maxConcurrent}`,
    `${seconds(figures.wallClock)} s`,
    `${seconds(figures.drain)} s`,
    `${figures.outageMean.toFixed(1)} s`,
    `${figures.outageMost.toFixed(1)} s`,
    figures.podSeconds.toFixed(0),
    figures.mostMoving,
    figures.timeouts,
  ];
}

const text = ({ podSeconds, wallClock }: Figures): string =>
  `${podSeconds.toFixed(0)} pod-seconds down, all Ready again after ${withUnit(wallClock, 's')}`;
/** Besides what the table says: how many pods were down at once, which is more than moved where they came back together. */
const sampleOf = ({ setting, mostDown }: Result): [string, readonly number[]] => [
  `mostDown-${setting.name}`,
  [mostDown],
];

const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;
const tenth = (value: number): number => Math.round(value * 10) / 10;
