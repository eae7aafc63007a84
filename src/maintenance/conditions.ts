import type { StatusCondition } from '../api/types.generated.ts';
import { timestamp } from './drain-clock.ts';

export type ConditionType = 'Ready' | 'Cordoned' | 'Drained' | 'DrainBlocked' | 'Reconciling' | 'Stalled';
export type ConditionStatus = 'True' | 'False' | 'Unknown';

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
      message: message.length > longestMessage ? `${message.slice(0, longestMessage - 1)}…` : message,
      lastTransitionTime: before?.status === status ? before.lastTransitionTime : timestamp(now),
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    };
  });
}

export function findCondition(conditions: readonly StatusCondition[] | undefined, type: ConditionType) {
  return conditions?.find((condition) => condition.type === type);
}
