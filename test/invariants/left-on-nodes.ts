/** What of the operator is on nodes that no maintenance holds. */
import { type ClusterState, said, type StateMaintenance, type StateNode } from './state.ts';

const OURS = 'haulout.dev/';
const CONDITIONS = ['MaintenancePlanned', 'MaintenanceInProgress', 'DrainInProgress', 'Drained'];
/** Reasons of Cordoned for which the node is as it was; one that was suspended later keeps what is done. */
const NOT_BEGUN = ['PolicyIgnore', 'Suspended', 'WaitingForTurn'];

/** `put`: what the operator has put on a node and not taken off. */
export function leftOnNodes(
  { nodes, maintenances }: ClusterState,
  put: (node: string) => readonly string[],
): string[] {
  const byNode = Map.groupBy(maintenances, ({ spec }) => spec.nodeName);
  return nodes.flatMap((node) => {
    const { name } = node.metadata;
    const named = byNode.get(name) ?? [];
    if (!named.every(hasNotBegun)) return [];
    const who = named.length === 0 ? 'which nobody maintains' : 'on which no maintenance has begun';
    return [...leftOn(node, named, put(name))].map((what) => `left on node ${name}, ${who}: ${what}`);
  });
}

function hasNotBegun(maintenance: StateMaintenance): boolean {
  const { status, reason = '' } = said(maintenance, 'Cordoned') ?? {};
  return status === 'False' && NOT_BEGUN.includes(reason);
}

/** Labels and taints of ours may be somebody else's from before: `put` knows. Nobody else has the record and the finalizer. */
function leftOn(
  { metadata, status = {} }: StateNode,
  named: readonly StateMaintenance[],
  put: readonly string[],
): Set<string> {
  const ours = [
    ...Object.keys(metadata.annotations ?? {}).map((key) => ['annotation', key]),
    ...(metadata.finalizers ?? []).map((name) => ['finalizer', name]),
  ].flatMap(([what = '', key = '']) => (key.startsWith(OURS) ? [`${what} ${key}`] : []));
  const conditions = (status.conditions ?? [])
    .filter(({ type, status: value }) => CONDITIONS.includes(type) && !isAnnounced(type, value, named))
    .map(({ type }) => `condition ${type}`);
  const left = new Set([...ours, ...conditions, ...put]);
  if (named.some(guards)) left.delete('finalizer haulout.dev/evacuate');
  // It is never made schedulable again.
  if (metadata.deletionTimestamp !== undefined) left.delete('unschedulable');
  return left;
}

/** All four are there as long as a maintenance names the node, and before one begins they say that it is planned. */
const isAnnounced = (type: string, value: string, named: readonly StateMaintenance[]): boolean =>
  named.length > 0 && value === (type === 'MaintenancePlanned' ? 'True' : 'False');

/** Also under Ignore the deletion of the Node may have to be held up. */
const guards = ({ spec }: StateMaintenance): boolean =>
  spec.nodeDrainPolicy === 'Ignore' && spec.nodeDeletePolicy === 'Evict';
