/** Drains of nodes whose pods have volumes, played on a stage. */
import type { Island } from '../../../test/e2e/support/island.ts';
import { kubectlDrain } from '../kubectl-drain.ts';
import type { PodWatch } from '../pod-watch.ts';
import { type Contestant, evictionsOf } from '../requests.ts';
import type { Play } from '../row.ts';
import type { Stage } from '../stage.ts';
import { type Course, figuresOf, type Figures } from './outages.ts';
import { ATTACH_S, DETACH_S, driverOf, SPARES, STOPS_IN_S } from './settings.ts';

const TIMEOUT_MS = 600_000;
const SET = 'db';

/** A node with pods of one StatefulSet, each with a volume of the driver, and nodes for them to go to. */
export interface Scene {
  readonly island: Island;
  /** See settings.ts. */
  readonly driver: string;
  /** UIDs by name. */
  readonly pods: ReadonlyMap<string, string>;
}

export async function prepare(stage: Stage, name: string, driver: string, replicas: number): Promise<Scene> {
  const island = await stage.bed.island(name, { spares: SPARES });
  const claimTemplates = [island.claimTemplate('data', { driver: driverOf(driver) })];
  const pods = await stage.bed.place(
    island,
    ...island.volumes(replicas, { driver: driverOf(driver) }),
    island.statefulSet(SET, { replicas, claimTemplates, stopsIn: `${STOPS_IN_S}s` }),
  );
  return { island, driver, pods: new Map(pods.map(({ metadata }) => [metadata.name, metadata.uid])) };
}

/** From now on the provider takes its time. */
export function slowDown(stage: Stage, driver: string, perNode: number): void {
  stage.cluster
    .volumeDriver(driverOf(driver))
    .set({ attachSeconds: ATTACH_S, detachSeconds: DETACH_S, perNode });
}

/** By haulout at this pace, or by kubectl; until all pods are Ready again. */
export async function drain(
  { stage, signal }: Play,
  watch: PodWatch,
  scene: Scene,
  maxConcurrent: number | undefined,
): Promise<Figures> {
  const { island, pods } = scene;
  const mark = stage.audit.mark();
  const startedAt = Date.now();
  const ended = (async () => {
    if (maxConcurrent === undefined) await kubectlDrain(stage, [island.node], signal).ended;
    else {
      await stage.maintain([island.node], { volumes: { maxConcurrent } });
      await stage.drained([island.node], TIMEOUT_MS);
    }
    return Date.now();
  })();
  const isBack = ([name, uid]: readonly [string, string]): boolean => {
    const found = watch.find(island.namespace, name);
    return found !== undefined && found.uid !== uid && found.readyAt !== undefined;
  };
  const allBack = watch.until(
    `all pods of ${island.name} are back`,
    () => [...pods].every(isBack),
    TIMEOUT_MS,
  );
  const [endedAt] = await Promise.all([ended, allBack]);
  const who = maxConcurrent === undefined ? 'kubectl' : 'haulout';
  return figuresOf(courseOf(stage, watch, scene, { startedAt, endedAt, mark, who }));
}

function courseOf(
  stage: Stage,
  watch: PodWatch,
  { island: { namespace }, pods, driver }: Scene,
  times: { startedAt: number; endedAt: number; mark: number; who: Contestant },
): Course {
  const accepted = evictionsOf(stage.audit.entries().slice(times.mark), times.who).filter(
    (one) => one.accepted && one.namespace === namespace,
  );
  const moved = [...pods.keys()].map((name) => ({
    evictedAt: accepted.find(({ pod }) => pod === name)?.answeredAt ?? Number.NaN,
    readyAt: watch.find(namespace, name)?.readyAt ?? Number.NaN,
  }));
  const events = stage.cluster.volumeDriver(driverOf(driver)).events();
  return { ...times, moved, events };
}
