/** Manifests of volumes, for beds with `volumes`. */
import { DISK_DRIVER, UNATTACHED_DRIVER } from '../../../hack/cluster/lib/volumes/options.ts';
import type { Manifest } from './builders.ts';

export interface VolumeOptions {
  /** Of the volume and of its class, which has the same name; DISK_DRIVER unless given. */
  readonly driver?: string;
  /** ReadWriteMany instead of ReadWriteOnce. */
  readonly isShared?: boolean;
  /** Of the volume; a claim is only bound to one that has them. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** In a pod's spec. */
export interface PodVolume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly ephemeral?: { readonly volumeClaimTemplate: { readonly spec: object } };
  readonly csi?: { readonly driver: string };
}

export interface ClaimTemplate {
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

const SIZE = { storage: '1Gi' };

const accessModes = ({ isShared }: VolumeOptions): string[] => [
  isShared === true ? 'ReadWriteMany' : 'ReadWriteOnce',
];

/** Its handle, by which the driver knows it, is its name. */
export function persistentVolume(name: string, options: VolumeOptions = {}): Manifest {
  const { driver = DISK_DRIVER, labels = {} } = options;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name, labels },
    spec: {
      capacity: SIZE,
      accessModes: accessModes(options),
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: driver,
      csi: { driver, volumeHandle: name },
    },
  };
}

function claimSpec(options: VolumeOptions): object {
  return {
    accessModes: accessModes(options),
    storageClassName: options.driver ?? DISK_DRIVER,
    selector: { matchLabels: options.labels ?? {} },
    resources: { requests: SIZE },
  };
}

export function claim(ns: string, name: string, options: VolumeOptions = {}): Manifest {
  const metadata = { name, namespace: ns };
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: claimSpec(options) };
}

/** For `claimTemplates` of a StatefulSet, whose pods then have a volume of this name. */
export function claimTemplate(name: string, options: VolumeOptions = {}): ClaimTemplate {
  return { metadata: { name }, spec: claimSpec(options) };
}

/** The volume of a claim that is there. */
export function claimed(claimName: string): PodVolume {
  return { name: claimName, persistentVolumeClaim: { claimName } };
}

/** A generic ephemeral volume: a claim that is made for the pod and goes with it. */
export function ephemeral(name: string, options: VolumeOptions = {}): PodVolume {
  return { name, ephemeral: { volumeClaimTemplate: { spec: claimSpec(options) } } };
}

/** A volume of CSI without a claim: there is nothing to attach. */
export function inline(name: string, driver: string = UNATTACHED_DRIVER): PodVolume {
  return { name, csi: { driver } };
}
