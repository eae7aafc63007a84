import { restartedForAnnotation } from '../api/names.ts';
import type { KubeObject } from '../kube/types.ts';

// Which Deployments may be restarted so that a pod leaves its node. Read live and only for pods that are held up.

interface Container {
  readonly ports?: readonly { readonly containerPort?: number; readonly hostPort?: number }[];
}

interface TemplateVolume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly [source: string]: unknown;
}

export interface PodTemplate {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: {
    readonly hostNetwork?: boolean;
    readonly containers?: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly volumes?: readonly TemplateVolume[];
  };
}

export interface Deployment extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly paused?: boolean;
    readonly strategy?: {
      readonly type?: string;
      readonly rollingUpdate?: {
        readonly maxUnavailable?: number | string;
        readonly maxSurge?: number | string;
      };
    };
    readonly template: PodTemplate;
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
    }[];
  };
}

export interface PersistentVolumeClaim extends KubeObject {
  readonly spec?: { readonly accessModes?: readonly string[] };
  readonly status?: { readonly accessModes?: readonly string[] };
}

/** What the API server said of one Deployment whose pod is held up. */
export interface RestartFacts {
  readonly deployment: Deployment;
  /** The one that the pod belongs to. */
  readonly replicaSet: KubeObject;
  /** The claims that its template names; `undefined`: there is none of that name. */
  readonly claims: ReadonlyMap<string, PersistentVolumeClaim | undefined>;
  /** UIDs of the maintenances for which it would be restarted. */
  readonly maintenances: ReadonlySet<string>;
}

export type RestartVerdict =
  /** A restart brings up a replacement first. */
  | { readonly kind: 'safe' }
  /** Restarted for this maintenance, and the rollout goes on: the pod goes with it. */
  | { readonly kind: 'rolling' }
  /** `why`: the end of a sentence that begins with "not restarted:". */
  | { readonly kind: 'no'; readonly why: string };

/** Volumes of the pod itself that one node at a time may have. */
const inlineDisks = [
  'awsElasticBlockStore',
  'azureDisk',
  'cinder',
  'fc',
  'gcePersistentDisk',
  'iscsi',
  'portworxVolume',
  'rbd',
  'vsphereVolume',
];

const revisionAnnotation = 'deployment.kubernetes.io/revision';

/** Whether a rolling restart lets the pod go without anything being short of a pod meanwhile. */
export function restartVerdict(facts: RestartFacts): RestartVerdict {
  const { deployment, replicaSet, maintenances } = facts;
  const { metadata, spec } = deployment;
  const owned = replicaSet.metadata.ownerReferences?.some(
    ({ controller, uid }) => controller === true && uid === metadata.uid,
  );
  if (owned !== true) return no('its ReplicaSet belongs to no Deployment');
  if (metadata.deletionTimestamp !== undefined) return no('the Deployment is being deleted');
  const newest =
    revision(deployment) !== undefined &&
    revision(deployment) === revision(replicaSet) &&
    isObserved(deployment);
  if (restartedFor(deployment).some((uid) => maintenances.has(uid))) {
    if (newest) return no('the Deployment was restarted for this maintenance already');
    if (spec.paused === true) return no('the restarted Deployment is paused');
    return isStuck(deployment)
      ? no('the rollout of the restarted Deployment does not get on')
      : { kind: 'rolling' };
  }
  const why = strategyObjection(deployment) ?? templateObjection(facts) ?? stateObjection(deployment);
  if (why !== undefined) return no(why);
  return newest ? { kind: 'safe' } : no('the pod is not of the newest ReplicaSet');
}

/** UIDs of the maintenances for which the Deployment was restarted. */
export function restartedFor({ spec }: Deployment): readonly string[] {
  const text = spec.template.metadata?.annotations?.[restartedForAnnotation] ?? '';
  return text === '' ? [] : text.split(',');
}

/** Names of the claims that its pods share. */
export function claimNames({ spec }: Deployment): readonly string[] {
  const names = (spec.template.spec?.volumes ?? []).flatMap(
    ({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [],
  );
  return [...new Set(names)];
}

function strategyObjection({ spec }: Deployment): string | undefined {
  const { replicas = 1, paused, strategy = {} } = spec;
  if (paused === true) return 'the Deployment is paused';
  if (strategy.type === 'Recreate') return 'strategy Recreate stops all pods first';
  // What the API server fills in.
  const { maxUnavailable = '25%', maxSurge = '25%' } = strategy.rollingUpdate ?? {};
  const unavailable = resolve(maxUnavailable, replicas, Math.floor);
  const surge = resolve(maxSurge, replicas, Math.ceil);
  if (unavailable === undefined || surge === undefined) return 'its strategy cannot be read';
  if (replicas < 1) return 'the Deployment asks for no pods';
  // Rolling updates do not ask budgets; both 0 means maxUnavailable 1 to the controller.
  if (unavailable > 0)
    return `maxUnavailable ${maxUnavailable} lets a rolling restart take ${unavailable} of ${replicas} pods away first`;
  if (surge < 1) return 'maxSurge 0 leaves no room for a replacement';
  return undefined;
}

function templateObjection({ deployment, claims }: RestartFacts): string | undefined {
  const {
    hostNetwork,
    containers = [],
    initContainers = [],
    volumes = [],
  } = deployment.spec.template.spec ?? {};
  const ports = [...containers, ...initContainers].flatMap((container) => container.ports ?? []);
  if (ports.some(({ hostPort = 0 }) => hostNetwork === true || hostPort > 0))
    return 'its pods use ports of their node';
  const disk = volumes.find((volume) => inlineDisks.some((source) => volume[source] !== undefined));
  if (disk) return `volume ${disk.name} can be used by one pod at a time`;
  for (const [name, claim] of claims) {
    if (!claim) return `claim ${name} does not exist`;
    const modes = claim.status?.accessModes ?? claim.spec?.accessModes ?? [];
    const exclusive = modes.find((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod');
    if (exclusive !== undefined && !modes.includes('ReadWriteMany')) return `claim ${name} is ${exclusive}`;
  }
  return undefined;
}

function stateObjection(deployment: Deployment): string | undefined {
  const { replicas = 1 } = deployment.spec;
  const { replicas: all = 0, updatedReplicas = 0, availableReplicas = 0 } = deployment.status ?? {};
  if (!isObserved(deployment) || updatedReplicas < replicas || all !== replicas)
    return 'a rollout is running';
  if (availableReplicas < replicas) return `${availableReplicas} of ${replicas} pods are available`;
  return undefined;
}

function isObserved({ metadata, status }: Deployment): boolean {
  return (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
}

function isStuck({ status }: Deployment): boolean {
  return (
    status?.conditions?.some(({ type, status: value }) => type === 'Progressing' && value === 'False') ??
    false
  );
}

function revision({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.[revisionAnnotation];
}

/** `undefined`: neither a number nor a percentage. */
function resolve(
  value: number | string,
  replicas: number,
  round: (pods: number) => number,
): number | undefined {
  if (typeof value === 'number') return value;
  const percent = /^(\d+)%$/.exec(value)?.[1];
  return percent === undefined ? undefined : round((Number(percent) * replicas) / 100);
}

function no(why: string): RestartVerdict {
  return { kind: 'no', why };
}
