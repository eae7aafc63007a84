// Volumes are really attached and detached here (hack/cluster/README.md): pods leave at the pace of their volumes.
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { VolumeDriver } from '../../hack/cluster/lib/volumes/driver.ts';
import { DISK_DRIVER, UNATTACHED_DRIVER } from '../../hack/cluster/lib/volumes/options.ts';
import type { NodeMaintenanceSpec } from '../../src/api/types.generated.ts';
import { ownTestBed } from './support/beds.ts';
import type { Manifest } from './support/builders.ts';
import type { Island } from './support/island.ts';
import type { OperatorProcess } from './support/operator-process.ts';
import { isReady, said } from './support/status.ts';
import { claimed, inline } from './support/volumes.ts';

const OTHER_DRIVER = 'other.test.haulout.dev';
/** As the fake kubelets report volumesInUse each second, a move takes some four. */
const quick = { attachSeconds: 0.3, detachSeconds: 0.3 };
const bed = ownTestBed(import.meta.filename, {
  volumes: {
    drivers: { [DISK_DRIVER]: quick, [OTHER_DRIVER]: quick },
    attacher: { timeoutSeconds: 2, retryMaxSeconds: 2 },
  },
});

let operator: OperatorProcess;
beforeAll(async () => startOperator(), 60_000);

async function startOperator(): Promise<void> {
  operator = await bed.startOperator({ flags: ['--max-unavailable-nodes=100%'] });
}

const disk = (): VolumeDriver => bed.cluster.volumeDriver(DISK_DRIVER);

/** As many volumes as pods, and a StatefulSet that has them. */
function database(island: Island, replicas: number, driver: string = DISK_DRIVER): Manifest[] {
  const claimTemplates = [island.claimTemplate('data', { driver })];
  const name = driver === DISK_DRIVER ? 'db' : 'other';
  return [
    ...island.volumes(replicas, { driver }),
    island.statefulSet(name, { replicas, claimTemplates, stopsIn: '0.5s' }),
  ];
}

async function volumeOf(island: Island, claim: string): Promise<string> {
  const path = `/api/v1/namespaces/${island.namespace}/persistentvolumeclaims/${claim}`;
  const found = await bed.api.get<{ spec: { volumeName: string } }>(path);
  return found.spec.volumeName;
}

function drain(
  island: Island,
  volumes: NonNullable<NonNullable<NodeMaintenanceSpec['drain']>['volumes']> = {},
) {
  return bed.maintain(island.node, { drain: { volumes } });
}

/** What happened to the pods and volumes of an island, in the order of the clock. */
async function storyOf(island: Island, pods: readonly string[]): Promise<string[]> {
  const claims = await Promise.all(
    pods.map(async (pod) => [await volumeOf(island, `data-${pod}`), pod] as const),
  );
  const podOf = new Map(claims);
  const evicted = bed.audit
    .accepted(island.namespace)
    .map(({ pod, answeredAt }) => ({ at: answeredAt, what: `${pod} evicted` }));
  const drivers = [DISK_DRIVER, OTHER_DRIVER].flatMap((name) => bed.cluster.volumeDriver(name).events());
  const moved = drivers
    .filter(({ what, volume }) => what === 'ended' && podOf.has(volume))
    .map(({ at, operation, volume }) => ({ at, what: `${podOf.get(volume) ?? ''} ${operation}ed` }));
  const first = Math.min(...evicted.map(({ at }) => at));
  return [...evicted, ...moved]
    .filter(({ at }) => at >= first)
    .toSorted((a, b) => a.at - b.at)
    .map(({ what }) => what);
}

/** How many of the pods were on their way at the same time, by that story. */
function mostOnTheWay(story: readonly string[]): number {
  const moving = new Set<string>();
  let most = 0;
  for (const line of story) {
    const [pod = '', what] = line.split(' ');
    if (what === 'evicted') moving.add(pod);
    if (what === 'attached') moving.delete(pod);
    most = Math.max(most, moving.size);
  }
  return most;
}

