import { findPlaces } from '../capacity/fits.ts';
import type { RoomyPod } from '../capacity/types.ts';
import { controllerOf, daemonSetOf, isFinished } from '../drain/filters.ts';
import { comparePods } from '../maintenance/pods.ts';
import type { Observation } from './observe.ts';
import type { Outlook } from './outlook.ts';
import type { HomelessForecast, RoomForecast } from './preview.ts';

/** Whether the pods that are created again find room on the other nodes. */
export function forecastRoom({ pods, others }: Observation, { leavers }: Outlook): RoomForecast {
  const leaving = new Set(leavers.map(({ pod }) => pod.metadata.uid));
  const moving = pods.filter((pod) => leaving.has(pod.metadata.uid) && comesBack(pod)).toSorted(comparePods);
  if (others === undefined) return { known: false, pods: moving.length, nodes: 0, homeless: [] };
  const podsOn = Map.groupBy(others.pods, ({ spec }) => spec.nodeName ?? '');
  const { homeless } = findPlaces(moving, others.nodes, (name) => podsOn.get(name) ?? []);
  const open = others.nodes.filter(({ spec }) => spec?.unschedulable !== true);
  return {
    known: true,
    pods: moving.length,
    nodes: open.length,
    homeless: together(homeless.toSorted((a, b) => comparePods(a.pod, b.pod))),
  };
}

/** What a controller creates again; not the pods of a DaemonSet that is gone. */
function comesBack(pod: RoomyPod): boolean {
  return controllerOf(pod) !== undefined && daemonSetOf(pod) === undefined && !isFinished(pod);
}

/** Replicas of one workload have the same reasons. */
function together(homeless: ReturnType<typeof findPlaces>['homeless']): HomelessForecast[] {
  const groups = Map.groupBy(homeless, ({ fitsAlone, reasons }) => JSON.stringify([fitsAlone, reasons]));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const pods = group.map(({ pod: { metadata } }) => ({
      namespace: metadata.namespace ?? '',
      name: metadata.name,
    }));
    return [{ pods, fitsAlone: first.fitsAlone, reasons: first.reasons }];
  });
}
