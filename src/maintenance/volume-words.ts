import { isUnderway } from '../volumes/moves.ts';
import type { SaidCondition } from './conditions.ts';
import type { DrainFacts } from './status.ts';
import type { Leftovers } from './volumes.ts';
import { names } from './words.ts';

// What the status says about volumes.

/** Condition VolumesDetached. */
export function detachedWords({ leftovers, moves, stance }: DrainFacts): SaidCondition {
  const late = moves.filter(({ phase }) => phase === 'AttachTimedOut').flatMap(({ volumes }) => volumes);
  const lateNames = names(late.map(({ persistentVolume }) => persistentVolume));
  const attached = late.length === 0 ? '' : `; not attached elsewhere in time: ${lateNames}`;
  const left = names(leftovers.names);
  if (leftovers.names.length === 0)
    return ['True', 'Detached', `no volume of a pod that has to leave is attached to the node${attached}`];
  if (!leftovers.timedOut)
    return ['False', 'WaitingForDetach', `attached to the node: ${left}${tooLate(moves)}${attached}`];
  const { detachTimeoutSeconds } = stance.spec.drain.volumes;
  const after = `after detachTimeoutSeconds (${detachTimeoutSeconds} s)`;
  return ['False', 'DetachTimedOut', `still attached to the node ${after}: ${left}${attached}`];
}

function tooLate(moves: DrainFacts['moves']): string {
  const late = moves.filter(({ phase }) => phase === 'DetachTimedOut').flatMap(({ volumes }) => volumes);
  if (late.length === 0) return '';
  return `; not detached in time: ${names(late.map(({ persistentVolume }) => persistentVolume))}`;
}

/** What Ready adds when the node is drained and its volumes have had their time. */
export function stillAttached(leftovers: Leftovers): string {
  if (leftovers.names.length === 0) return '';
  return `; no longer waited for, although still attached to the node: ${names(leftovers.names)}`;
}

/** Whose volumes the drain waits for, as a part of a sentence. */
export function movesPart({ moves, orphans, leftovers, view }: DrainFacts): string {
  const waiting = moves.filter((move) => isUnderway(move) && move.phase !== 'Leaving');
  const lines = waiting.map(({ pod, phase, volumes }) => {
    const doing = phase === 'Attaching' ? 'to be attached elsewhere' : 'to be detached';
    return `${names(volumes.map(({ persistentVolume }) => persistentVolume))} of ${pod.namespace}/${pod.name} ${doing}`;
  });
  const others = orphans.map(({ persistentVolume }) => `${persistentVolume} to be detached`);
  if (lines.length > 0 || (others.length > 0 && view.remaining.length > 0))
    return `; waiting for ${names([...lines, ...others])}`;
  if (view.remaining.length > 0 || leftovers.names.length === 0) return '';
  return `; waiting for ${names(leftovers.names)} to be detached`;
}
