/** blockedDeployments Restart: the replacement is there before the held-up pod stops; and where that is not safe, nothing is restarted. */
import { expect, test } from '@jest/globals';
import type { Pod } from '../../src/kube/types.ts';
import type { Deployment } from '../../src/maintenance/restart-verdict.ts';
import { sharedTestBed } from './support/beds.ts';
import type { Manifest } from './support/builders.ts';
import { holdsFor } from './support/eventually.ts';
import { History } from './support/history.ts';
import type { Island } from './support/island.ts';

const bed = sharedTestBed(import.meta.filename);

const restart = { drain: { blockedDeployments: 'Restart', retryIntervalSeconds: 1 } } as const;

/** Longer than it takes from being held up to a restart. */
const longEnoughMs = 9_000;

function deployment(
  island: Island,
  spec: object = {},
  rollingUpdate: object = { maxUnavailable: 0, maxSurge: 1 },
): Manifest {
  const base = island.deployment('web');
  return {
    ...base,
    spec: { ...(base.spec as object), strategy: { type: 'RollingUpdate', rollingUpdate }, ...spec },
  };
}

function path({ namespace }: Island): string {
  return `/apis/apps/v1/namespaces/${namespace}/deployments`;
}

async function live(island: Island): Promise<Deployment> {
  return bed.api.get<Deployment>(`${path(island)}/web`);
}

function restartedFor({ spec }: Deployment): string | undefined {
  return spec.template.metadata?.annotations?.['haulout.dev/restarted-for'];
}

function patches({ namespace }: Island): number {
  return bed.audit.entries({ verb: 'patch', resource: 'deployments', namespace, byOperator: true }).length;
}

async function expectNoRestart(island: Island, why: string): Promise<void> {
  const { node } = island;
  await bed.until(node, `says ${why}`, ({ status }) => {
    return status?.blockers?.[0]?.nextStep?.includes(`not restarted: ${why}`) ?? false;
  });
  await holdsFor(longEnoughMs, 'it is not restarted', async () => {
    expect(patches(island)).toBe(0);
    expect(restartedFor(await live(island))).toBeUndefined();
  });
  expect(bed.audit.accepted(island.namespace)).toEqual([]);
}

test.concurrent.each([1, 3])(
  '%i replicas, all of them wanted: nothing ever goes down, and the node becomes empty',
  async (replicas) => {
    const island = await bed.island(`surge-${replicas}`);
    const { node, namespace } = island;
    await bed.place(
      island,
      deployment(island, { replicas }),
      island.budget('web', { minAvailable: replicas }),
    );
    const history = await History.of<Deployment>(bed.files.kubeconfig, path(island), 'web');
    await bed.maintain(node, restart);
    await bed.until(node, 'says what is going to happen', ({ status }) => {
      return /about to get a rolling restart|leaves with the rolling restart/.test(
        status?.blockers?.[0]?.nextStep ?? '',
      );
    });
    await bed.untilSaid(node, 'Ready', 'True/Drained');
    const { uid } = (await bed.maintenance(node)).metadata;
    const last = await bed.eventually('the rollout is over', async () => {
      const now = await live(island);
      const { status = {}, metadata } = now;
      const isOver = status.observedGeneration === metadata.generation && status.replicas === replicas;
      return isOver && status.availableReplicas === replicas && status.updatedReplicas === replicas && now;
    });
    expect(restartedFor(last)).toBe(uid);
    const versions = await history.upTo(last);
    expect(Math.min(...versions.map(({ status }) => status?.availableReplicas ?? 0))).toBe(replicas);
    // The ReplicaSet took the old pods away, and nobody else.
    expect(bed.audit.accepted(namespace)).toEqual([]);
    expect(bed.audit.podDeletions(namespace)).toEqual([]);
    expect(patches(island)).toBe(1);
    const pods = await bed.api.pods(namespace);
    expect(pods.filter(({ spec }) => spec.nodeName === node)).toEqual([]);
    const events = await bed.eventually('the event is there', async () => {
      const found = (await bed.api.events('NodeMaintenance', node)).filter(
        ({ reason }) => reason === 'DeploymentRestarted',
      );
      return found.length > 0 && found;
    });
    expect(events).toHaveLength(1);
    expect(events[0]?.note).toContain(`Deployment ${namespace}/web gets a rolling restart`);
  },
);

