/** The little of the API that the demo looks at. */

interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
  readonly ownerReferences?: readonly { readonly kind: string; readonly controller?: boolean }[];
}

export interface Pod {
  readonly metadata: Metadata;
  readonly spec: { readonly nodeName?: string };
  readonly status?: { readonly phase?: string };
}

export interface Blocker {
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid?: string };
  readonly cause: string;
  readonly message: string;
  readonly nextStep?: string;
}

export interface Maintenance {
  readonly metadata: Metadata;
  readonly status?: {
    readonly phase?: string;
    readonly drain?: {
      readonly progress?: string;
      readonly pods?: { readonly total: number; readonly gone: number; readonly remaining: number };
    };
    readonly blockers?: readonly Blocker[];
    readonly blockersTotal?: number;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
}

export interface List<T> {
  readonly items: readonly T[];
}

export function isOfDaemonSet(pod: Pod): boolean {
  return (
    pod.metadata.ownerReferences?.some((owner) => owner.controller && owner.kind === 'DaemonSet') ?? false
  );
}

/** The workload that the pod is part of, by the label that the examples give it. */
export function workloadOf(pod: Pod): string {
  return pod.metadata.labels?.['app'] ?? pod.metadata.name;
}

export function conditionOf(maintenance: Maintenance | undefined, type: string) {
  return maintenance?.status?.conditions?.find((condition) => condition.type === type);
}
