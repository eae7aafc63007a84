/** What stands in a namespace, for messages of failures: whether the cluster or the operator is what did not move. */
import type { Pod, PodDisruptionBudget } from '../../../src/kube/types.ts';
import type { Api } from './api.ts';
import type { Eviction } from './audit.ts';
import { isReady } from './status.ts';

/** Of the last evictions, so many are told. */
const EVICTIONS = 8;

export async function namespaceState(
  api: Api,
  namespace: string,
  evictions: readonly Eviction[],
): Promise<string> {
  const [pods, budgets] = await Promise.all([
    api.pods(namespace),
    api.list<PodDisruptionBudget>(`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`),
  ]);
  const lines = [
    ...pods.filter(isAsItShouldBe).map(({ metadata, spec }) => `Ready: ${metadata.name} on ${spec.nodeName}`),
    ...pods.filter((pod) => !isAsItShouldBe(pod)).map(inFull),
    ...budgets.map(({ metadata, status }) => `budget ${metadata.name}: ${JSON.stringify(status)}`),
    ...evictions.slice(-EVICTIONS).map(asked),
  ];
  return [
    `  namespace ${namespace} at ${new Date().toISOString()}:`,
    ...lines.map((line) => `    ${line}`),
  ].join('\n');
}

const isAsItShouldBe = (pod: Pod): boolean => isReady(pod) && pod.metadata.deletionTimestamp === undefined;

const inFull = ({ metadata, spec, status }: Pod): string =>
  `not Ready: ${metadata.name} on ${spec.nodeName ?? 'no node'}, made ${metadata.creationTimestamp}, being deleted ${metadata.deletionTimestamp ?? 'no'}, ${status?.phase} ${JSON.stringify(status?.conditions ?? [])}`;

const asked = ({ pod, code, byOperator, askedAt, entry }: Eviction): string =>
  `eviction of ${pod}${byOperator ? '' : ' (not by the operator)'} asked at ${new Date(askedAt).toISOString()}: ${code} ${entry.responseStatus?.message ?? ''}`;
