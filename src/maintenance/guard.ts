import { cloudShutdownTaintKey, outOfServiceTaintKey } from '../api/names.ts';
import type { Node } from '../kube/types.ts';
import { taintsOf } from '../node/record.ts';
import { readyCondition } from './pods.ts';
import type { Stance } from './stance.ts';

/** A kubelet that has been silent for so long stops no pods: the deletion of its Node is not held up for it. */
const notReadyReleaseMs = 60_000;

export interface Guard {
  /** The finalizer belongs on the Node. */
  readonly wanted: boolean;
  /** Wall-clock milliseconds at which it has to come off. */
  readonly wakeAt: number | undefined;
}

/**
 * Whether the Node's deletion is held up (nodeDeletePolicy Evict). While it is, pod garbage collection cannot clean
 * up after the node, so it must end: when nothing has to leave any more, in time, or at once on a dead machine.
 *
 * `remaining` says how many pods still have to leave for a maintenance; `undefined`: not known.
 */
export function planGuard(
  node: Node,
  guards: readonly Stance[],
  remaining: (stance: Stance) => number | undefined,
  now: number,
): Guard {
  if (guards.length === 0) return { wanted: false, wakeAt: undefined };
  const { deletionTimestamp } = node.metadata;
  if (deletionTimestamp === undefined) return { wanted: true, wakeAt: undefined };
  const shutDown = taintsOf(node).some(
    ({ key }) => key === outOfServiceTaintKey || key === cloudShutdownTaintKey,
  );
  const ready = readyCondition(node);
  const deadAt =
    ready?.status === 'True'
      ? Infinity
      : Date.parse(ready?.lastTransitionTime ?? deletionTimestamp) + notReadyReleaseMs;
  const ends = guards
    .filter((stance) => remaining(stance) !== 0)
    .map(({ spec }) => Date.parse(deletionTimestamp) + spec.nodeDeleteTimeoutSeconds * 1000);
  const end = Math.min(deadAt, Math.max(-Infinity, ...ends));
  const wanted = !shutDown && end > now;
  return { wanted, wakeAt: wanted && Number.isFinite(end) ? end : undefined };
}