describe('the lane of a driver', () => {
  test.concurrent('one after the other, and pods without volumes do not wait', async () => {
    const island = await bed.island('one');
    await bed.place(island, ...database(island, 3), island.deployment('web', { replicas: 3 }));
    await drain(island);
    await bed.untilSaid(island.node, 'Ready', 'True/Drained', { timeoutMs: 90_000 });
    const pods = ['db-0', 'db-1', 'db-2'];
    const story = await storyOf(island, pods);
    const moved = story.filter((line) => line.startsWith('db'));
    expect(mostOnTheWay(moved)).toBe(1);
    const steps = ['evicted', 'detached', 'attached'];
    // Nobody waits for the last volume to be attached: nothing comes after it.
    expect(moved.slice(0, 8)).toEqual(
      pods.flatMap((pod) => steps.map((step) => `${pod} ${step}`)).slice(0, 8),
    );
    // All of them before the second pod with a volume.
    const second = story.findIndex((line, index) => index > 0 && line === 'db-1 evicted');
    expect(story.slice(0, second).filter((line) => line.startsWith('web'))).toHaveLength(3);
  });

  test.concurrent('as many at a time as maxConcurrent says', async () => {
    const island = await bed.island('two');
    await bed.place(island, ...database(island, 4));
    await drain(island, { maxConcurrent: 2 });
    await bed.untilSaid(island.node, 'Ready', 'True/Drained', { timeoutMs: 90_000 });
    expect(mostOnTheWay(await storyOf(island, ['db-0', 'db-1', 'db-2', 'db-3']))).toBe(2);
  });

  test.concurrent('each driver has its own; a hanging detach of one does not hold up the other', async () => {
    const island = await bed.island('drivers');
    await bed.place(island, ...database(island, 2), ...database(island, 2, OTHER_DRIVER));
    const volume = await volumeOf(island, 'data-db-0');
    disk().trouble({ operation: 'detach', volume, does: 'hang' });
    await drain(island);
    await bed.eventually('the pods of the other driver are gone, and one of this one', async () => {
      const left = await bed.api.podsOnNode(island.node);
      return left.map(({ metadata }) => metadata.name).join() === 'db-1';
    });
    const { status } = await bed.maintenance(island.node);
    expect(status?.conditions?.find(({ type }) => type === 'Ready')?.message).toContain(
      `waiting for ${volume} of ${island.namespace}/db-0 to be detached`,
    );
    disk().heal(volume);
    await bed.untilSaid(island.node, 'Ready', 'True/Drained');
  });

  test.concurrent('highest priority first', async () => {
    const island = await bed.island('priority');
    const name = `${island.name}-high`;
    await bed.api.create('/apis/scheduling.k8s.io/v1/priorityclasses', {
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name },
      value: 1000,
    });
    const claims = [island.claimTemplate('data')];
    const important = island.statefulSet('high', {
      claimTemplates: claims,
      spec: { priorityClassName: name },
    });
    await bed.place(island, ...database(island, 1), ...island.volumes(1), important);
    await drain(island);
    await bed.untilSaid(island.node, 'Ready', 'True/Drained');
    const order = bed.audit.accepted(island.namespace).map(({ pod }) => pod);
    expect(order).toEqual(['high-0', 'db-0']);
  });

  test.concurrent('status names the volumes before the pod is evicted', async () => {
    const island = await bed.island('noted');
    await bed.place(island, ...database(island, 2));
    await drain(island);
    await bed.untilSaid(island.node, 'Ready', 'True/Drained');
    const writes = bed.audit.entries({
      resource: 'nodemaintenances',
      subresource: 'status',
      name: island.node,
    });
    for (const { pod, uid, askedAt } of bed.audit.accepted(island.namespace)) {
      const before = writes.filter(({ stageTimestamp }) => Date.parse(stageTimestamp) <= askedAt);
      const noted = JSON.stringify(before.map(({ requestObject }) => requestObject));
      expect(noted).toContain(uid);
      expect(noted).toContain(await volumeOf(island, `data-${pod}`));
    }
  });

  test.concurrent('a budget that says no does not keep the place from others', async () => {
    const island = await bed.island('refused');
    const claims = [island.claimTemplate('data')];
    const blocked = island.statefulSet('aaa', { claimTemplates: claims });
    await bed.place(
      island,
      ...database(island, 1),
      ...island.volumes(1),
      blocked,
      island.budget('aaa', { minAvailable: 1 }),
    );
    await drain(island);
    await bed.eventually('only the pod that its budget holds up is left', async () => {
      const left = await bed.api.podsOnNode(island.node);
      return left.map(({ metadata }) => metadata.name).join() === 'aaa-0';
    });
    await bed.api.remove(`/apis/policy/v1/namespaces/${island.namespace}/poddisruptionbudgets/aaa`);
    await bed.untilSaid(island.node, 'Ready', 'True/Drained');
  });
});

