import { type Verdict, isTerminating, judge } from '../drain/filters.ts';
import type { DaemonSetExists } from '../drain/filters.ts';
import type { Node, Pod } from '../kube/types.ts';
import { compareText } from '../runtime/compare.ts';
import type { Stance } from './stance.ts';

/**
 * `nodeDown`: it cannot stop because the node is not Ready; `returns`: evicted again and again, it comes back; `ownPod`:
 * the operator runs in it, and no other node can take it.
 */
export type WhyAbandoned = 'nodeDown' | 'returns' | 'ownPod';

export interface Abandoned {
  readonly pod: Pod;
  readonly why: WhyAbandoned;
}

/** The pods of a node, as one maintenance sees them. */
export interface PodView {
  readonly verdicts: ReadonlyMap<string, Verdict | { readonly kind: 'abandoned' }>;
  /** Have to leave, and are still here; terminating and held ones included. */
  readonly remaining: readonly Pod[];
  readonly terminating: number;
  /** Stay by nature: DaemonSet and mirror pods. */
  readonly staying: number;
  /** Left alone at the user's wish. */
  readonly kept: readonly Pod[];
  /** Should leave, and are not waited for. */
  readonly abandoned: readonly Abandoned[];
  /** Milliseconds of wall-clock time at which one more pod is given up. */
  readonly nextAbandonedAt: number | undefined;
}

export function viewPods(
  stance: Stance,
  pods: readonly Pod[],
  node: Node,
  daemonSetExists: DaemonSetExists,
  now: number,
  whyAbandoned: (pod: Pod) => WhyAbandoned | undefined,
): PodView {
  const verdicts = new Map<string, Verdict | { readonly kind: 'abandoned' }>();
  const view = { remaining: [] as Pod[], kept: [] as Pod[], abandoned: [] as Abandoned[] };
  let staying = 0;
  let nextAbandonedAt: number | undefined;
  for (const pod of pods) {
    const verdict = judge(pod, stance.policies, daemonSetExists);
    verdicts.set(pod.metadata.uid, verdict);
    if (verdict.kind === 'stays') staying++;
    else if (verdict.kind === 'kept') view.kept.push(pod);
    else {
      const why = verdict.kind === 'leaves' ? whyAbandoned(pod) : undefined;
      if (why !== undefined) {
        verdicts.set(pod.metadata.uid, { kind: 'abandoned' });
        view.abandoned.push({ pod, why });
        continue;
      }
      const abandonedAt = whenAbandoned(stance, pod, node);
      if (abandonedAt !== undefined && abandonedAt <= now) view.abandoned.push({ pod, why: 'nodeDown' });
      else {
        view.remaining.push(pod);
        if (abandonedAt !== undefined)
          nextAbandonedAt = Math.min(nextAbandonedAt ?? abandonedAt, abandonedAt);
      }
    }
  }
  return {
    ...view,
    verdicts,
    staying,
    terminating: view.remaining.filter(isTerminating).length,
    nextAbandonedAt,
  };
}

/** A pod's deletionTimestamp includes its grace period: it is when the pod should have been gone. */
function whenAbandoned(stance: Stance, pod: Pod, node: Node): number | undefined {
  const { skipWaitForDeleteTimeoutSeconds: seconds } = stance.spec.drain;
  const due = pod.metadata.deletionTimestamp;
  if (seconds === 0 || due === undefined || readyCondition(node)?.status === 'True') return undefined;
  return Date.parse(due) + seconds * 1000 + 1;
}

export function readyCondition(node: Node) {
  return node.status?.conditions?.find(({ type }) => type === 'Ready');
}

export function podName(pod: Pod): string {
  return `${pod.metadata.namespace ?? ''}/${pod.metadata.name}`;
}

export function comparePods(a: Pod, b: Pod): number {
  return compareText(podName(a), podName(b));
}
