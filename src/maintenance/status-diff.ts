import { isDeepStrictEqual } from 'node:util';
import type { NodeMaintenanceStatus } from '../api/types.generated.ts';

export function sameStatus(a: NodeMaintenanceStatus | undefined, b: NodeMaintenanceStatus): boolean {
  return isDeepStrictEqual(a, b);
}

/**
 * Whether a change may not be held back: everything but the progress of a drain (counts, texts, the list of blockers),
 * which would otherwise be one write per pod.
 */
export function isUrgent(a: NodeMaintenanceStatus | undefined, b: NodeMaintenanceStatus): boolean {
  return a === undefined || !isDeepStrictEqual(essence(a), essence(b));
}

function essence({ observedGeneration, phase, startTime, node, drain, conditions }: NodeMaintenanceStatus) {
  const flips = (conditions ?? []).map(({ type, status }) => `${type}=${status}`);
  const { startTime: drainStart, completionTime, activeSeconds, failure, volumes = [] } = drain ?? {};
  // The next pod waits until its move is noted.
  const moving = volumes.map(({ pod }) => pod.uid);
  return {
    observedGeneration,
    phase,
    startTime,
    node,
    flips,
    drainStart,
    completionTime,
    activeSeconds,
    failure,
    moving,
  };
}

/** A JSON merge patch (RFC 7386) that makes `before` into `after`: null for what is gone, lists as a whole. */
export function mergePatch(before: object, after: object): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  const old = new Map<string, unknown>(Object.entries(before));
  for (const key of old.keys()) {
    if (!Object.hasOwn(after, key)) patch[key] = null;
  }
  for (const [key, value] of Object.entries(after) as [string, unknown][]) {
    const was = old.get(key);
    if (isDeepStrictEqual(was, value)) continue;
    patch[key] = isPlainObject(value) ? mergePatch(isPlainObject(was) ? was : {}, value) : value;
  }
  return patch;
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
