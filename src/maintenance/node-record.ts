import { maintenanceAnnotation, maintenanceLabel, maintenanceTaintKey } from '../api/names.ts';
import type { NodeMaintenance } from '../api/types.generated.ts';
import { wasCordoned } from './conditions.ts';
import type { Node } from '../kube/types.ts';
import {
  type NodeRecord,
  type RestoreData,
  parseRecord,
  parseRestoreData,
  taintsOf,
} from '../node/record.ts';

export interface FoundRecord {
  /** What to put back; `undefined`: haulout has done nothing to the node. */
  readonly restoreData: RestoreData | undefined;
  /** Those whom the node's own copy names. */
  readonly holders: NodeRecord['holders'];
  /** The node's copy is there and cannot be read. */
  readonly damaged: boolean;
}

/**
 * The record of what was done to the node: its own copy, or what is remembered, or a holder's mirror where the copy
 * was removed or damaged. It is never guessed from the node's looks.
 */
export function findRecord(
  node: Node,
  maintenances: readonly NodeMaintenance[],
  remembered: { readonly nodeUid: string; readonly record: NodeRecord } | undefined,
): FoundRecord {
  const text = node.metadata.annotations?.[maintenanceAnnotation];
  const record = text === undefined ? undefined : parseRecord(text);
  if (record) return { restoreData: record, holders: record.holders, damaged: false };
  const damaged = text !== undefined;
  const mirrors = maintenances.filter(({ status }) => status?.node?.uid === node.metadata.uid);
  // Mirrors are written before the node is: one alone does not say that there was a record to lose.
  const lost = damaged || looksHeld(node) || mirrors.some(({ status }) => wasCordoned(status));
  const recalled = lost && remembered?.nodeUid === node.metadata.uid ? remembered.record : undefined;
  // One that is on its way out does not hear any more of what is done for the others.
  const mirror = (lost ? mirrors : [])
    .toSorted((a, b) => Number(isLeaving(a)) - Number(isLeaving(b)))
    .map(({ status }) => parseRestoreData(status?.node))
    .find((data) => data !== undefined);
  return { restoreData: mirror ?? recalled, holders: mirror ? [] : (recalled?.holders ?? []), damaged };
}

function isLeaving({ metadata }: NodeMaintenance): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** With the record lost for good, what carries haulout's own name is all that can be taken off for certain. */
export function restorable(node: Node, { restoreData, damaged }: FoundRecord): RestoreData | undefined {
  if (restoreData || !damaged) return restoreData;
  const label = node.metadata.labels?.[maintenanceLabel];
  return {
    before: { unschedulable: node.spec?.unschedulable ?? false },
    added: {
      labels: label === undefined ? {} : { [maintenanceLabel]: label },
      annotations: {},
      taints: taintsOf(node).filter(({ key }) => key === maintenanceTaintKey),
    },
  };
}

function looksHeld(node: Node): boolean {
  const labelled = node.metadata.labels?.[maintenanceLabel] !== undefined;
  return labelled || taintsOf(node).some((taint) => taint.key === maintenanceTaintKey);
}
