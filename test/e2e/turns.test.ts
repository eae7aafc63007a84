// The default limit lets a tenth of the nodes be out of service: of eleven, one at a time, in order of creation.
import { describe, expect, test } from '@jest/globals';
import type { Node } from '../../src/kube/types.ts';
import { ownTestBed } from './support/beds.ts';
import { barePod, deployment, maintenance } from './support/builders.ts';
import { eventually } from './support/eventually.ts';
import { SeededRandom } from './support/random.ts';
import { condition, isReady, said } from './support/status.ts';

const NODES = 11;
const POD_COUNT = 22;

const bed = ownTestBed(import.meta.filename, { nodes: NODES });
const random = SeededRandom.forTest('order of turns');

describe('eleven nodes and the default limit', () => {
  test('one at a time, in order of creation', async () => {
    const namespace = `${bed.prefix}-shop`;
    await bed.namespace(namespace);
    await bed.kubectl.apply(deployment(namespace, 'web', { replicas: POD_COUNT }));
    await bed.eventually('all pods run', async () => {
      const pods = await bed.api.pods(namespace);
      return pods.length === POD_COUNT && pods.every(isReady);
    });
    const operator = await bed.startOperator();
    const nodes = Array.from({ length: NODES }, (_, index) => `worker-${index + 1}`);
    const before = await Promise.all(nodes.map(async (node) => bed.snapshot(node)));

    // Neither the order of the nodes nor that of the names decides.
    const order = random.shuffled(nodes).map((node) => ({ node, name: `${bed.prefix}-${node}` }));
    let created = 0;
    for (const { node, name } of order) {
      // Creation times have whole seconds: each gets one of its own.
      await eventually('another second has begun', () => Math.floor(Date.now() / 1000) > created);
      await bed.maintain(node, {}, name);
      created = Date.parse((await bed.maintenance(name)).metadata.creationTimestamp) / 1000;
    }
    const [first, ...later] = order;
    await bed.untilSaid(first?.name ?? '', 'Drained', 'True/Drained');
    for (const { name } of later) {
      const waiting = await bed.untilSaid(name, 'Ready', 'False/WaitingForTurn');
      expect(waiting.status?.phase).toBe('Pending');
      expect(waiting.status?.startTime).toBeUndefined();
      expect(said(waiting, 'Reconciling')).toBe('True/WaitingForTurn');
      expect(said(waiting, 'Stalled')).toBeUndefined();
    }
    expect(await cordoned()).toEqual([first?.node]);

    for (const [index, { node, name }] of order.entries()) {
      await bed.untilSaid(name, 'Drained', 'True/Drained');
      expect(await cordoned()).toEqual([node]);
      for (const next of order.slice(index + 1)) {
        expect(said(await bed.maintenance(next.name), 'Ready')).toBe('False/WaitingForTurn');
      }
      await bed.endMaintenance(name);
    }
    expect(await Promise.all(nodes.map(async (node) => bed.snapshot(node)))).toEqual(before);
    expect(bed.audit.cordons()).toEqual(order.flatMap(({ node }) => [`cordon ${node}`, `put back ${node}`]));
    await operator.stop();
  }, 240_000);
});

