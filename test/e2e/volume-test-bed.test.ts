/** The bed itself: volumes are attached and detached as on real nodes, so what is tested with it is worth something. */
import { expect, test } from '@jest/globals';
import type { VolumeDriver } from '../../hack/cluster/lib/volumes/driver.ts';
import { summaryOf } from '../../hack/cluster/lib/volumes/driver-log.ts';
import { DISK_DRIVER, UNATTACHED_DRIVER } from '../../hack/cluster/lib/volumes/options.ts';
import type { Pod } from '../../src/kube/types.ts';
import { ownTestBed } from './support/beds.ts';
import type { Manifest } from './support/builders.ts';
import { holdsFor } from './support/eventually.ts';
import type { Island } from './support/island.ts';
import { isReady } from './support/status.ts';
import { claimed, inline } from './support/volumes.ts';

const OTHER_DRIVER = 'other.test.haulout.dev';
const bed = ownTestBed(import.meta.filename, {
  volumes: {
    drivers: { [DISK_DRIVER]: {}, [OTHER_DRIVER]: { perNode: 1 } },
    attacher: { timeoutSeconds: 2, retryMaxSeconds: 2 },
  },
});

const disk = (): VolumeDriver => bed.cluster.volumeDriver(DISK_DRIVER);

/** The nodes that a PersistentVolume is attached to, or should be. */
async function attachedTo(volume: string): Promise<string[]> {
  const attachments = await bed.api.volumeAttachments(volume);
  return attachments.map(({ spec }) => spec.nodeName).toSorted();
}

/** Once a detach was late csi-attacher asks again only after a while: a new pod may be Ready before the old attachment has gone. */
async function attachedOnlyTo(node: string, volume: string): Promise<void> {
  await bed.eventually(
    `${volume} is attached to ${node} only`,
    async () => (await attachedTo(volume)).join() === node,
  );
}

/** One volume, and manifests of it and of a StatefulSet with one pod that has it. */
async function oneDatabase(
  name: string,
): Promise<{ island: Island; spare: string; volume: string; manifests: readonly Manifest[] }> {
  const island = await bed.island(name);
  const [spare] = island.spares as [string];
  const [volume] = island.volumes(1) as [Manifest];
  const database = island.statefulSet('db', { claimTemplates: [island.claimTemplate('data')] });
  return { island, spare, volume: volume.metadata.name, manifests: [volume, database] };
}