describe('the wait for a volume ends', () => {
  test.concurrent('when detaching takes too long: the drain goes on and says so', async () => {
    const island = await bed.island('late');
    await bed.place(island, ...database(island, 2));
    const volume = await volumeOf(island, 'data-db-0');
    disk().trouble({ operation: 'detach', volume, does: 'hang' });
    await drain(island, { detachTimeoutSeconds: 3 });
    const done = await bed.untilSaid(island.node, 'Ready', 'True/Drained');
    expect(said(done, 'VolumesDetached')).toBe('False/DetachTimedOut');
    expect(done.status?.conditions?.find(({ type }) => type === 'Ready')?.message).toContain(volume);
    expect(done.status?.drain?.volumes?.map(({ pod, phase }) => `${pod.name} ${phase}`)).toContain(
      'db-0 DetachTimedOut',
    );
    await bed.eventually('an event tells it', async () => {
      const events = await bed.api.events('NodeMaintenance', island.node);
      return events.some(
        ({ reason, note }) => reason === 'VolumeDetachTimedOut' && note?.startsWith(`${volume} of pod`),
      );
    });
    disk().heal(volume);
    await bed.untilSaid(island.node, 'VolumesDetached', 'True/Detached');
  });

  test.concurrent('when attaching elsewhere takes too long', async () => {
    const island = await bed.island('attach');
    await bed.place(island, ...database(island, 2));
    const volume = await volumeOf(island, 'data-db-0');
    disk().trouble({ operation: 'attach', volume, does: 'hang' });
    await drain(island, { reattachTimeoutSeconds: 3 });
    const done = await bed.untilSaid(island.node, 'Ready', 'True/Drained');
    const detached = done.status?.conditions?.find(({ type }) => type === 'VolumesDetached');
    expect(detached?.status).toBe('True');
    expect(detached?.message).toContain(`not attached elsewhere in time: ${volume}`);
    disk().heal(volume);
  });

  test.concurrent('at once when the workload was scaled down', async () => {
    const island = await bed.island('scaled');
    await bed.place(island, ...database(island, 2));
    const volume = await volumeOf(island, 'data-db-1');
    await bed.api.mergePatch(`/apis/apps/v1/namespaces/${island.namespace}/statefulsets/db`, {
      spec: { persistentVolumeClaimRetentionPolicy: { whenScaled: 'Retain' } },
    });
    disk().trouble({ operation: 'detach', volume, does: 'hang' });
    await bed.maintain(island.node, {
      drain: { volumes: {}, podSelector: { matchLabels: { app: 'none' } } },
    });
    await bed.untilSaid(island.node, 'Ready', 'True/Drained');
    await bed.api.mergePatch(`/apis/apps/v1/namespaces/${island.namespace}/statefulsets/db`, {
      spec: { replicas: 1 },
    });
    await bed.edit(island.node, { drain: { podSelector: null } });
    await bed.until(island.node, 'the pod that was scaled away takes the place', ({ status }) => {
      const moves = status?.drain?.volumes?.map(({ pod, phase }) => `${pod.name} ${phase}`) ?? [];
      return moves.includes('db-1 Detaching') && moves.length === 1;
    });
    disk().heal(volume);
    // Far sooner than reattachTimeoutSeconds (90 s).
    await bed.untilSaid(island.node, 'Ready', 'True/Drained', { timeoutMs: 40_000 });
    expect(bed.audit.accepted(island.namespace).map(({ pod }) => pod)).toEqual(['db-0']);
  });

  test.concurrent('at once when its successor finds no node', async () => {
    const island = await bed.island('nowhere');
    await bed.place(island, ...database(island, 2));
    for (const spare of island.spares) await bed.cordon(spare);
    await drain(island);
    await bed.untilSaid(island.node, 'Ready', 'True/Drained', { timeoutMs: 40_000 });
  });

  test.concurrent('at once for generic ephemeral volumes, which leave at the pace of the others', async () => {
    const island = await bed.island('ephemeral');
    const web = island.deployment('web', { replicas: 3, volumes: [island.ephemeral('scratch')] });
    await bed.place(island, ...island.volumes(6), web);
    await drain(island);
    await bed.untilSaid(island.node, 'Ready', 'True/Drained', { timeoutMs: 60_000 });
    const evicted = bed.audit.accepted(island.namespace);
    const detached = disk()
      .events()
      .filter(
        ({ what, operation, node }) => what === 'ended' && operation === 'detach' && node === island.node,
      );
    expect(evicted).toHaveLength(3);
    expect(detached).toHaveLength(3);
    for (const [index, { askedAt }] of evicted.entries())
      expect(detached.filter(({ at }) => at <= askedAt)).toHaveLength(index);
  });

  test.concurrent('at once where nothing is attached; the pod itself is waited for', async () => {
    const island = await bed.island('unattached');
    const far = { driver: UNATTACHED_DRIVER, isShared: true };
    const volumes = [claimed('far'), inline('secret')];
    const web = island.deployment('web', { replicas: 2, volumes, stopsIn: '4s' });
    const pods = await bed.place(island, ...island.volumes(1, far), island.claim('far', far), web);
    await drain(island);
    const done = await bed.untilSaid(island.node, 'Ready', 'True/Drained');
    expect(done.status?.drain?.volumes).toBeUndefined();
    const [first, second] = bed.audit.accepted(island.namespace);
    expect(second?.askedAt).toBeLessThan((first?.askedAt ?? 0) + 2000);
    const uids = pods.map(({ metadata }) => metadata.uid);
    const left = await bed.api.pods(island.namespace);
    expect(left.filter(({ metadata }) => uids.includes(metadata.uid))).toEqual([]);
  });

  test.concurrent('a shared volume is waited for after the last of its pods', async () => {
    const island = await bed.island('shared');
    const shared = { isShared: true };
    const web = island.deployment('web', { replicas: 2, volumes: [claimed('common')] });
    const [volume] = island.volumes(1, shared) as [Manifest];
    await bed.place(island, volume, island.claim('common', shared), web);
    await drain(island, { reattachTimeoutSeconds: 30 });
    const done = await bed.untilSaid(island.node, 'Ready', 'True/Drained', { timeoutMs: 25_000 });
    expect(said(done, 'VolumesDetached')).toBe('True/Detached');
    const events = disk()
      .events()
      .filter((event) => event.volume === volume.metadata.name && event.what === 'ended')
      .map(({ operation, node }) => `${operation} ${node === island.node ? 'here' : 'there'}`);
    // The attachment elsewhere comes before the detachment here, and nobody demands the contrary.
    expect(events).toEqual(['attach here', 'attach there', 'detach here']);
  });
});

