import type { Condition, Node } from '../kube/types.ts';
import { cleanMessage } from '../runtime/plain-text.ts';

/** Condition types of Kubernetes' node lifecycle (KEP-5683); they are free strings on every version of the API. */
export const nodeConditionTypes = [
  'MaintenancePlanned',
  'MaintenanceInProgress',
  'DrainInProgress',
  'Drained',
] as const;
export type NodeConditionType = (typeof nodeConditionTypes)[number];

export interface NodeCondition {
  readonly type: NodeConditionType;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

// By its reason a condition is known as ours, so that one of another controller's is not taken off.
const reasonPrefix = 'NodeMaintenance';

export interface MaintenanceState {
  readonly name: string;
  readonly reason: string;
  readonly state: 'planned' | 'inProgress' | 'draining' | 'drained';
}

/** What the node says of its maintenances; empty when there is none. */
export function desiredNodeConditions(states: readonly MaintenanceState[]): NodeCondition[] {
  if (states.length === 0) return [];
  const message = cleanMessage(
    states.map(({ name, reason }) => (reason ? `${name}: ${reason}` : name)).join('; '),
  );
  const has = (...wanted: MaintenanceState['state'][]) => states.some(({ state }) => wanted.includes(state));
  const draining = has('draining');
  const condition = (type: NodeConditionType, value: boolean, reason: string): NodeCondition => ({
    type,
    status: value ? 'True' : 'False',
    reason: reasonPrefix + reason,
    message,
  });
  const begun = has('inProgress', 'draining', 'drained');
  return [
    condition('MaintenancePlanned', !begun, begun ? 'Begun' : 'Planned'),
    condition('MaintenanceInProgress', begun, begun ? 'InProgress' : 'NotBegun'),
    condition('DrainInProgress', draining, draining ? 'Draining' : 'NotDraining'),
    condition('Drained', has('drained') && !draining, has('drained') && !draining ? 'Drained' : 'NotDrained'),
  ];
}

export function ownConditions(node: Node): readonly Condition[] {
  const types: readonly string[] = nodeConditionTypes;
  return (node.status?.conditions ?? []).filter(
    ({ type, reason }) => types.includes(type) && (reason?.startsWith(reasonPrefix) ?? false),
  );
}

/** Whether the node's conditions of ours are other than `desired`. */
export function conditionsDiffer(node: Node, desired: readonly NodeCondition[]): boolean {
  const own = ownConditions(node);
  return (
    own.length !== desired.length ||
    desired.some((want) => {
      const is = own.find(({ type }) => type === want.type);
      return is?.status !== want.status || is.reason !== want.reason || is.message !== want.message;
    })
  );
}

/**
 * A strategic merge patch for the status subresource: what is not desired any more is deleted by `$patch`. It applies to
 * the node that was read: one that arrives late must not claim anything of a node that has been put back.
 */
export function nodeConditionsPatch(node: Node, desired: readonly NodeCondition[], now: string): object {
  const own = ownConditions(node);
  const gone = own.filter(({ type }) => !desired.some((want) => want.type === type));
  const conditions = [
    ...desired.map((want) => {
      const is = own.find(({ type }) => type === want.type);
      const since = is?.status === want.status ? (is.lastTransitionTime ?? now) : now;
      return { ...want, lastTransitionTime: since, lastHeartbeatTime: now };
    }),
    ...gone.map(({ type }) => ({ type, $patch: 'delete' })),
  ];
  const { uid, resourceVersion } = node.metadata;
  return { metadata: { uid, resourceVersion }, status: { conditions } };
}
