import type { KubeObject, Pod } from '../kube/types.ts';

/** What a maintenance says about one pod of its node. */
export type Verdict =
  /** Belongs to the node: never asked to leave, and not counted. */
  | { readonly kind: 'stays'; readonly why: 'mirror' | 'daemonSet' }
  /** Left alone at the user's wish. */
  | { readonly kind: 'kept'; readonly why: 'podSelector' | 'unmanagedPods' | 'emptyDirPods' }
  /** Has to leave, and must not be evicted: it holds up the drain until somebody acts. */
  | { readonly kind: 'held'; readonly why: 'unmanagedPods' | 'emptyDirPods' }
  | { readonly kind: 'leaves' };

export type PodPolicy = 'Evict' | 'Block' | 'Skip';

export interface PodPolicies {
  readonly selects: (labels: Readonly<Record<string, string>>) => boolean;
  readonly unmanagedPods: PodPolicy;
  readonly emptyDirPods: PodPolicy;
}

/** Whether the DaemonSet with this UID exists; "no" has to be certain, as its pods are evicted then. */
export type DaemonSetExists = (uid: string, namespace: string, name: string) => boolean;

const mirrorAnnotation = 'kubernetes.io/config.mirror';

/**
 * The choice of `kubectl drain --ignore-daemonsets`, pod by pod, with the differences that docs/drain.md lists. Where
 * both policies speak, the more careful one counts: Block before Skip before Evict.
 */
export function judge(pod: Pod, policies: PodPolicies, daemonSetExists: DaemonSetExists): Verdict {
  const permanent = staysByNature(pod, daemonSetExists);
  if (permanent !== undefined) return { kind: 'stays', why: permanent };
  if (!policies.selects(pod.metadata.labels ?? {})) return { kind: 'kept', why: 'podSelector' };
  const protections = protectedBy(pod, policies);
  const held = protections.find(({ policy }) => policy === 'Block');
  if (held) return { kind: 'held', why: held.why };
  const kept = protections.find(({ policy }) => policy === 'Skip');
  if (kept) return { kind: 'kept', why: kept.why };
  return { kind: 'leaves' };
}

/**
 * Whether these policies let the pod be evicted. Unlike `judge` it does not ask whether the pod is selected: a
 * protection that one maintenance asks for is not undone by another one.
 */
export function consentsToEviction(pod: Pod, policies: PodPolicies): boolean {
  return protectedBy(pod, policies).every(({ policy }) => policy === 'Evict');
}

function staysByNature(pod: Pod, daemonSetExists: DaemonSetExists): 'mirror' | 'daemonSet' | undefined {
  if (pod.metadata.annotations?.[mirrorAnnotation] !== undefined) return 'mirror';
  const daemonSet = daemonSetOf(pod);
  return daemonSet && daemonSetExists(daemonSet.uid, daemonSet.namespace, daemonSet.name)
    ? 'daemonSet'
    : undefined;
}

/** The DaemonSet that the pod says it belongs to. */
export function daemonSetOf(pod: Pod): { uid: string; namespace: string; name: string } | undefined {
  const owner = controllerOf(pod);
  if (owner?.kind !== 'DaemonSet' || !owner.apiVersion.startsWith('apps/')) return undefined;
  return { uid: owner.uid, namespace: pod.metadata.namespace ?? '', name: owner.name };
}

function protectedBy(pod: Pod, policies: PodPolicies) {
  // A finished pod has nothing left to lose.
  if (isFinished(pod)) return [];
  const protections: { why: 'unmanagedPods' | 'emptyDirPods'; policy: PodPolicy }[] = [];
  if (hasEmptyDir(pod)) protections.push({ why: 'emptyDirPods', policy: policies.emptyDirPods });
  if (controllerOf(pod) === undefined)
    protections.push({ why: 'unmanagedPods', policy: policies.unmanagedPods });
  return protections;
}

export function controllerOf({ metadata }: KubeObject) {
  return metadata.ownerReferences?.find((owner) => owner.controller === true);
}

export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

export function isTerminating(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

export function hasEmptyDir(pod: Pod): boolean {
  return pod.spec.volumes?.some((volume) => volume.emptyDir !== undefined) ?? false;
}
