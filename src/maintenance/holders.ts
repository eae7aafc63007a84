import type { NodeMaintenance } from '../api/types.generated.ts';
import type { NodeRecord, RecordedHolder } from '../node/record.ts';

/**
 * Holders on the node's record that no cache knows and no live look has missed yet. A node is put back only when it
 * is certain that nobody holds it: caches can lag behind.
 */
export function unverifiedHolders(
  holders: NodeRecord['holders'],
  maintenances: readonly NodeMaintenance[],
  absent: ReadonlySet<string>,
): RecordedHolder[] {
  return holders.filter(
    ({ uid }) => !absent.has(uid) && !maintenances.some(({ metadata }) => metadata.uid === uid),
  );
}
