/** A node as far as "put back exactly as it was" is about it. */
import type { Node } from '../../../src/kube/types.ts';

export interface NodeSnapshot {
  readonly unschedulable: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** `key=value:effect`, sorted; without the taint of a cordon, which `unschedulable` stands for. */
  readonly taints: readonly string[];
  readonly finalizers: readonly string[];
  /** The conditions that a maintenance puts on a node. */
  readonly maintenanceConditions: readonly string[];
}

const MAINTENANCE_CONDITIONS = ['MaintenancePlanned', 'MaintenanceInProgress', 'DrainInProgress', 'Drained'];
/** Set by the TTL controller as the number of nodes grows. */
const NOT_OURS = new Set(['node.alpha.kubernetes.io/ttl']);

/**
 * The node lifecycle controller puts it on and takes it off after spec.unschedulable, each time from what it saw a moment
 * before: soon after a change it may be the other way round once more.
 */
const CORDON_TAINT = 'node.kubernetes.io/unschedulable';

export function snapshotOf(node: Node): NodeSnapshot {
  const { labels = {}, annotations = {}, finalizers = [] } = node.metadata;
  return {
    unschedulable: node.spec?.unschedulable ?? false,
    labels,
    annotations: Object.fromEntries(Object.entries(annotations).filter(([key]) => !NOT_OURS.has(key))),
    taints: (node.spec?.taints ?? [])
      .filter(({ key }) => key !== CORDON_TAINT)
      .map(({ key, value, effect }) => `${key}=${value ?? ''}:${effect}`)
      .toSorted(),
    finalizers,
    maintenanceConditions: (node.status?.conditions ?? [])
      .map(({ type }) => type)
      .filter((type) => MAINTENANCE_CONDITIONS.includes(type)),
  };
}
