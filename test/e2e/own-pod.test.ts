/** The operator runs in a pod itself, and its node can be the one that has to be emptied. */
import { expect, test } from '@jest/globals';
import type { Pod } from '../../src/kube/types.ts';
import { ownTestBed } from './support/beds.ts';
import { holdsFor } from './support/eventually.ts';
import { OPERATOR_NAMESPACE } from './support/install.ts';
import type { Island } from './support/island.ts';
import type { OperatorProcess } from './support/operator-process.ts';
import { condition, isReady } from './support/status.ts';

const bed = ownTestBed(import.meta.filename);
const LEASE_PATH = `/apis/coordination.k8s.io/v1/namespaces/${OPERATOR_NAMESPACE}/leases/haulout`;

/** The process that runs "in" a pod of the island's StatefulSet. */
async function runIn(island: Island, name: string): Promise<OperatorProcess> {
  const pod = { namespace: island.namespace, name };
  const operator = await bed.startOperator({
    name: `${island.name}-${name}`,
    identity: `${island.name}-${name}`,
    pod,
    flags: [`--namespace=${OPERATOR_NAMESPACE}`, '--max-unavailable-nodes=100%'],
  });
  return operator;
}

async function leads(operator: OperatorProcess): Promise<void> {
  await bed.eventually(`${operator.identity} leads`, async () => {
    const { spec } = await bed.api.get<{ spec: { holderIdentity?: string } }>(LEASE_PATH);
    return spec.holderIdentity === operator.identity;
  });
}

/** What the kubelet would do: SIGTERM when the pod terminates. */
async function stopsWithItsPod(operator: OperatorProcess, pod: Pod): Promise<void> {
  const { namespace, name, uid } = pod.metadata;
  await bed.eventually(`pod ${name} terminates`, async () => {
    const now = await bed.api.find<Pod>(`/api/v1/namespaces/${namespace}/pods/${name}`);
    return now?.metadata.uid !== uid || now.metadata.deletionTimestamp !== undefined;
  });
  expect(await operator.stop()).toEqual({ code: 0, signal: null });
}

const find = (pods: readonly Pod[], name: string): Pod => {
  const found = pods.find(({ metadata }) => metadata.name === name);
  if (!found) throw new Error(`there is no pod ${name}`);
  return found;
};

test('a replica that stands by takes over, and evicts the pod when all others are gone', async () => {
  const island = await bed.island('handover', { spares: 1 });
  const { node, namespace } = island;
  const [spare = ''] = island.spares;
  await bed.place(
    island,
    island.statefulSet('haulout', { replicas: 2 }),
    island.deployment('web', { replicas: 3 }),
  );
  // The second replica moves to the other node.
  await bed.cordon(node);
  await bed.api.remove(`/api/v1/namespaces/${namespace}/pods/haulout-1`);
  await bed.eventually('a replica stands by on the other node', async () => {
    const pods = await bed.api.podsOnNode(spare);
    return pods.some((pod) => pod.metadata.name === 'haulout-1' && isReady(pod));
  });
  await bed.uncordon(node);
  const own = find(await bed.api.podsOnNode(node), 'haulout-0');
  const first = await runIn(island, 'haulout-0');
  await leads(first);
  const second = await runIn(island, 'haulout-1');

  await bed.maintain(node);
  await Promise.all([leads(second), stopsWithItsPod(first, own)]);
  await bed.untilSaid(node, 'Drained', 'True/Drained');
  expect(first.log().map(({ message }) => message)).toContain('gave up the Lease for another process');
  const accepted = bed.audit.accepted(namespace).toSorted((a, b) => a.askedAt - b.askedAt);
  expect(accepted.map(({ pod }) => pod).slice(3)).toEqual(['haulout-0']);
  expect(accepted.at(-1)?.uid).toBe(own.metadata.uid);
  expect(second.log().filter(({ message }) => message === 'eviction accepted')).toHaveLength(1);
  await bed.endMaintenance(node);
  await second.stop();
});

test('the only replica evicts its own pod last where another node can take it, and goes on there', async () => {
  const island = await bed.island('alone', { spares: 1 });
  const { node, namespace } = island;
  const placed = await bed.place(
    island,
    island.statefulSet('haulout', { replicas: 1 }),
    island.deployment('web', { replicas: 2, stopsIn: '2s' }),
  );
  const own = find(placed, 'haulout-0');
  const first = await runIn(island, 'haulout-0');
  await leads(first);
  await bed.maintain(node);
  await stopsWithItsPod(first, own);
  await bed.eventually('it has another pod', async () => {
    const pods = await bed.api.podsOnNode(island.spares[0] ?? '');
    return pods.some((pod) => pod.metadata.name === 'haulout-0' && isReady(pod));
  });
  const next = await runIn(island, 'haulout-0');
  await bed.untilSaid(node, 'Drained', 'True/Drained');
  const accepted = bed.audit.accepted(namespace).toSorted((a, b) => a.askedAt - b.askedAt);
  expect(accepted).toHaveLength(3);
  expect(accepted.at(-1)?.uid).toBe(own.metadata.uid);
  await bed.endMaintenance(node);
  await next.stop();
});

test('where no other node can take it, it stays, is named, and is not waited for', async () => {
  const island = await bed.island('nowhere', { spares: 0 });
  const { node, namespace } = island;
  await bed.place(
    island,
    island.statefulSet('haulout', { replicas: 1 }),
    island.deployment('web', { replicas: 2 }),
  );
  const operator = await runIn(island, 'haulout-0');
  await leads(operator);
  await bed.maintain(node);
  const drained = await bed.untilSaid(node, 'Drained', 'True/Drained');
  for (const type of ['Ready', 'Drained'])
    expect(condition(drained, type)?.message).toContain(`no other node can take it: ${namespace}/haulout-0`);
  expect(bed.audit.evictions(namespace, { name: 'haulout-0' })).toEqual([]);
  await holdsFor(2000, 'the operator goes on', () => operator.isRunning);
  expect(bed.audit.accepted(namespace)).toHaveLength(2);
  await bed.endMaintenance(node);
  await operator.stop();
});
