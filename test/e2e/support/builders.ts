/** Manifests with everything in them that the API server asks for and nothing else. */
import { FAKE_NODE_TAINT, FAKE_NODE_TOLERATION, MADE_FOR } from '../../../hack/cluster/lib/made-for.ts';
import { STOP_DELAY_ANNOTATION } from '../../../hack/cluster/lib/pod-stop.ts';
import { apiVersion, kind } from '../../../src/api/names.ts';
import type { NodeMaintenanceSpec } from '../../../src/api/types.generated.ts';
import type { ClaimTemplate, PodVolume } from './volumes.ts';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly [field: string]: unknown;
  };
  readonly spec?: unknown;
}

export interface PodOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly nodeSelector?: Readonly<Record<string, string>>;
  /** How long it takes to stop, such as `10s`; 1 s unless given. */
  readonly stopsIn?: string;
  /** Ends by itself, successfully, after so long. */
  readonly completesIn?: string;
  readonly gracePeriodSeconds?: number;
  readonly emptyDir?: boolean;
  /** See volumes.ts. */
  readonly volumes?: readonly PodVolume[];
  readonly tolerations?: readonly object[];
  /** Added to the pod's spec as it is. */
  readonly spec?: Readonly<Record<string, unknown>>;
}

export interface WorkloadOptions extends PodOptions {
  readonly replicas?: number;
}

export interface StatefulSetOptions extends WorkloadOptions {
  readonly claimTemplates?: readonly ClaimTemplate[];
}

const COMPLETE_ANNOTATION = 'pod-complete.stage.kwok.x-k8s.io/delay';

function template(name: string, options: PodOptions): { metadata: object; spec: object } {
  const annotations = {
    ...(options.stopsIn === undefined ? {} : { [STOP_DELAY_ANNOTATION]: options.stopsIn }),
    ...(options.completesIn === undefined ? {} : { [COMPLETE_ANNOTATION]: options.completesIn }),
    ...options.annotations,
  };
  const volumes = [
    ...(options.emptyDir === true ? [{ name: 'scratch', emptyDir: {} }] : []),
    ...(options.volumes ?? []),
  ];
  return {
    metadata: {
      labels: { app: name, ...options.labels },
      annotations,
      ...(options.finalizers === undefined ? {} : { finalizers: options.finalizers }),
    },
    spec: {
      ...(options.nodeSelector === undefined ? {} : { nodeSelector: options.nodeSelector }),
      tolerations: [FAKE_NODE_TOLERATION, ...(options.tolerations ?? [])],
      terminationGracePeriodSeconds: options.gracePeriodSeconds ?? 30,
      containers: [{ name: 'main', image: 'example.com/none', imagePullPolicy: 'Never' }],
      ...(volumes.length === 0 ? {} : { volumes }),
      ...options.spec,
    },
  };
}

export function namespace(name: string): Manifest {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { [MADE_FOR]: 'test' } } };
}

export interface NodeOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
  readonly unschedulable?: boolean;
}

/** `isGuest`: beside nodes of somebody, whose pods are kept off it. */
export function fakeNode(name: string, options: NodeOptions, isGuest: boolean): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        // The node lifecycle controller would add it a moment later.
        'beta.kubernetes.io/os': 'linux',
        [MADE_FOR]: 'test',
        ...options.labels,
      },
      annotations: options.annotations ?? {},
    },
    spec: {
      unschedulable: options.unschedulable ?? false,
      taints: [...(isGuest ? [FAKE_NODE_TAINT] : []), ...(options.taints ?? [])],
    },
  };
}

/** A pod that nothing would create again. */
export function barePod(ns: string, name: string, options: PodOptions = {}): Manifest {
  const { metadata, spec } = template(name, options);
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name, namespace: ns }, spec };
}

function workload(group: string, kindOf: string, ns: string, name: string, spec: object): Manifest {
  return { apiVersion: group, kind: kindOf, metadata: { name, namespace: ns }, spec };
}

const selectorOf = (name: string): object => ({ matchLabels: { app: name } });

export function deployment(ns: string, name: string, options: WorkloadOptions = {}): Manifest {
  return workload('apps/v1', 'Deployment', ns, name, {
    replicas: options.replicas ?? 1,
    selector: selectorOf(name),
    template: template(name, options),
  });
}

/** All pods at once, as most tests want them. */
export function statefulSet(ns: string, name: string, options: StatefulSetOptions = {}): Manifest {
  return workload('apps/v1', 'StatefulSet', ns, name, {
    replicas: options.replicas ?? 1,
    serviceName: name,
    podManagementPolicy: 'Parallel',
    selector: selectorOf(name),
    template: template(name, options),
    ...(options.claimTemplates === undefined ? {} : { volumeClaimTemplates: options.claimTemplates }),
  });
}

export function daemonSet(ns: string, name: string, options: PodOptions = {}): Manifest {
  return workload('apps/v1', 'DaemonSet', ns, name, {
    selector: selectorOf(name),
    template: template(name, options),
  });
}

/** Without `completesIn` its pods run for ever. */
export function job(ns: string, name: string, options: WorkloadOptions = {}): Manifest {
  const pod = template(name, options);
  return workload('batch/v1', 'Job', ns, name, {
    completions: options.replicas ?? 1,
    parallelism: options.replicas ?? 1,
    template: { ...pod, spec: { ...pod.spec, restartPolicy: 'Never' } },
  });
}

/** The same with a controller, which must exist: the garbage collector looks for it. */
export function ownedBy(
  owner: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly metadata: { name: string; uid: string };
  },
  manifest: Manifest,
): Manifest {
  const { apiVersion: version, kind: kindOf, metadata } = owner;
  const { name, uid } = metadata;
  const ownerReferences = [{ apiVersion: version, kind: kindOf, name, uid, controller: true }];
  return { ...manifest, metadata: { ...manifest.metadata, ownerReferences } };
}

export interface BudgetOptions {
  /** Label `app` of the pods; the budget's own name unless given. */
  readonly app?: string;
  readonly minAvailable?: number | string;
  readonly maxUnavailable?: number | string;
  readonly unhealthyPodEvictionPolicy?: 'AlwaysAllow' | 'IfHealthyBudget';
}

export function budget(ns: string, name: string, { app, ...options }: BudgetOptions): Manifest {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace: ns },
    spec: { selector: selectorOf(app ?? name), ...options },
  };
}

export function maintenance(
  name: string,
  nodeName: string,
  spec: Omit<NodeMaintenanceSpec, 'nodeName'> = {},
): Manifest {
  return { apiVersion, kind, metadata: { name }, spec: { nodeName, ...spec } };
}
