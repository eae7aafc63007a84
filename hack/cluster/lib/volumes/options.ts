/** What a cluster with volumes that are really attached and detached can be told. */
import { DEFAULT_SETTINGS, type DriverSettings } from './driver-settings.ts';

/** The driver where none is named. */
export const DISK_DRIVER = 'disk.test.haulout.dev';
/** A driver that every such cluster has: its volumes are never attached, as with NFS, and pods may name them inline. */
export const UNATTACHED_DRIVER = 'unattached.test.haulout.dev';

export interface AttacherOptions {
  /** Operations at a time; 10 by default, as csi-attacher's own. */
  readonly workers?: number;
  /** After which it gives up waiting, and asks again after 1 s, 2 s, 4 s, ...; 15 by default. */
  readonly timeoutSeconds?: number;
  /** The longest time between two attempts; 300 by default. */
  readonly retryMaxSeconds?: number;
}

export interface VolumesOptions {
  /** By name, each with its own process and csi-attacher; one, DISK_DRIVER, where nothing is said. */
  readonly drivers?: Readonly<Record<string, Partial<DriverSettings>>>;
  readonly attacher?: AttacherOptions;
  /** How often a kubelet reports volumesInUse; 1 by default, 10 with real ones. */
  readonly nodeStatusSeconds?: number;
}

export interface VolumesSettings {
  readonly drivers: Readonly<Record<string, DriverSettings>>;
  readonly attacher: Required<AttacherOptions>;
  readonly nodeStatusSeconds: number;
}

export function volumesSettings(options: VolumesOptions): VolumesSettings {
  const drivers = Object.entries(options.drivers ?? { [DISK_DRIVER]: {} });
  return {
    drivers: Object.fromEntries(drivers.map(([name, given]) => [name, { ...DEFAULT_SETTINGS, ...given }])),
    attacher: { workers: 10, timeoutSeconds: 15, retryMaxSeconds: 300, ...options.attacher },
    nodeStatusSeconds: options.nodeStatusSeconds ?? 1,
  };
}

/** What the kubelets process is told. */
export interface VolumeKubeletsSettings {
  readonly drivers: readonly { readonly name: string; readonly maxVolumesPerNode: number }[];
  readonly nodeStatusSeconds: number;
}

export function kubeletsPart({ drivers, nodeStatusSeconds }: VolumesSettings): VolumeKubeletsSettings {
  const attached = Object.entries(drivers).map(([name, { maxVolumesPerNode }]) => ({
    name,
    maxVolumesPerNode,
  }));
  return { drivers: [...attached, { name: UNATTACHED_DRIVER, maxVolumesPerNode: 0 }], nodeStatusSeconds };
}
