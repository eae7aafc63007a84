import type { Blocker } from '../api/types.generated.ts';
import type { SaidCondition } from './conditions.ts';
import { isSystemCritical } from './order.ts';
import { type PodView, type WhyAbandoned, podName } from './pods.ts';
import type { DrainFacts } from './status.ts';
import { stillAttached } from './volume-words.ts';
import { count, names } from './words.ts';

// What the status says about pods.

/** Condition Drained. */
export function drainedWords({ view }: DrainFacts): SaidCondition {
  if (view.remaining.length > 0) {
    return [
      'False',
      'PodsRemaining',
      `${count(view.remaining.length, 'pod')} ${view.remaining.length === 1 ? 'has' : 'have'} to leave`,
    ];
  }
  if (view.kept.length > 0) {
    return [
      'False',
      'PodsKept',
      `${count(view.kept.length, 'pod')} left alone as podSelector or Skip says: ${names(view.kept.map(podName))}`,
    ];
  }
  return [
    'True',
    'Drained',
    `nothing is left but DaemonSet and mirror pods${view.abandoned.length > 0 ? abandonedWords(view) : ' and pods that are no longer waited for'}`,
  ];
}

/** Ready's message when all that has to leave has left. */
export function drainedMessage({ stance, view, gone, leftovers }: DrainFacts): string {
  const kept =
    view.kept.length > 0 ? `; left alone as podSelector or Skip says: ${names(view.kept.map(podName))}` : '';
  return `node ${stance.spec.nodeName} is drained, ${count(gone, 'pod')} gone${kept}${abandonedWords(view)}${stillAttached(leftovers)}`;
}

const whyAbandoned: Readonly<Record<WhyAbandoned, string>> = {
  nodeDown: 'no longer waited for, because the node is not Ready',
  ownPod: 'left, because haulout runs in it and no other node can take it',
  returns: 'no longer waited for, because they come back after each eviction',
};

/** Who is not waited for: parts of a sentence, each with what it needs before it. */
function abandonedWords({ abandoned }: PodView): string {
  return Object.entries(whyAbandoned)
    .map(([why, words]) => ({ words, pods: abandoned.filter((each) => each.why === why) }))
    .filter(({ pods }) => pods.length > 0)
    .map(({ words, pods }) => `; ${words}: ${names(pods.map(({ pod }) => podName(pod)))}`)
    .join('');
}

/** Condition DrainBlocked; `undefined` when no pod is held up. */
export function blockedWords({ blockers }: DrainFacts): SaidCondition | undefined {
  const [first] = blockers;
  if (!first) return undefined;
  // What is said of one budget is not true of another.
  const groups = [...Map.groupBy(blockers, ({ cause, message }) => `${cause} ${message}`).values()];
  const shown = shortened(groups);
  const lines = shown.map((group) => {
    const [{ cause, message } = first] = group;
    return `${cause}: ${names(group.map(({ pod }) => `${pod.namespace}/${pod.name}`))}: ${message}`;
  });
  const rest = blockers.length - shown.flat().length;
  if (rest > 0) lines.push(`And ${count(rest, 'pod')} more`);
  return ['True', first.cause, `${count(blockers.length, 'pod')} cannot leave now. ${lines.join('. ')}`];
}

const mostLines = 5;

/** The first of each cause before the second of any, in the order in which they come. */
function shortened(groups: readonly (readonly Blocker[])[]): readonly (readonly Blocker[])[] {
  const causes = groups.map(([blocker]) => blocker?.cause);
  const isFirst = (index: number) => causes.indexOf(causes[index]) === index;
  const ranked = [...groups.keys()].toSorted((a, b) => Number(isFirst(b)) - Number(isFirst(a)));
  const chosen = new Set(ranked.slice(0, mostLines));
  return groups.filter((_, index) => chosen.has(index));
}

/** How far the drain is, as a part of a sentence. */
export function left({ view, gone }: DrainFacts): string {
  const remaining = view.remaining.length;
  const terminating = view.terminating > 0 ? `, ${view.terminating} of them terminating` : '';
  return `${gone} of ${count(gone + remaining, 'pod')} gone, ${remaining} left${terminating}${lastOnes(view)}`;
}

/** They are no blockers, but it is them that the others hold up. */
function lastOnes({ remaining }: PodView): string {
  const critical = remaining.filter(isSystemCritical);
  if (critical.length === 0 || critical.length === remaining.length) return '';
  return `, ${critical.length} system-critical only after the others`;
}
