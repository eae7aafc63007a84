import { expect, test } from '@jest/globals';
import type { PersistentVolume } from '../../../src/kube/types.ts';
import { attachableVolume, attachmentNameOf, claimsOf } from '../../../src/volumes/attachable.ts';
import { pod } from '../../fixtures/objects.ts';
import { persistentVolume } from '../../fixtures/volumes.ts';

const use = { claim: 'data', ephemeral: false };
const all = () => true;

const cases: Record<string, [PersistentVolume['spec'], object | undefined]> = {
  CSI: [
    { csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1' } },
    { driver: 'ebs.csi.aws.com', attachedName: 'kubernetes.io/csi/ebs.csi.aws.com^vol-1' },
  ],
  'CSI that is not attached': [{ csi: { driver: 'nfs.csi.k8s.io', volumeHandle: 'x' } }, undefined],
  iSCSI: [
    { iscsi: { targetPortal: '10.0.0.1:3260', iqn: 'iqn.2001-04.com.example:x', lun: 0 } },
    {
      driver: 'kubernetes.io/iscsi',
      attachedName: 'kubernetes.io/iscsi/10.0.0.1:3260:iqn.2001-04.com.example:x:0',
    },
  ],
  'Fibre Channel by target': [
    { fc: { targetWWNs: ['a', 'b'], lun: 2 } },
    { driver: 'kubernetes.io/fc', attachedName: 'kubernetes.io/fc/[a b]:2' },
  ],
  'Fibre Channel by volume': [
    { fc: { wwids: ['w'] } },
    { driver: 'kubernetes.io/fc', attachedName: 'kubernetes.io/fc/[w]' },
  ],
  'in-tree, handed over to a CSI driver': [
    { awsElasticBlockStore: { volumeID: 'vol-1' } },
    { driver: 'ebs.csi.aws.com' },
  ],
  'nothing that is attached (NFS, local, hostPath)': [{}, undefined],
};

test.each(Object.entries(cases))('%s', (_, [spec, found]) => {
  const volume = attachableVolume(use, persistentVolume(spec), (driver) => driver !== 'nfs.csi.k8s.io');
  expect(volume).toEqual(found && { persistentVolume: 'pv-a', claim: 'data', ...found });
});

test('a migrated in-tree volume follows its CSI driver', () => {
  const spec = { azureDisk: { diskURI: 'x' } };
  expect(attachableVolume(use, persistentVolume(spec), () => false)).toBeUndefined();
});

test.each([
  [['ReadWriteOnce'], undefined],
  [['ReadWriteOncePod'], undefined],
  [['ReadWriteOnce', 'ReadWriteMany'], true],
  [['ReadOnlyMany'], true],
])('%s: may be attached to several nodes: %s', (accessModes, multiNode) => {
  const spec = { accessModes, csi: { driver: 'd', volumeHandle: 'h' } };
  expect(attachableVolume(use, persistentVolume(spec), all)?.multiNode).toBe(multiNode);
});

test('claims of a pod: by name, and those that are made for it', () => {
  const volumes = [
    { name: 'a', persistentVolumeClaim: { claimName: 'data' } },
    { name: 'scratch', ephemeral: {} },
    { name: 'tmp', emptyDir: {} },
  ];
  const plain = pod('db-0');
  expect(claimsOf({ ...plain, spec: { ...plain.spec, volumes } })).toEqual([
    { claim: 'data', ephemeral: false },
    { claim: 'db-0-scratch', ephemeral: true },
  ]);
});

test('the VolumeAttachment of an entry of volumesAttached', () => {
  // As the attach-detach controller called it: csi- and the SHA-256 of handle, driver and node.
  expect(attachmentNameOf('kubernetes.io/csi/d.example.com^vol^1', 'n1')).toBe(
    'csi-a8eed58ea515b530f169322a31e7c3c809de84ccf9198d33519ff678ddeefb17',
  );
  expect(attachmentNameOf('kubernetes.io/iscsi/x', 'n1')).toBeUndefined();
  expect(attachmentNameOf('kubernetes.io/csi/no-handle', 'n1')).toBeUndefined();
});
