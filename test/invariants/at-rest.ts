/** What must be true of a cluster in which nothing is going on any more while an operator runs. */
import { falselyDone, idle } from './drains-at-rest.ts';
import { leftOnNodes } from './left-on-nodes.ts';
import { unfounded } from './reasons.ts';
import { type ClusterState, said, type StateMaintenance } from './state.ts';

/** Reasons of Ready and Cordoned that nobody may be left with. */
const PASSING = ['Cordoning', 'Updating', 'Restoring', 'UncordonedByHand', 'Released'];

/** One sentence for each thing that is lost. `left`: what the operator has put on a node and not taken off. */
export function lostAtRest(state: ClusterState, left: (node: string) => readonly string[]): string[] {
  return [
    ...leftOnNodes(state, left),
    ...state.maintenances.flatMap((maintenance) => stuck(maintenance, state)),
  ];
}

function stuck(maintenance: StateMaintenance, state: ClusterState): string[] {
  const { metadata, status } = maintenance;
  const { name, deletionTimestamp, finalizers = [] } = metadata;
  if (deletionTimestamp !== undefined)
    return [`${name} was deleted at ${deletionTimestamp} and is held by ${finalizers.join(', ')}`];
  const ready = said(maintenance, 'Ready');
  if (!ready || status?.observedGeneration !== metadata.generation)
    return [`${name} is forgotten: generation ${metadata.generation}, seen ${status?.observedGeneration}`];
  // Suspended or failed, it may say nothing of its node in Ready.
  const passing = [ready, said(maintenance, 'Cordoned')].find((one) => PASSING.includes(one?.reason ?? ''));
  if (passing) return [`${name} does not get past ${passing.reason}`];
  const isDraining = ready.reason === 'Draining' || ready.reason === 'DrainBlocked';
  return [
    ...unfounded(maintenance, state),
    ...falselyDone(maintenance, state),
    ...(isDraining ? idle(maintenance, state) : []),
  ];
}
