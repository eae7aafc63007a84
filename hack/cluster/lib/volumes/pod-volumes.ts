/** Which volumes of a pod are attached to its node: rules only. */
import type { KubeObject } from '../kube-client.ts';

export interface VolumePod extends KubeObject {
  readonly metadata: KubeObject['metadata'] & { readonly namespace: string };
  readonly spec: {
    readonly nodeName?: string;
    readonly volumes?: readonly {
      readonly name: string;
      readonly persistentVolumeClaim?: { readonly claimName: string };
      readonly ephemeral?: object;
    }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

export interface Claim extends KubeObject {
  readonly spec: { readonly volumeName?: string };
  readonly status?: { readonly phase?: string };
}

export interface Volume extends KubeObject {
  readonly spec: { readonly csi?: { readonly driver: string; readonly volumeHandle: string } };
}

export interface CsiDriver extends KubeObject {
  readonly spec: { readonly attachRequired?: boolean };
}

export interface Storage {
  /** By `namespace/name`. */
  readonly claims: ReadonlyMap<string, Claim>;
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly drivers: ReadonlyMap<string, CsiDriver>;
}

/** Names of the pod's claims. One of a generic ephemeral volume is made for the pod, with a name made of both. */
export function claimsOf({ metadata, spec }: VolumePod): string[] {
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim) return persistentVolumeClaim.claimName;
    return ephemeral ? `${metadata.name}-${name}` : [];
  });
}

/** By the names that the node's status has for them; undefined as long as a claim is not bound. */
export function attachedVolumesOf(pod: VolumePod, storage: Storage): string[] | undefined {
  const names: string[] = [];
  for (const claimName of claimsOf(pod)) {
    const claim = storage.claims.get(`${pod.metadata.namespace}/${claimName}`);
    const volume = storage.volumes.get(claim?.spec.volumeName ?? '');
    if (claim?.status?.phase !== 'Bound' || !volume) return undefined;
    const { csi } = volume.spec;
    if (!csi || storage.drivers.get(csi.driver)?.spec.attachRequired === false) continue;
    names.push(`kubernetes.io/csi/${csi.driver}^${csi.volumeHandle}`);
  }
  return names;
}
