/** Controllers of pods that the operator asks for only now and then: a Job whose volume moves, a DaemonSet that is gone. */
import { beforeAll, expect, test } from '@jest/globals';
import { DISK_DRIVER } from '../../hack/cluster/lib/volumes/options.ts';
import type { Pod } from '../../src/kube/types.ts';
import { ownTestBed } from './support/beds.ts';
import { isReady } from './support/status.ts';
import { claimed } from './support/volumes.ts';

const bed = ownTestBed(import.meta.filename, {
  volumes: { drivers: { [DISK_DRIVER]: { attachSeconds: 0.3, detachSeconds: 0.3 } } },
});

beforeAll(async () => {
  await bed.startOperator({ flags: ['--max-unavailable-nodes=100%'] });
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
