import { expect, test } from '@jest/globals';
import type { Answer } from '../../../src/kube/answer.ts';
import { VolumeRegister } from '../../../src/maintenance/volume-register.ts';
import { FakeClock } from '../../fixtures/fake-clock.ts';
import { pod } from '../../fixtures/objects.ts';
import { ScriptedClient } from '../../fixtures/scripted-client.ts';
import { persistentVolume, withClaims } from '../../fixtures/volumes.ts';

const claimPath = '/api/v1/namespaces/shop/persistentvolumeclaims/data';
const volumePath = '/api/v1/persistentvolumes/pv-a';
const disk = persistentVolume({ csi: { driver: 'disk.example.com', volumeHandle: 'vol-a' } });
const found: Record<string, Answer> = {
  [claimPath]: { kind: 'ok', object: { metadata: { name: 'data' }, spec: { volumeName: 'pv-a' } } },
  [volumePath]: { kind: 'ok', object: disk },
};
const refused: Answer = { kind: 'forbidden', message: 'not allowed to get persistentvolumes' };
const db = withClaims(pod('db-0'), 'data');

function setUp(answers: Record<string, Answer>, attachRequired = (_driver: string) => true) {
  const clock = new FakeClock();
  const script = { ...answers };
  const client = new ScriptedClient(({ path }) => script[path] ?? { kind: 'notFound', message: 'no' });
  const told: string[] = [];
  const register = new VolumeRegister({
    client,
    clock,
    attachRequired: (driver) => attachRequired(driver),
    onChange: (nodeName) => told.push(nodeName),
  });
  return { clock, script, client, told, register };
}

test('volumes are known after one look at the claim and one at the volume, and not looked at again', async () => {
  const { clock, client, told, register } = setUp(found);
  expect(register.volumesOf(db)).toEqual({ kind: 'unknown', problem: undefined });
  await clock.advance(60_000);
  expect(register.volumesOf(db)).toMatchObject({
    kind: 'known',
    volumes: [{ persistentVolume: 'pv-a', claim: 'data', driver: 'disk.example.com' }],
  });
  expect(told).toEqual(['n1']);
  expect(client.requests.map(({ path }) => path)).toEqual([claimPath, volumePath]);
});

test('a failed look says why, and is repeated', async () => {
  const { clock, script, told, register } = setUp({ ...found, [volumePath]: refused });
  register.volumesOf(db);
  await clock.advance(10);
  expect(register.volumesOf(db)).toEqual({
    kind: 'unknown',
    problem: 'not allowed to get persistentvolumes',
  });
  script[volumePath] = { kind: 'ok', object: disk };
  await clock.advance(1_000);
  expect(register.volumesOf(db)).toMatchObject({ kind: 'known', volumes: [{ persistentVolume: 'pv-a' }] });
  expect(told).toEqual(['n1', 'n1']);
});

test('a claim that is not bound yet has nothing attached; it is looked at again', async () => {
  const { clock, script, register } = setUp({
    ...found,
    [claimPath]: { kind: 'ok', object: { metadata: { name: 'data' } } },
  });
  register.volumesOf(db);
  await clock.advance(10);
  expect(register.volumesOf(db)).toEqual({ kind: 'known', volumes: [] });
  Object.assign(script, found);
  await clock.advance(5_000);
  expect(register.volumesOf(db)).toMatchObject({ volumes: [{ persistentVolume: 'pv-a' }] });
});

test('whether a driver attaches may change', async () => {
  let attaches = true;
  const { clock, register } = setUp(found, () => attaches);
  register.volumesOf(db);
  await clock.advance(10);
  attaches = false;
  expect(register.volumesOf(db)).toEqual({ kind: 'known', volumes: [] });
});

test('a pod without claims is known at once; one that is gone is not looked at again', async () => {
  const { clock, client, told, register } = setUp({ [claimPath]: refused });
  expect(register.volumesOf(pod('web'))).toEqual({ kind: 'known', volumes: [] });
  register.volumesOf(db);
  register.forget(db.metadata.uid);
  await clock.advance(60_000);
  expect(client.requests).toHaveLength(1);
  expect(told).toEqual([]);
});

test('after the stop nothing is asked any more', async () => {
  const { clock, client, register } = setUp({ [claimPath]: refused });
  register.volumesOf(db);
  await clock.advance(10);
  register.stop();
  await clock.advance(60_000);
  expect(client.requests).toHaveLength(1);
});