test.concurrent('a Deployment whose pods come back to the node is restarted once and not again', async () => {
  const island = await bed.island('once');
  const { node, namespace } = island;
  const tolerations = [{ operator: 'Exists' }];
  const base = island.deployment('web', { tolerations, nodeSelector: { 'kubernetes.io/hostname': node } });
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } };
  await bed.place(
    island,
    { ...base, spec: { ...(base.spec as object), strategy } },
    island.budget('web', { minAvailable: 1 }),
  );
  await bed.maintain(node, restart);
  await bed.until(node, 'says that once is enough', ({ status }) => {
    return (
      status?.blockers?.[0]?.nextStep?.includes(
        'not restarted: the Deployment was restarted for this maintenance',
      ) ?? false
    );
  });
  await holdsFor(longEnoughMs, 'it is not restarted again', () => expect(patches(island)).toBe(1));
  expect(bed.audit.podDeletions(namespace)).toEqual([]);
});

test.concurrent('not without the consent of a maintenance that is suspended', async () => {
  const island = await bed.island('consent');
  const { node } = island;
  await bed.place(island, deployment(island), island.budget('web', { minAvailable: 1 }));
  await bed.maintain(node, { suspend: true }, `${node}-2`);
  await bed.maintain(node, restart);
  await expectNoRestart(island, `maintenance ${node}-2 does not ask for it`);
  await bed.edit(`${node}-2`, { drain: { blockedDeployments: 'Restart' } });
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  expect(patches(island)).toBe(1);
});

test.concurrent('not where the rollout may take the pod away first', async () => {
  const island = await bed.island('unavailable');
  await bed.place(
    island,
    deployment(island, {}, { maxUnavailable: 1, maxSurge: 1 }),
    island.budget('web', { minAvailable: 1 }),
  );
  await bed.maintain(island.node, restart);
  await expectNoRestart(island, 'maxUnavailable 1 lets a rolling restart take 1 of 1 pods away first');
});

test.concurrent('not where the replacement would need the same volume', async () => {
  const island = await bed.island('claim');
  const { namespace } = island;
  const className = namespace;
  await bed.kubectl.apply(
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: namespace },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        hostPath: { path: '/tmp' },
        storageClassName: className,
        persistentVolumeReclaimPolicy: 'Delete',
      },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data', namespace },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: className,
        resources: { requests: { storage: '1Gi' } },
      },
    },
  );
  try {
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
    const base = island.deployment('web', { spec: { volumes } });
    const strategy = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } };
    await bed.place(
      island,
      { ...base, spec: { ...(base.spec as object), strategy } },
      island.budget('web', { minAvailable: 1 }),
    );
    await bed.maintain(island.node, restart);
    await expectNoRestart(island, 'claim data is ReadWriteOnce');
  } finally {
    await bed.api.remove(`/api/v1/persistentvolumes/${namespace}`);
  }
});

test.concurrent('not while it is paused; once it is not any more', async () => {
  const island = await bed.island('paused');
  const { node } = island;
  await bed.place(island, deployment(island), island.budget('web', { minAvailable: 1 }));
  await bed.api.mergePatch(`${path(island)}/web`, { spec: { paused: true } });
  await bed.maintain(node, restart);
  await expectNoRestart(island, 'the Deployment is paused');
  await bed.api.mergePatch(`${path(island)}/web`, { spec: { paused: false } });
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  expect(patches(island)).toBe(1);
});

test.concurrent('not while a rollout runs', async () => {
  const island = await bed.island('rollout');
  const { node, namespace } = island;
  const [old] = await bed.place(island, deployment(island), island.budget('web', { minAvailable: 1 }));
  // Its new pod finds no node, so the rollout goes on for ever.
  const nowhere = { nodeSelector: { 'test.haulout.dev/nowhere': 'x' } };
  await bed.api.mergePatch(`${path(island)}/web`, { spec: { template: { spec: nowhere } } });
  await bed.eventually('the rollout has begun', async () => (await live(island)).status?.replicas === 2);
  await bed.maintain(node, restart);
  await expectNoRestart(island, 'a rollout is running');
  const pods = await bed.api.list<Pod>(`/api/v1/namespaces/${namespace}/pods`);
  expect(pods.map(({ metadata }) => metadata.uid)).toContain(old?.metadata.uid);
});
