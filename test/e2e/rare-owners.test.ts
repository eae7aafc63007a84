/** Controllers of pods that the operator asks for only now and then: a Job whose volume moves, a DaemonSet that is gone. */
import { beforeAll, expect, test } from '@jest/globals';
import { DISK_DRIVER } from '../../hack/cluster/lib/volumes/options.ts';
import type { Pod } from '../../src/kube/types.ts';
import { ownTestBed } from './support/beds.ts';
import type { OperatorProcess } from './support/operator-process.ts';
import { isReady } from './support/status.ts';
import { claimed } from './support/volumes.ts';

const bed = ownTestBed(import.meta.filename, {
  volumes: { drivers: { [DISK_DRIVER]: { attachSeconds: 0.3, detachSeconds: 0.3 } } },
});

let operator: OperatorProcess;

beforeAll(async () => {
  operator = await bed.startOperator({ flags: ['--max-unavailable-nodes=100%'] });
}, 60_000);

const asked = (resource: string, verb: string) =>
  bed.audit.entries({ resource, verb, byOperator: true }).length > 0;

test('the volume of a pod of a Job is followed to the pod that the Job makes in its place', async () => {
  const island = await bed.island('job');
  const { node, namespace, spares } = island;
  await bed.place(
    island,
    ...island.volumes(1),
    island.claim('data'),
    island.job('batch', { volumes: [claimed('data')], stopsIn: '0.5s' }),
  );
  await bed.maintain(node);
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  await bed.eventually('its successor runs on the other node', async () => {
    const pods = await bed.api.pods(namespace);
    return pods.some((pod) => pod.spec.nodeName === spares[0] && isReady(pod));
  });
  expect(bed.audit.accepted(namespace)).toHaveLength(1);
  expect(asked('jobs', 'watch')).toBe(true);
  // As long as a node is drained all DaemonSets are watched, and none has to be looked for.
  await bed.endMaintenance(node);
});

test('a pod whose DaemonSet is gone leaves, once a live look has not found it either', async () => {
  const hold = 'test.haulout.dev/hold';
  const island = await bed.island('daemon', { spares: 0 });
  const { node, namespace } = island;
  const [daemon] = await bed.place(island, island.daemonSet('agent', { finalizers: [hold] }));
  const path = `/api/v1/namespaces/${namespace}/pods/${daemon?.metadata.name ?? ''}`;
  await bed.kubectl.run(['delete', 'daemonset', 'agent', `--namespace=${namespace}`]);
  await bed.eventually('its pod is being deleted with it', async () => {
    const pod = await bed.api.find<Pod>(path);
    return pod?.metadata.deletionTimestamp !== undefined;
  });
  await bed.maintain(node);
  await bed.until(node, 'the pod counts', ({ status }) => status?.drain?.pods?.remaining === 1);
  expect(asked('daemonsets', 'get')).toBe(true);
  await bed.api.mergePatch(path, { metadata: { finalizers: null } });
  await bed.untilSaid(node, 'Ready', 'True/Drained');
});

/** The API server takes them all; no object can be called so. */
const NO_NAMES = [
  '../../../../../api/v1/namespaces/kube-system/secrets/x',
  'x?watch=true',
  'x/status',
  'a b',
  'ü',
  '%2e%2e',
];

test('pods that belong to what nothing can be called hold up nobody, and lead to no request and no label', async () => {
  const hold = 'test.haulout.dev/hold';
  const island = await bed.island('no-names', { spares: 0 });
  const other = await bed.island('beside-them');
  const { node, namespace } = island;
  await bed.place(other, other.deployment('web', { stopsIn: '0.5s' }));
  const kinds = ['apps/v1 DaemonSet', 'apps/v1 ReplicaSet', 'apps/v1 StatefulSet'];
  const pods = NO_NAMES.flatMap((name, at) =>
    kinds.map((kindOf, of) => {
      const [apiVersion, kind] = kindOf.split(' ');
      const owner = { apiVersion, kind, name, uid: `no-${at}-${of}`, controller: true };
      const { metadata, ...pod } = island.barePod(`p-${at}-${of}`, {
        finalizers: [hold],
        spec: { nodeName: node },
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }],
      });
      return { ...pod, metadata: { ...metadata, ownerReferences: [owner] } };
    }),
  );
  const path = `/api/v1/namespaces/${namespace}/pods`;
  await Promise.all(pods.map(async (pod) => bed.api.create(path, pod)));

  await Promise.all([node, other.node].map(async (each) => bed.maintain(each)));
  await bed.untilSaid(other.node, 'Ready', 'True/Drained');
  await bed.until(node, 'all of them count', ({ status }) => status?.drain?.pods?.remaining === pods.length);
  const metrics = await (await operator.http('/metrics'))?.text();
  await Promise.all(
    pods.map(async ({ metadata }) =>
      bed.api.mergePatch(`${path}/${metadata.name}`, { metadata: { finalizers: null } }),
    ),
  );
  await bed.untilSaid(node, 'Drained', 'True/Drained');

  const requests = bed.audit
    .entries({ byOperator: true })
    .map(({ requestURI }) => decodeURIComponent(requestURI));
  expect(requests.length).toBeGreaterThan(20);
  expect(requests.filter((uri) => NO_NAMES.some((name) => uri.includes(name)))).toEqual([]);
  const resources = [...(metrics ?? '').matchAll(/resource="([^"]*)"/g)].map(([, resource = '']) => resource);
  expect(resources).toContain('pods/eviction');
  expect(
    [...new Set(resources)].filter((resource) => !/^[a-z]+(\/(status|eviction))?$/.test(resource)),
  ).toEqual([]);
});
