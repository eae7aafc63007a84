/** Nobody waits for a turn while fewer nodes are out of service than may be (docs/sharing.md). */
import { type ClusterState, nodeOf, said, type StateMaintenance } from './state.ts';

const RECORD = 'haulout.dev/maintenance';

/** `limit` is --max-unavailable-nodes, such as `3` or `10%`; where nobody knows it, one node may be in any case. */
export function waitingInVain(
  state: ClusterState,
  limit: string | undefined,
  isOwn: (node: string) => boolean,
): string[] {
  const isWaiting = (one: StateMaintenance): boolean =>
    said(one, 'Ready')?.reason === 'WaitingForTurn' && nodeOf(one, state) !== undefined;
  const waiting = state.maintenances.filter((one) => isOwn(one.spec.nodeName) && isWaiting(one));
  const allowed = nodesAllowed(limit, state.nodes.length);
  const out = outOfService(state);
  if (out.size >= allowed) return [];
  return waiting.map(
    ({ metadata }) =>
      `${metadata.name} waits for its turn, and ${out.size} nodes are out of service, where ${allowed} may be`,
  );
}

/** Rounded down, never less than 1. */
function nodesAllowed(limit = '1', nodes: number): number {
  const amount = Number.parseInt(limit, 10);
  return Math.max(1, limit.endsWith('%') ? Math.floor((nodes * amount) / 100) : amount);
}

/** Those that haulout holds, and those that it was let through to: what others cordoned or what is not Ready does not count. */
function outOfService({ nodes, maintenances }: ClusterState): Set<string> {
  const held = nodes.filter(({ metadata }) => metadata.annotations?.[RECORD] !== undefined);
  const begun = maintenances.filter((one) => said(one, 'Ready')?.reason === 'Cordoning');
  return new Set([...held.map(({ metadata }) => metadata.name), ...begun.map(({ spec }) => spec.nodeName)]);
}
