import { createHash } from 'node:crypto';
import type { MovingVolume } from '../api/types.generated.ts';
import type { PersistentVolume, Pod } from '../kube/types.ts';

/** A claim that a pod uses, by its name in the pod's namespace. */
export interface ClaimUse {
  readonly claim: string;
  /** Made for this pod, and deleted with it. */
  readonly ephemeral: boolean;
}

/** Inline volumes have no claim, are never attached by themselves, and are not among them. */
export function claimsOf({ metadata, spec }: Pod): ClaimUse[] {
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }): ClaimUse[] => {
    if (persistentVolumeClaim) return [{ claim: persistentVolumeClaim.claimName, ephemeral: false }];
    return ephemeral ? [{ claim: `${metadata.name}-${name}`, ephemeral: true }] : [];
  });
}

/**
 * The volume as something that has to be attached to a node and detached from it; `undefined` where nothing does that
 * (NFS, local disks, CSI drivers with attachRequired false).
 */
export function attachableVolume(
  { claim, ephemeral }: ClaimUse,
  volume: PersistentVolume,
  attachRequired: (driver: string) => boolean,
): MovingVolume | undefined {
  const attacher = attacherOf(volume);
  if (!attacher || (attacher.isCsi && !attachRequired(attacher.driver))) return undefined;
  const { driver, attachedName } = attacher;
  const multiNode = volume.spec.accessModes?.some((mode) => multiNodeModes.includes(mode)) ?? false;
  return {
    persistentVolume: volume.metadata.name,
    claim,
    driver,
    ...(attachedName === undefined ? {} : { attachedName }),
    ...(ephemeral ? { ephemeral } : {}),
    ...(multiNode ? { multiNode } : {}),
  };
}

const multiNodeModes = ['ReadWriteMany', 'ReadOnlyMany'];

interface Attacher {
  readonly driver: string;
  readonly isCsi: boolean;
  /** As in status.volumesAttached of a Node; `undefined` where only its VolumeAttachment can be found. */
  readonly attachedName: string | undefined;
}

/** In-tree volumes that Kubernetes hands over to a CSI driver: k8s.io/csi-translation-lib/plugins. */
const migratedDrivers = {
  awsElasticBlockStore: 'ebs.csi.aws.com',
  azureDisk: 'disk.csi.azure.com',
  cinder: 'cinder.csi.openstack.org',
  gcePersistentDisk: 'pd.csi.storage.gke.io',
  portworxVolume: 'pxd.portworx.com',
  vsphereVolume: 'csi.vsphere.vmware.com',
} as const;

function attacherOf({ spec }: PersistentVolume): Attacher | undefined {
  const { csi, iscsi, fc } = spec;
  if (csi) {
    const attachedName = csiVolumeName(csi.driver, csi.volumeHandle);
    return { driver: csi.driver, isCsi: true, attachedName };
  }
  if (iscsi) {
    const { targetPortal, iqn, lun } = iscsi;
    return inTree('kubernetes.io/iscsi', `${targetPortal}:${iqn}:${lun}`);
  }
  if (fc) {
    // As fmt.Sprintf prints a list in pkg/volume/fc: [a b].
    const wwns = `[${(fc.targetWWNs ?? []).join(' ')}]:${fc.lun ?? 0}`;
    return inTree('kubernetes.io/fc', fc.targetWWNs?.length ? wwns : `[${(fc.wwids ?? []).join(' ')}]`);
  }
  for (const [field, driver] of Object.entries(migratedDrivers)) {
    if (Object.hasOwn(spec, field)) return { driver, isCsi: true, attachedName: undefined };
  }
  return undefined;
}

function inTree(driver: string, name: string): Attacher {
  return { driver, isCsi: false, attachedName: `${driver}/${name}` };
}

function csiVolumeName(driver: string, handle: string): string {
  return `${csiPrefix}${driver}^${handle}`;
}

const csiPrefix = 'kubernetes.io/csi/';

/**
 * The name of the VolumeAttachment that belongs to an entry of status.volumesAttached, as pkg/volume/csi makes it;
 * `undefined` for a volume that has none.
 */
export function attachmentNameOf(attachedName: string, nodeName: string): string | undefined {
  if (!attachedName.startsWith(csiPrefix)) return undefined;
  const rest = attachedName.slice(csiPrefix.length);
  const end = rest.indexOf('^');
  if (end === -1) return undefined;
  const driver = rest.slice(0, end);
  const handle = rest.slice(end + 1);
  return `csi-${createHash('sha256').update(`${handle}${driver}${nodeName}`).digest('hex')}`;
}
