// What deciding where a pod can run needs of Nodes and pods, beyond what the operator keeps in memory (kube/trim.ts).
import type { Node, Pod } from '../kube/types.ts';

export type ResourceList = Readonly<Record<string, string>>;

export interface Container {
  readonly resources?: { readonly requests?: ResourceList };
  /** Of an init container: `Always` makes it a sidecar. */
  readonly restartPolicy?: string;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

export interface NodeRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeRequirement[];
  readonly matchFields?: readonly NodeRequirement[];
}

/** A pod with all that decides on which node it can run. */
export interface RoomyPod extends Pod {
  readonly spec: Pod['spec'] & {
    readonly containers?: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly overhead?: ResourceList;
    /** Requests of the pod as a whole: they count instead of the sums of its containers. */
    readonly resources?: { readonly requests?: ResourceList };
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly tolerations?: readonly Toleration[];
    readonly affinity?: {
      readonly nodeAffinity?: {
        readonly requiredDuringSchedulingIgnoredDuringExecution?: {
          readonly nodeSelectorTerms?: readonly NodeSelectorTerm[];
        };
      };
    };
  };
}

/** A Node with what it has to give. */
export interface RoomyNode extends Node {
  readonly status?: NonNullable<Node['status']> & { readonly allocatable?: ResourceList };
}
