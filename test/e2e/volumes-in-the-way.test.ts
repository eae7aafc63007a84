// Pods with volumes that do not leave in time: nothing says that the node is empty before it is.
import { beforeAll, expect, test } from '@jest/globals';
import { DISK_DRIVER, UNATTACHED_DRIVER } from '../../hack/cluster/lib/volumes/options.ts';
import { nodeMaintenancesPath } from '../../src/api/names.ts';
import type { NodeMaintenance } from '../../src/api/types.generated.ts';
import type { Node } from '../../src/kube/types.ts';
import { ownTestBed } from './support/beds.ts';
import { holdsFor } from './support/eventually.ts';
import { History } from './support/history.ts';
import type { Island } from './support/island.ts';
import { condition, nodeCondition, said } from './support/status.ts';
import { claimed } from './support/volumes.ts';

const quick = { attachSeconds: 0.3, detachSeconds: 0.3 };
const bed = ownTestBed(import.meta.filename, { volumes: { drivers: { [DISK_DRIVER]: quick } } });

beforeAll(async () => {
  await bed.startOperator({ flags: ['--max-unavailable-nodes=100%'] });
}, 60_000);

const isReadyOrDrained = (object: NodeMaintenance): boolean =>
  said(object, 'Drained')?.startsWith('True') === true || said(object, 'Ready')?.startsWith('True') === true;

const KINDS = [
  ['without volumes', 'bare', false],
  ['with volumes', 'disks', true],
] as const;

for (const [what, name, hasVolumes] of KINDS) {
  test.concurrent(`a deadline that passes while a budget holds up a StatefulSet ${what}: failed, and never said to be drained`, async () => {
    const island = await bed.island(name);
    const { node, namespace } = island;
    const claimTemplates = hasVolumes ? { claimTemplates: [island.claimTemplate('data')] } : {};
    const placed = await bed.place(
      island,
      ...(hasVolumes ? island.volumes(2) : []),
      island.statefulSet('db', { replicas: 2, ...claimTemplates }),
      island.deployment('free', { replicas: 2 }),
    );
    const db = placed.filter(({ metadata }) => metadata.name.startsWith('db-'));
    // One of the two is not ready, and the budget wants both: neither may go.
    await bed.api.strategicPatch(`/api/v1/namespaces/${namespace}/pods/db-1/status`, {
      status: { conditions: [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady' }] },
    });
    await bed.kubectl.apply(island.budget('db', { minAvailable: 2 }));
    await bed.eventually('the budget has one healthy pod too few', async () => {
      const { status } = await bed.api.budget(namespace, 'db');
      return status?.expectedPods === 2 && status.currentHealthy === 1;
    });
    const statuses = await History.of<NodeMaintenance>(bed.files.kubeconfig, nodeMaintenancesPath, node);
    const nodes = await History.of<Node>(bed.files.kubeconfig, '/api/v1/nodes', node);
    await bed.maintain(node, { drain: { timeoutSeconds: 6, retryIntervalSeconds: 1 } });
    const failed = await bed.untilSaid(node, 'Ready', 'False/DrainFailed');
    expect(failed.status?.phase).toBe('Failed');
    expect(failed.status?.drain?.pods).toMatchObject({ total: 4, gone: 2, remaining: 2 });
    expect(condition(failed, 'Drained')).toMatchObject({ status: 'False', reason: 'PodsRemaining' });
    // News of the node and of its pods make it look again.
    await bed.kubectl.run(['label', 'node', node, 'example.com/news=yes']);
    await bed.kubectl.run(['annotate', 'pod', 'db-0', 'example.com/news=yes', `--namespace=${namespace}`]);
    await holdsFor(3000, 'it stays as it is', async () => {
      const { status } = await bed.maintenance(node);
      expect(status?.phase).toBe('Failed');
      expect(status?.drain?.completionTime).toBeUndefined();
      expect((await bed.api.node(node)).spec?.unschedulable).toBe(true);
      const left = await bed.api.podsOnNode(node);
      expect(left.map(({ metadata }) => metadata.uid).toSorted()).toEqual(
        db.map(({ metadata }) => metadata.uid).toSorted(),
      );
      expect(left.every(({ metadata }) => metadata.deletionTimestamp === undefined)).toBe(true);
    });
    expect(bed.audit.podDeletions(namespace)).toEqual([]);
    expect((await statuses.upTo(await bed.maintenance(node))).filter(isReadyOrDrained)).toEqual([]);
    const versions = await nodes.upTo(await bed.api.get<Node>(`/api/v1/nodes/${node}`));
    expect(versions.filter((version) => nodeCondition(version, 'Drained')?.status === 'True')).toEqual([]);
    if (hasVolumes) expect(await attachedTo(island)).toHaveLength(2);
  });
}

async function attachedTo({ node }: Island): Promise<readonly unknown[]> {
  return (await bed.api.volumeAttachments()).filter(({ spec }) => spec.nodeName === node);
}

test.concurrent('pods whose only volume is shared and never attached are waited for until they have stopped, however slowly', async () => {
  const island = await bed.island('far');
  const { node, namespace } = island;
  const far = { driver: UNATTACHED_DRIVER, isShared: true };
  const slow = { gracePeriodSeconds: 120, stopsIn: '20s', volumes: [claimed('far')] };
  const pods = await bed.place(
    island,
    ...island.volumes(1, far),
    island.claim('far', far),
    island.statefulSet('files', { replicas: 2, ...slow }),
    island.deployment('free', { replicas: 2 }),
  );
  const files = pods.filter(({ metadata }) => metadata.name.startsWith('files-'));
  const statuses = await History.of<NodeMaintenance>(bed.files.kubeconfig, nodeMaintenancesPath, node);
  // All other times that a drain waits for are over long before these pods have stopped.
  const volumes = { detachTimeoutSeconds: 1, reattachTimeoutSeconds: 1 };
  await bed.maintain(node, { drain: { volumes, retryIntervalSeconds: 1 } });
  const waiting = await bed.until(node, 'only these are left', ({ status }) => {
    return status?.drain?.pods?.gone === 2 && status.drain.pods.terminating === 2;
  });
  expect(condition(waiting, 'Drained')).toMatchObject({ status: 'False', reason: 'PodsRemaining' });
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  const first = await statuses.first('that it is drained', isReadyOrDrained);
  await statuses.stop();
  // The kubelet tells with a deletion of its own that a pod has stopped.
  const ends = bed.audit
    .entries({ verb: 'delete', resource: 'pods', subresource: '', namespace, byOperator: false })
    .filter(({ objectRef }) => files.some(({ metadata }) => metadata.name === objectRef?.name))
    .map(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp));
  expect(ends).toHaveLength(2);
  expect(first.seenAt).toBeGreaterThanOrEqual(Math.max(...ends));
  for (const { metadata } of files) {
    const asked = bed.audit.evictions(namespace, { uid: metadata.uid });
    // Once, and with its own grace period.
    expect(asked.map(({ accepted, gracePeriodSeconds }) => ({ accepted, gracePeriodSeconds }))).toEqual([
      { accepted: true, gracePeriodSeconds: undefined },
    ]);
    expect(first.seenAt - (asked[0]?.answeredAt ?? 0)).toBeGreaterThan(19_000);
  }
});
