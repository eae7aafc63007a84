/** A cluster as lists of the API server show it, as far as the checks at rest look. */
import type { Selector } from './selector.ts';

interface Meta {
  readonly name: string;
  readonly namespace?: string;
  readonly generation?: number;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly { readonly kind: string; readonly controller?: boolean }[];
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
}

export interface StateNode {
  readonly metadata: Meta;
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export interface StatePod {
  readonly metadata: Meta;
  readonly spec: {
    readonly nodeName?: string;
    readonly volumes?: readonly {
      readonly name?: string;
      readonly emptyDir?: object;
      readonly ephemeral?: object;
      readonly persistentVolumeClaim?: { readonly claimName: string };
    }[];
  };
  readonly status?: { readonly phase?: string; readonly conditions?: readonly Condition[] };
}

export interface StateBudget {
  readonly metadata: Meta;
  readonly spec: { readonly selector?: Selector };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly disruptionsAllowed?: number;
    readonly desiredHealthy?: number;
    readonly expectedPods?: number;
  };
}

export interface StateMaintenance {
  readonly metadata: Meta;
  readonly spec: {
    readonly nodeName: string;
    readonly nodeDrainPolicy?: string;
    readonly nodeDeletePolicy?: string;
    readonly suspend?: boolean;
    readonly drain?: {
      readonly skipWaitForDeleteTimeoutSeconds?: number;
      readonly podSelector?: Selector;
      readonly unmanagedPods?: string;
      readonly emptyDirPods?: string;
      readonly timeoutSeconds?: number;
      readonly onTimeout?: string;
      readonly deleteBlockedAfterSeconds?: number;
      readonly unsatisfiableBudgets?: string;
      readonly blockedDeployments?: string;
    };
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
    readonly blockersTotal?: number;
    readonly blockers?: readonly {
      readonly cause: string;
      readonly pod: { readonly namespace: string; readonly name: string };
    }[];
  };
}

export interface StateAttachment {
  readonly spec: { readonly nodeName: string; readonly source?: { readonly persistentVolumeName?: string } };
}

export interface StateClaim {
  readonly metadata: Meta;
  readonly spec: { readonly volumeName?: string };
}

export interface ClusterState {
  readonly nodes: readonly StateNode[];
  readonly maintenances: readonly StateMaintenance[];
  readonly pods: readonly StatePod[];
  readonly budgets: readonly StateBudget[];
  readonly attachments: readonly StateAttachment[];
  readonly claims: readonly StateClaim[];
  readonly namespaces: readonly { readonly metadata: Meta }[];
}

export const said = ({ status }: StateMaintenance, type: string): Condition | undefined =>
  status?.conditions?.find((one) => one.type === type);

export const keyOf = ({ metadata }: { readonly metadata: Meta }): string =>
  `${metadata.namespace}/${metadata.name}`;

export const nodeOf = (
  { spec }: StateMaintenance,
  { nodes }: Pick<ClusterState, 'nodes'>,
): StateNode | undefined => nodes.find(({ metadata }) => metadata.name === spec.nodeName);