test('of two places one is held by a drain that cannot end: the other goes to the oldest that can begin', async () => {
  const namespace = `${bed.prefix}-places`;
  await bed.namespace(namespace);
  const here = { nodeSelector: { 'kubernetes.io/hostname': 'worker-1' } };
  await bed.kubectl.apply(barePod(namespace, 'held', here));
  await bed.eventually('it runs', async () => (await bed.api.pods(namespace)).every(isReady));
  const operator = await bed.startOperator({ flags: ['--max-unavailable-nodes=2'] });
  const name = (index: number): string => `${bed.prefix}-place-${index}`;
  // In order of age.
  await bed.kubectl.apply(
    maintenance(name(1), 'worker-1'),
    maintenance(name(2), 'not-there'),
    maintenance(name(3), 'worker-2', { suspend: true }),
    maintenance(name(4), 'worker-3', { nodeDrainPolicy: 'Ignore' }),
    maintenance(name(5), 'worker-1'),
    maintenance(name(6), 'worker-4'),
    maintenance(name(7), 'worker-5'),
  );
  await bed.untilSaid(name(6), 'Ready', 'True/Drained');
  await bed.untilSaid(name(1), 'DrainBlocked', 'True/UnmanagedPod');
  await bed.untilSaid(name(2), 'Ready', 'False/NodeNotFound');
  await bed.untilSaid(name(3), 'Ready', 'False/Suspended');
  await bed.untilSaid(name(4), 'Ready', 'True/Announced');
  await bed.untilSaid(name(5), 'DrainBlocked', 'True/UnmanagedPod');
  await bed.untilSaid(name(7), 'Ready', 'False/WaitingForTurn');
  expect(await cordoned()).toEqual(['worker-1', 'worker-4']);

  await bed.endMaintenance(name(6));
  await bed.untilSaid(name(7), 'Ready', 'True/Drained');
  await bed.edit(name(3), { suspend: false });
  await bed.untilSaid(name(3), 'Ready', 'False/WaitingForTurn');
  expect(await cordoned()).toEqual(['worker-1', 'worker-5']);
  await bed.endMaintenance(name(7));
  await bed.untilSaid(name(3), 'Ready', 'True/Drained');
  expect(await cordoned()).toEqual(['worker-1', 'worker-2']);
  await Promise.all([1, 2, 3, 4, 5].map(async (index) => bed.endMaintenance(name(index))));
  await operator.stop();
});

test('a node that the API server does not let be cordoned gives its place to the next one', async () => {
  const name = (index: number): string => `${bed.prefix}-refused-${index}`;
  const policy = await refuseCordonOf('worker-6');
  await bed.startOperator({ flags: ['--max-unavailable-nodes=1'] });
  await bed.kubectl.apply(maintenance(name(1), 'worker-6'), maintenance(name(2), 'worker-7'));
  await bed.untilSaid(name(2), 'Ready', 'True/Drained');
  const waiting = await bed.untilSaid(name(1), 'Ready', 'False/WaitingForTurn');
  expect(condition(waiting, 'Ready')?.message).toContain('worker-6 is in use');
  expect(await cordoned()).toEqual(['worker-7']);
  // Nobody else waits: it has its turn again, tries, and says why it does not get on.
  await bed.endMaintenance(name(2));
  await bed.until(name(1), 'it was refused again', (object) => {
    return (
      said(object, 'Ready') === 'False/Cordoning' &&
      condition(object, 'Ready')?.message?.includes('worker-6 is in use')
    );
  });
  await policy.remove();
  await bed.untilSaid(name(1), 'Ready', 'True/Drained');
});

/** A policy of the cluster that keeps the operator's hands off a node. */
async function refuseCordonOf(node: string): Promise<{ remove: () => Promise<void> }> {
  const base = '/apis/admissionregistration.k8s.io/v1';
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const metadata = { name: `${bed.prefix}-in-use` };
  const resourceRules = [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] },
  ];
  const isOperator = "request.userInfo.username.startsWith('system:serviceaccount:haulout:')";
  const expression = `object.metadata.name != '${node}' || !${isOperator}`;
  await bed.api.create(`${base}/validatingadmissionpolicies`, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata,
    spec: {
      matchConstraints: { resourceRules },
      validations: [{ expression, message: `${node} is in use` }],
    },
  });
  const binding = `${base}/validatingadmissionpolicybindings`;
  await bed.api.create(binding, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata,
    spec: { policyName: metadata.name, validationActions: ['Deny'] },
  });
  await bed.eventually('the policy is in force', async () => {
    const as = ['--as=system:serviceaccount:haulout:haulout', '--as-group=system:masters'];
    const { stderr } = await bed.kubectl.try(['label', 'node', node, 'a=b', '--dry-run=server', ...as]);
    return stderr.includes('is in use');
  });
  return { remove: async () => bed.api.remove(`${binding}/${metadata.name}`) };
}

async function cordoned(): Promise<string[]> {
  const nodes = await bed.api.list<Node>('/api/v1/nodes');
  return nodes.filter(({ spec }) => spec?.unschedulable === true).map(({ metadata }) => metadata.name);
}