async function evictAll({ node }: Island): Promise<void> {
  await bed.kubectl.run(['drain', node, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=60s']);
}

async function readyOn(node: string, { namespace }: Island, count = 1): Promise<readonly Pod[]> {
  return bed.eventually(`${count} pods are Ready on ${node}`, async () => {
    const pods = (await bed.api.podsOnNode(node)).filter(({ metadata }) => metadata.namespace === namespace);
    return pods.length === count && pods.every(isReady) && pods;
  });
}

const whatHappenedTo = (volume: string): string[] =>
  disk()
    .events()
    .filter((event) => event.volume === volume && event.what !== 'started' && event.what !== 'gaveUp')
    .map(({ operation, node, what }) => `${operation} ${node} ${what}`);

test.concurrent('a pod is not Ready before its volume is attached', async () => {
  const { island, volume, manifests } = await oneDatabase('attach');
  disk().trouble({ operation: 'attach', volume, does: 'hang' });
  const placed = bed.place(island, ...manifests);
  await bed.eventually('the volume is being attached', () => whatHappenedTo(volume).length > 0);
  await holdsFor(3000, 'the pod is not Ready', async () => {
    const pods = await bed.api.pods(island.namespace);
    return pods.length === 1 && pods.every((pod) => !isReady(pod));
  });
  disk().heal(volume);
  const [pod] = await placed;
  expect(pod?.spec.nodeName).toBe(island.node);
  expect(await attachedTo(volume)).toEqual([island.node]);
  expect(disk().summary().timeouts).toBeGreaterThan(0);
  expect(whatHappenedTo(volume)).toEqual([`attach ${island.node} asked`, `attach ${island.node} ended`]);
});

test.concurrent('the volume of an evicted pod is detached, then attached elsewhere, then the new pod is Ready', async () => {
  const { island, spare, volume, manifests } = await oneDatabase('move');
  const { node } = island;
  await bed.place(island, ...manifests);
  await evictAll(island);
  await readyOn(spare, island);
  expect(await attachedTo(volume)).toEqual([spare]);
  expect(whatHappenedTo(volume)).toEqual(
    [`attach ${node}`, `detach ${node}`, `attach ${spare}`].flatMap((what) => [
      `${what} asked`,
      `${what} ended`,
    ]),
  );
});

test.concurrent('a detach that hangs keeps the attachment and the new pod waiting until it is healed', async () => {
  const { island, spare, volume, manifests } = await oneDatabase('hang');
  const { node, namespace } = island;
  await bed.place(island, ...manifests);
  disk().trouble({ operation: 'detach', volume, does: 'hang' });
  await evictAll(island);
  await bed.eventually('csi-attacher has given up once', async () => {
    const old = (await bed.api.volumeAttachments(volume)).find(({ spec }) => spec.nodeName === node);
    const events = disk().events();
    const gaveUp = events.some(
      ({ what, operation, ...is }) => what === 'gaveUp' && operation === 'detach' && is.volume === volume,
    );
    return gaveUp && old?.metadata.deletionTimestamp !== undefined;
  });
  await holdsFor(3000, 'the new pod waits', async () => {
    const pods = await bed.api.pods(namespace);
    return pods.every((pod) => !isReady(pod)) && (await attachedTo(volume)).includes(node);
  });
  disk().heal(volume);
  await readyOn(spare, island);
  await attachedOnlyTo(spare, volume);
});

test.concurrent('a detach that fails is tried again', async () => {
  const { island, spare, volume, manifests } = await oneDatabase('fail');
  await bed.place(island, ...manifests);
  disk().trouble({ operation: 'detach', volume, does: 'fail' });
  await evictAll(island);
  await bed.eventually('it has failed twice', () => disk().summary().failures >= 2);
  disk().heal(volume);
  await readyOn(spare, island);
  await attachedOnlyTo(spare, volume);
});

test.concurrent('a shared volume is attached to two nodes', async () => {
  const island = await bed.island('shared');
  const [volume] = island.volumes(1, { isShared: true }) as [Manifest];
  await bed.place(
    island,
    volume,
    island.claim('common', { isShared: true }),
    island.daemonSet('reader', { volumes: [claimed('common')] }),
  );
  expect(await attachedTo(volume.metadata.name)).toEqual(island.nodes.toSorted());
  expect(disk().summary().attached.get(volume.metadata.name)).toEqual(new Set(island.nodes));
});

test.concurrent('an ephemeral volume is replaced by another, and what is not attached is not waited for', async () => {
  const island = await bed.island('kinds');
  const [spare] = island.spares as [string];
  const volumes = island.volumes(2);
  const far = island.volumes(1, { driver: UNATTACHED_DRIVER, isShared: true });
  await bed.place(
    island,
    ...volumes,
    ...far,
    island.claim('far', { driver: UNATTACHED_DRIVER, isShared: true }),
    island.deployment('web', { volumes: [island.ephemeral('scratch'), claimed('far'), inline('secret')] }),
  );
  const names = volumes.map(({ metadata }) => metadata.name);
  const used = async (): Promise<string[]> => {
    const attachments = await Promise.all(names.map(attachedTo));
    return attachments.map((nodes) => nodes.join());
  };
  expect((await used()).toSorted()).toEqual(['', island.node]);
  await evictAll(island);
  await readyOn(spare, island);
  await bed.eventually('the old volume is detached', async () => {
    expect((await used()).toSorted()).toEqual(['', spare]);
    return true;
  });
  expect(await Promise.all(far.map(async ({ metadata }) => attachedTo(metadata.name)))).toEqual([[]]);
});

test.concurrent('one driver does not hold up the other', async () => {
  const island = await bed.island('two');
  const [spare] = island.spares as [string];
  const mine = { driver: OTHER_DRIVER };
  const [volume] = island.volumes(1) as [Manifest];
  await bed.place(
    island,
    volume,
    ...island.volumes(1, mine),
    island.statefulSet('slow', { claimTemplates: [island.claimTemplate('data')] }),
    island.statefulSet('quick', { claimTemplates: [island.claimTemplate('data', mine)] }),
  );
  disk().trouble({ operation: 'detach', volume: volume.metadata.name, does: 'hang' });
  await evictAll(island);
  const [pod] = await bed.eventually('one of them is Ready again', async () => {
    const pods = (await bed.api.podsOnNode(spare)).filter(isReady);
    return pods.length > 0 && pods;
  });
  expect(pod?.metadata.name).toBe('quick-0');
  disk().heal(volume.metadata.name);
  await readyOn(spare, island, 2);
});

test.concurrent('a driver takes one operation per node at a time where it is told to', async () => {
  const island = await bed.island('queue');
  const mine = { driver: OTHER_DRIVER };
  const database = island.statefulSet('db', {
    replicas: 3,
    claimTemplates: [island.claimTemplate('data', mine)],
  });
  await bed.place(island, ...island.volumes(3, mine), database);
  const events = bed.cluster.volumeDriver(OTHER_DRIVER).events();
  const { mostPending, mostRunning, attached } = summaryOf(events.filter(({ node }) => node === island.node));
  expect(attached.size).toBe(3);
  expect(mostPending).toBeGreaterThan(1);
  expect(mostRunning).toBe(1);
});