test.concurrent('events about other volumes, however many, do not delay the wait', async () => {
  const island = await bed.island('noise');
  await bed.place(island, ...database(island, 2));
  const volume = await volumeOf(island, 'data-db-0');
  disk().trouble({ operation: 'detach', volume, does: 'hang' });
  await drain(island);
  await bed.until(island.node, 'it waits for the first volume', ({ status }) =>
    status?.drain?.volumes?.some(({ phase }) => phase === 'Detaching'),
  );
  const path = '/apis/storage.k8s.io/v1/volumeattachments';
  const names = Array.from({ length: 50 }, (_, index) => `${island.name}-noise-${index}`);
  await Promise.all(
    names.map(async (name) =>
      bed.api.create(path, {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'VolumeAttachment',
        metadata: { name },
        spec: { attacher: 'noise.example.com', nodeName: 'nowhere', source: { persistentVolumeName: name } },
      }),
    ),
  );
  await Promise.all(names.map(async (name) => bed.api.remove(`${path}/${name}`)));
  disk().heal(volume);
  await bed.untilSaid(island.node, 'Ready', 'True/Drained', { timeoutMs: 40_000 });
  expect(mostOnTheWay(await storyOf(island, ['db-0', 'db-1']))).toBe(1);
});

async function allReady(island: Island): Promise<boolean> {
  const all = await bed.api.pods(island.namespace);
  return all.every((pod) => isReady(pod));
}

test('killed in the middle of a wait, it goes on waiting', async () => {
  const island = await bed.island('killed');
  await bed.place(island, ...database(island, 2));
  const volume = await volumeOf(island, 'data-db-0');
  disk().trouble({ operation: 'detach', volume, does: 'hang' });
  await drain(island);
  await bed.until(island.node, 'it waits for the first volume', ({ status }) =>
    status?.drain?.volumes?.some(({ phase }) => phase === 'Detaching'),
  );
  await operator.kill();
  await startOperator();
  disk().heal(volume);
  await bed.untilSaid(island.node, 'Ready', 'True/Drained', { timeoutMs: 60_000 });
  expect(mostOnTheWay(await storyOf(island, ['db-0', 'db-1']))).toBe(1);
  await bed.eventually('both pods are Ready again', async () => allReady(island));
});
