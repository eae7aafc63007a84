/** What a drain meant for its pods: rules only, times in milliseconds since the epoch. */
import type { DriverEvent } from '../../cluster/lib/volumes/driver-log.ts';
import { summaryOf } from '../../cluster/lib/volumes/driver-log.ts';

export interface Moved {
  /** When its eviction was accepted. */
  readonly evictedAt: number;
  /** When its successor was Ready. */
  readonly readyAt: number;
}

export interface Course {
  readonly startedAt: number;
  /** When kubectl ended or the maintenance said that the node is drained. */
  readonly endedAt: number;
  readonly moved: readonly Moved[];
  /** All of its driver. */
  readonly events: readonly DriverEvent[];
}

/** In seconds, where nothing else is said. */
export interface Figures {
  readonly drain: number;
  /** From the start until all pods are Ready elsewhere. */
  readonly wallClock: number;
  readonly outageMean: number;
  readonly outageMost: number;
  readonly podSeconds: number;
  /** Pods at the same time. */
  readonly mostDown: number;
  /** Volumes that were being attached or detached at the same time, or waited for the provider to do it. */
  readonly mostMoving: number;
  /** How often csi-attacher did not wait until the end. */
  readonly timeouts: number;
}

export function figuresOf({ startedAt, endedAt, moved, events }: Course): Figures {
  const outages = moved.map(({ evictedAt, readyAt }) => (readyAt - evictedAt) / 1000);
  const podSeconds = outages.reduce((sum, one) => sum + one, 0);
  // What came before was the preparation.
  const { mostPending, timeouts } = summaryOf(events.filter(({ at }) => at >= startedAt));
  return {
    drain: (endedAt - startedAt) / 1000,
    wallClock: (Math.max(...moved.map(({ readyAt }) => readyAt)) - startedAt) / 1000,
    outageMean: podSeconds / outages.length,
    outageMost: Math.max(...outages),
    podSeconds,
    mostDown: mostAtOnce(moved),
    mostMoving: mostPending,
    timeouts,
  };
}

function mostAtOnce(moved: readonly Moved[]): number {
  const changes = moved
    .flatMap(({ evictedAt, readyAt }) => [
      { at: evictedAt, by: 1 },
      { at: readyAt, by: -1 },
    ])
    // Whoever is back makes room for the next in the same moment.
    .toSorted((a, b) => a.at - b.at || a.by - b.by);
  let [now, most] = [0, 0];
  for (const { by } of changes) {
    now += by;
    most = Math.max(most, now);
  }
  return most;
}
