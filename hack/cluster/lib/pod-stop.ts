/** When a kubelet would have stopped a pod: rules only, times in milliseconds since the epoch. */
import type { KubeObject } from './kube-client.ts';

/** How long a pod's containers take to stop, as a Go duration ("10s", "1m30s"); one second where it is not said. */
export const STOP_DELAY_ANNOTATION = 'pod-delete.stage.kwok.x-k8s.io/delay';
/** A node with this annotation set to `dead` sends no heartbeats, and its pods neither stop nor report. */
export const KUBELET_ANNOTATION = 'test.haulout.dev/kubelet';

const DEFAULT_DELAY_MS = 1000;
const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** A Go duration in milliseconds; undefined where it is none. */
export function parseDelay(text: string): number | undefined {
  if (text === '0') return 0;
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    total += Number(amount) * (UNITS_MS[unit ?? ''] ?? 0);
  }
  return total;
}

/**
 * When the pod was asked to go. The API server only says the end of the grace period, cut to whole seconds, so the
 * beginning is known to within one second; a watch event seen within that second says it better.
 */
export function deletionRequestedAt(metadata: KubeObject['metadata'], seenAt: number): number | undefined {
  if (metadata.deletionTimestamp === undefined) return undefined;
  const earliest = Date.parse(metadata.deletionTimestamp) - (metadata.deletionGracePeriodSeconds ?? 0) * 1000;
  return Math.min(Math.max(seenAt, earliest), earliest + 999);
}

/**
 * When its containers have stopped: after the pod's own delay, but killed at the end of the grace period. `firstAsked`
 * is when it was first asked to go: a second deletion may shorten the grace period, it does not start the delay anew.
 */
export function stopsAt(metadata: KubeObject['metadata'], firstAsked: number, lastAsked: number): number {
  const delay = parseDelay(metadata.annotations?.[STOP_DELAY_ANNOTATION] ?? '') ?? DEFAULT_DELAY_MS;
  const graceMs = (metadata.deletionGracePeriodSeconds ?? 0) * 1000;
  return Math.min(firstAsked + delay, lastAsked + graceMs);
}

export function isKubeletDead(metadata: KubeObject['metadata']): boolean {
  return metadata.annotations?.[KUBELET_ANNOTATION] === 'dead';
}
