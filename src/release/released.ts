import type { NodeMaintenance, NodeMaintenanceStatus } from '../api/types.generated.ts';
import { type ConditionType, setConditions } from '../maintenance/conditions.ts';

const said: readonly (readonly [ConditionType, 'False' | 'Unknown'])[] = [
  ['Ready', 'False'],
  ['Cordoned', 'False'],
  ['Drained', 'Unknown'],
  ['VolumesDetached', 'Unknown'],
  ['DrainBlocked', 'Unknown'],
];

/**
 * The status of a maintenance that stays while the operator goes. It remembers nothing of the node: an operator that is
 * installed later takes it up like one that was just created, and does not find a node that "somebody" uncordoned.
 */
export function releasedStatus(
  { metadata, spec, status }: NodeMaintenance,
  now: number,
): NodeMaintenanceStatus {
  const message = `haulout was uninstalled and nothing of it is on node ${spec.nodeName} any more; once it is installed again this maintenance begins anew`;
  const wanted = said.map(([type, value]) => ({ type, status: value, reason: 'Released', message }));
  return {
    ...(metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }),
    phase: 'Pending',
    blockersTotal: 0,
    conditions: setConditions(status?.conditions ?? [], wanted, metadata.generation, now),
  };
}
