import { controllerOf, hasEmptyDir, isFinished, isTerminating } from '../drain/filters.ts';
import type { Pod } from '../kube/types.ts';
import { comparePods } from '../maintenance/pods.ts';
import { timestamp } from '../runtime/timestamp.ts';
import { forecastBudgets } from './budget-forecast.ts';
import { forecastDuration, graceOf } from './duration.ts';
import { findObstructions } from './obstructions.ts';
import type { Observation } from './observe.ts';
import type { Leaver, Outlook } from './outlook.ts';
import { type PodForecast, type Preview, previewApiVersion, previewKind } from './preview.ts';
import type { Rehearsal } from './rehearsal.ts';
import { forecastRoom } from './room.ts';
import { forecastVolumes } from './volume-forecast.ts';

/**
 * Puts together what was seen, what the planner makes of it and what the API server said.
 * @param maintenance name of the manifest's maintenance; `undefined`: the defaults were looked at
 */
export function compose(
  observation: Observation,
  outlook: Outlook,
  rehearsals: ReadonlyMap<string, Rehearsal>,
  maintenance: string | undefined,
): Preview {
  const pods = observation.pods
    .toSorted(comparePods)
    .map((pod) => forecastPod(pod, outlook, rehearsals.get(pod.metadata.uid)));
  const room = forecastRoom(observation, outlook);
  const obstacles = findObstructions(outlook, rehearsals, room.homeless);
  const budgets = forecastBudgets(outlook.leavers);
  const volumes = forecastVolumes(outlook.leavers, outlook.stance.spec);
  const outcomes = (...kinds: readonly PodForecast['outcome'][]) =>
    pods.filter(({ outcome }) => kinds.includes(outcome)).length;
  return {
    apiVersion: previewApiVersion,
    kind: previewKind,
    time: timestamp(observation.now),
    nodeName: observation.node.metadata.name,
    nodeDrainPolicy: outlook.stance.spec.nodeDrainPolicy,
    ...(maintenance === undefined ? {} : { maintenance }),
    clear: obstacles.length === 0,
    counts: {
      leave: outcomes('leaves'),
      held: outcomes('held'),
      terminating: outcomes('terminating'),
      stay: outcomes('stays', 'kept'),
    },
    obstacles,
    unknown: [...observation.gaps, ...unheard(rehearsals)],
    notes: notes(observation, outlook),
    pods,
    budgets,
    volumes,
    room,
    duration: forecastDuration({
      leavers: outlook.leavers,
      budgets,
      volumes,
      obstacles,
      terminatingSeconds: terminatingSeconds(observation, pods),
    }),
  };
}

function forecastPod(pod: Pod, outlook: Outlook, rehearsal: Rehearsal | undefined): PodForecast {
  const { namespace = '', name, uid } = pod.metadata;
  const owner = controllerOf(pod);
  const leaver = outlook.leavers.find((each) => each.pod.metadata.uid === uid);
  const { outcome, why } = outcomeOf(pod, outlook, leaver);
  const goes = outcome === 'leaves' || outcome === 'held';
  const loses = goes ? losses(pod) : [];
  return {
    namespace,
    name,
    uid,
    ...(owner ? { controller: `${owner.kind}/${owner.name}` } : {}),
    outcome,
    ...(why === undefined ? {} : { why }),
    ...(leaver ? { gracePeriodSeconds: graceOf(leaver) } : {}),
    ...(loses.length === 0 ? {} : { loses }),
    ...(leaver ? volumesOf(leaver) : {}),
    ...(leaver ? { eviction: evictionOf(rehearsal) } : {}),
  };
}

function outcomeOf(
  pod: Pod,
  { drain, stance }: Outlook,
  leaver: Leaver | undefined,
): Pick<PodForecast, 'outcome' | 'why'> {
  if (drain === undefined) {
    return { outcome: 'stays', why: stance.spec.suspend ? 'suspend' : 'nodeDrainPolicy' };
  }
  const verdict = drain.view.verdicts.get(pod.metadata.uid);
  if (verdict?.kind === 'stays' || verdict?.kind === 'kept') {
    return { outcome: verdict.kind, why: verdict.why };
  }
  if (isTerminating(pod)) return { outcome: 'terminating' };
  if (leaver) return { outcome: 'leaves' };
  // Where this maintenance would let it go, another one of the node asks for its protection.
  return { outcome: 'held', why: verdict?.kind === 'held' ? verdict.why : 'otherMaintenance' };
}

function losses(pod: Pod): ('pod' | 'emptyDir')[] {
  if (isFinished(pod)) return [];
  return [
    ...(controllerOf(pod) === undefined ? (['pod'] as const) : []),
    ...(hasEmptyDir(pod) ? (['emptyDir'] as const) : []),
  ];
}

function volumesOf({ volumes }: Leaver): Pick<PodForecast, 'volumes'> {
  if (volumes.kind === 'unknown' || volumes.volumes.length === 0) return {};
  return {
    volumes: volumes.volumes.map(({ claim, persistentVolume, driver }) => ({
      ...(claim === undefined ? {} : { claim }),
      persistentVolume,
      driver,
    })),
  };
}

function evictionOf(rehearsal: Rehearsal | undefined): NonNullable<PodForecast['eviction']> {
  if (rehearsal?.kind === 'allowed' || rehearsal?.kind === 'gone') return 'allowed';
  return rehearsal?.kind === 'refused' ? 'refused' : 'unknown';
}

/** Webhooks that take no part in dry runs; each is named once. */
function unheard(rehearsals: ReadonlyMap<string, Rehearsal>): string[] {
  const said = [...rehearsals.values()].flatMap((one) => (one.kind === 'unknown' ? one.message : []));
  return [...new Set(said)].map((message) => `whether all pods may be evicted: ${message}`);
}

function notes({ node, maintenances, others }: Observation, { stance }: Outlook): string[] {
  const told: string[] = [];
  if (stance.spec.suspend) told.push('suspend is true: nothing begins before it is false');
  for (const { metadata, spec } of maintenances) {
    const suspended = spec.suspend === true ? ', suspended' : '';
    told.push(
      `maintenance ${metadata.name} is about this node too (${spec.nodeDrainPolicy ?? 'Evacuate'}${suspended})`,
    );
  }
  if (node.spec?.unschedulable === true && maintenances.length === 0 && stance.kind === 'holding') {
    told.push('the node is cordoned already, and stays so when the maintenance ends');
  }
  if (node.metadata.deletionTimestamp !== undefined) told.push('the Node object is being deleted');
  if (others !== undefined && others.unscheduled > 0 && stance.evacuates) {
    told.push(`pods that wait for a node already (${others.unscheduled}) want room too, and are not counted`);
  }
  return told;
}

function terminatingSeconds({ now, pods }: Observation, forecasts: readonly PodForecast[]): number {
  const terminating = new Set(
    forecasts.filter(({ outcome }) => outcome === 'terminating').map(({ uid }) => uid),
  );
  const ends = pods
    .filter(({ metadata }) => terminating.has(metadata.uid))
    .map(({ metadata }) => (Date.parse(metadata.deletionTimestamp ?? '') - now) / 1000);
  return Math.max(0, ...ends.map((end) => Math.ceil(end)));
}
