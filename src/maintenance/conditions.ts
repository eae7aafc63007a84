import type { NodeMaintenanceStatus, StatusCondition } from '../api/types.generated.ts';
import { cleanMessage } from '../runtime/plain-text.ts';
import { timestamp } from './drain-clock.ts';

export type ConditionType =
  | 'Ready'
  | 'Cordoned'
  | 'Drained'
  | 'VolumesDetached'
  | 'DrainBlocked'
  | 'Reconciling'
  | 'Stalled';
export type ConditionStatus = 'True' | 'False' | 'Unknown';

/** Status, reason and message. */
export type SaidCondition = readonly [ConditionStatus, string, string];

/** A condition as it should be now; when it last flipped comes from the status before. */
export interface WantedCondition {
  readonly type: ConditionType;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
}

const longestMessage = 4096;

/** Only a flip of `status` moves lastTransitionTime; types that are not wanted are dropped. */
export function setConditions(
  previous: readonly StatusCondition[],
  wanted: readonly WantedCondition[],
  generation: number | undefined,
  now: number,
): StatusCondition[] {
  return wanted.map(({ type, status, reason, message }) => {
    const before = previous.find((condition) => condition.type === type);
    return {
      type,
      status,
      reason,
      message: cleanMessage(message, longestMessage),
      lastTransitionTime: before?.status === status ? before.lastTransitionTime : timestamp(now),
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    };
  });
}

/**
 * Whether the node was really marked, and not only about to be: the mirror of the record is written first. Holds until
 * the node has been put back, through every repair, so that nobody can lose the record by removing it.
 */
export function wasCordoned(status: NodeMaintenanceStatus | undefined): boolean {
  const cordoned = findCondition(status?.conditions, 'Cordoned');
  return cordoned?.status === 'True' || repairReasons.includes(cordoned?.reason ?? '');
}

/** Reasons for which a node that was marked is not as it should be for the moment. */
export const repairReasons: readonly string[] = ['Updating', 'UncordonedByHand'];

export function findCondition(conditions: readonly StatusCondition[] | undefined, type: ConditionType) {
  return conditions?.find((condition) => condition.type === type);
}
