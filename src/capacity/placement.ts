// Which nodes a pod accepts and which accept it, as the scheduler's filters NodeUnschedulable, TaintToleration and
// NodeAffinity see it.
import type { Taint } from '../kube/types.ts';
import type { NodeRequirement, NodeSelectorTerm, RoomyNode, RoomyPod, Toleration } from './types.ts';

const cordonTaint: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/** Why the scheduler would not consider the node for the pod whatever room it has, as a phrase; undefined: it would. */
export function whyNotPlaced(node: RoomyNode, pod: RoomyPod): string | undefined {
  const tolerations = pod.spec.tolerations ?? [];
  if (node.spec?.unschedulable === true && !tolerates(tolerations, cordonTaint)) return 'it is cordoned';
  const taint = node.spec?.taints?.find(
    (one) => (one.effect === 'NoSchedule' || one.effect === 'NoExecute') && !tolerates(tolerations, one),
  );
  // The taint follows the cordon by itself: it is one thing to people.
  if (taint?.key === cordonTaint.key) return 'it is cordoned';
  if (taint) return `the pod does not tolerate its taint ${taintText(taint)}`;
  const labels = node.metadata.labels ?? {};
  const missing = Object.entries(pod.spec.nodeSelector ?? {}).find(([key, value]) => labels[key] !== value);
  if (missing) return `it has no label ${missing[0]}=${missing[1]}`;
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required && !(required.nodeSelectorTerms ?? []).some((term) => matchesTerm(node, term))) {
    return "the pod's node affinity excludes it";
  }
  return undefined;
}

function taintText({ key, value, effect }: Taint): string {
  return value === undefined || value === '' ? `${key}:${effect}` : `${key}=${value}:${effect}`;
}

function tolerates(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some(({ key = '', operator = 'Equal', value = '', effect = '' }) => {
    if (effect !== '' && effect !== taint.effect) return false;
    if (key !== '' && key !== taint.key) return false;
    switch (operator) {
      case 'Exists':
        return true;
      case '':
      case 'Equal':
        return key !== '' && value === (taint.value ?? '');
      default: {
        const [there, limit] = [integer(taint.value), integer(value)];
        if (there === undefined || limit === undefined) return false;
        return operator === 'Gt' ? there > limit : operator === 'Lt' && there < limit;
      }
    }
  });
}

/** A term without any requirement matches nothing. */
function matchesTerm(
  node: RoomyNode,
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  const { labels = {}, name } = node.metadata;
  return (
    matchExpressions.every((requirement) => matches(labels[requirement.key], requirement)) &&
    matchFields.every((requirement) =>
      matches(requirement.key === 'metadata.name' ? name : undefined, requirement),
    )
  );
}

function matches(value: string | undefined, { operator, values = [] }: NodeRequirement): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default: {
      const [there, limit] = [integer(value), integer(values[0])];
      if (there === undefined || limit === undefined) return false;
      return operator === 'Gt' ? there > limit : operator === 'Lt' && there < limit;
    }
  }
}

function integer(text: string | undefined): bigint | undefined {
  return text !== undefined && /^[+-]?\d{1,19}$/.test(text) ? BigInt(text.replace(/^\+/, '')) : undefined;
}
