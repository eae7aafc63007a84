/** Reading what a NodeMaintenance says about itself. */
import type { NodeMaintenance, StatusCondition } from '../../../src/api/types.generated.ts';
import type { Node, Pod, PodDisruptionBudget } from '../../../src/kube/types.ts';

export function condition(object: NodeMaintenance, type: string): StatusCondition | undefined {
  return object.status?.conditions?.find((one) => one.type === type);
}

/** `True/Drained`: status and reason together, which is what most assertions are about; undefined where it is absent. */
export function said(object: NodeMaintenance, type: string): string | undefined {
  const found = condition(object, type);
  return found && `${found.status}/${found.reason}`;
}

export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false;
}

export const isDone = (pod: Pod): boolean => pod.status?.phase === 'Succeeded';

/** Ready, and the node controller knows it. */
export function isUp(node: Node): boolean {
  const isTainted = node.spec?.taints?.some(({ key }) => key === 'node.kubernetes.io/not-ready') ?? false;
  return nodeCondition(node, 'Ready')?.status === 'True' && !isTainted;
}

/** The budget's status is about its present spec and all of its pods. */
export const isSettled = ({ metadata, status }: PodDisruptionBudget): boolean =>
  status?.observedGeneration === metadata.generation &&
  (status?.expectedPods ?? 0) > 0 &&
  status?.currentHealthy === status?.expectedPods;

export function nodeCondition(node: Node, type: string): { status: string; reason?: string } | undefined {
  return node.status?.conditions?.find((one) => one.type === type);
}

export const taintsOf = (node: Node): readonly string[] =>
  (node.spec?.taints ?? [])
    .map(({ key, value, effect }) => `${key}${value ? `=${value}` : ''}:${effect}`)
    .toSorted();

/** For messages of failures. */
export function summary({ metadata, spec, status }: NodeMaintenance): string {
  const conditions = (status?.conditions ?? []).map(
    ({ type, status: value, reason, message }) => `    ${type}=${value} ${reason}: ${message}`,
  );
  const blockers = (status?.blockers ?? []).map(
    ({ pod, cause, message }) => `    blocker ${pod.namespace}/${pod.name} ${cause}: ${message}`,
  );
  const head = `  ${metadata.name}: ${JSON.stringify(spec)} phase ${status?.phase ?? '(none)'} generation ${metadata.generation}/${status?.observedGeneration ?? '-'} drain ${JSON.stringify(status?.drain ?? {})}${metadata.deletionTimestamp === undefined ? '' : ', being deleted'}`;
  return [head, ...conditions, ...blockers].join('\n');
}
