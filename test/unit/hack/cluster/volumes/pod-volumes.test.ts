import { expect, test } from '@jest/globals';
import {
  attachedVolumesOf,
  type Claim,
  claimsOf,
  type CsiDriver,
  type Volume,
  type VolumePod,
} from '../../../../../hack/cluster/lib/volumes/pod-volumes.ts';

const named = (name: string): { metadata: { name: string; uid: string } } => ({
  metadata: { name, uid: name },
});

const pod: VolumePod = {
  metadata: { name: 'db-0', namespace: 'shop', uid: 'u' },
  spec: {
    nodeName: 'a',
    volumes: [
      { name: 'data', persistentVolumeClaim: { claimName: 'data-db-0' } },
      { name: 'scratch', ephemeral: {} },
      { name: 'token' },
    ],
  },
};

const volume = (name: string, driver: string): [string, Volume] => [
  name,
  { ...named(name), spec: { csi: { driver, volumeHandle: `handle-${name}` } } },
];
const claim = (name: string, volumeName: string, phase = 'Bound'): [string, Claim] => [
  `shop/${name}`,
  { ...named(name), spec: { volumeName }, status: { phase } },
];
const drivers = new Map<string, CsiDriver>([
  ['disk', { ...named('disk'), spec: { attachRequired: true } }],
  ['nfs', { ...named('nfs'), spec: { attachRequired: false } }],
]);

test('claims are those that are named and those that are made for the pod', () => {
  expect(claimsOf(pod)).toEqual(['data-db-0', 'db-0-scratch']);
  expect(claimsOf({ ...pod, spec: {} })).toEqual([]);
});

test.each([
  ['a disk and NFS', 'disk', 'nfs', ['kubernetes.io/csi/disk^handle-v']],
  [
    'a driver that nobody has described is attached',
    'disk',
    'other',
    ['kubernetes.io/csi/disk^handle-v', 'kubernetes.io/csi/other^handle-w'],
  ],
])('attached volumes: %s', (_, first, second, expected) => {
  const claims = new Map([claim('data-db-0', 'v'), claim('db-0-scratch', 'w')]);
  const volumes = new Map([volume('v', first), volume('w', second)]);
  expect(attachedVolumesOf(pod, { claims, volumes, drivers })).toEqual(expected);
});

test('nothing is known before all claims are bound', () => {
  const volumes = new Map([volume('v', 'disk'), volume('w', 'disk')]);
  const bound = claim('data-db-0', 'v');
  expect(attachedVolumesOf(pod, { claims: new Map([bound]), volumes, drivers })).toBeUndefined();
  const claims = new Map([bound, claim('db-0-scratch', 'w', 'Pending')]);
  expect(attachedVolumesOf(pod, { claims, volumes, drivers })).toBeUndefined();
});
