import type { Node, Taint } from '../kube/types.ts';
import {
  excludeFromLoadBalancersLabel,
  excludeFromRemediationLabel,
  doNotDisruptAnnotation,
  maintenanceLabel,
  maintenanceTaintEffect,
  maintenanceTaintKey,
  scaleDownDisabledAnnotation,
} from '../api/names.ts';
import { type Additions, type RecordedHolder, sameTaint, taintsOf } from './record.ts';

/** A maintenance that takes the node out of service, reduced to what it wants to see on the node. */
export interface Holder extends RecordedHolder {
  readonly evacuates: boolean;
  readonly excludeFromLoadBalancers: boolean;
  readonly taints: readonly Taint[];
}

/** A maintenance asks for 16 at most, and there may be any number of maintenances: a Node and its record have to stay writable. */
const mostTaints = 128;

/**
 * The union of what the holders want, beside `spec.unschedulable: true`. The oldest holder comes first: where two ask
 * for one taint with different values, the older one's stands.
 */
export function desiredAdditions(holders: readonly Holder[]): Additions {
  const taints: Taint[] = [{ key: maintenanceTaintKey, effect: maintenanceTaintEffect }];
  for (const wanted of holders.flatMap((holder) => holder.taints)) {
    const isNew = !taints.some((taint) => sameTaint(taint, wanted));
    if (isNew && taints.length < mostTaints) taints.push(wanted);
  }
  const offLoadBalancers = holders.some((holder) => holder.evacuates && holder.excludeFromLoadBalancers);
  return {
    taints,
    labels: {
      [maintenanceLabel]: 'true',
      // An empty node is the best candidate for scale-down and a rebooting one for fencing.
      [excludeFromRemediationLabel]: 'true',
      ...(offLoadBalancers ? { [excludeFromLoadBalancersLabel]: 'true' } : {}),
    },
    annotations: { [scaleDownDisabledAnnotation]: 'true', [doNotDisruptAnnotation]: 'true' },
  };
}

/** Whether all that `holder` wants is on the node, put there by haulout or by somebody else. */
export function carriesMarks(node: Node, holder: Holder): boolean {
  const { labels, annotations, taints } = desiredAdditions([holder]);
  return (
    node.spec?.unschedulable === true &&
    Object.keys(labels).every((key) => node.metadata.labels?.[key] !== undefined) &&
    Object.keys(annotations).every((key) => node.metadata.annotations?.[key] !== undefined) &&
    taints.every((wanted) => taintsOf(node).some((taint) => sameTaint(taint, wanted)))
  );
}
