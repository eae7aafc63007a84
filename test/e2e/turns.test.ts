// The default limit lets a tenth of the nodes be out of service: of eleven, one at a time, in order of creation.
import { describe, expect, test } from '@jest/globals';
import { as } from '../../hack/cluster/lib/untyped.ts';
import type { Node } from '../../src/kube/types.ts';
import { ownTestBed } from './support/beds.ts';
import { deployment } from './support/builders.ts';
import { eventually } from './support/eventually.ts';
import { SeededRandom } from './support/random.ts';
import { isReady, said } from './support/status.ts';

const NODES = 11;
const POD_COUNT = 22;

const bed = ownTestBed(import.meta.filename, { nodes: NODES });
const random = new SeededRandom('order of turns');

describe('eleven nodes and the default limit', () => {
  test('one at a time, in order of creation', async () => {
    const namespace = `${bed.prefix}-shop`;
    await bed.namespace(namespace);
    await bed.kubectl.apply(deployment(namespace, 'web', { replicas: POD_COUNT }));
    await bed.eventually('all pods run', async () => {
      const pods = await bed.api.pods(namespace);
      return pods.length === POD_COUNT && pods.every(isReady);
    });
    await bed.startOperator();
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
    expect(sequence()).toEqual(order.flatMap(({ node }) => [`cordon ${node}`, `put back ${node}`]));
  }, 240_000);
});

async function cordoned(): Promise<string[]> {
  const nodes = await bed.api.list<Node>('/api/v1/nodes');
  return nodes.filter(({ spec }) => spec?.unschedulable === true).map(({ metadata }) => metadata.name);
}

/** What the operator did to nodes, in the order in which the API server did it. */
function sequence(): string[] {
  return bed.audit
    .entries({ verb: 'patch', resource: 'nodes', subresource: '', byOperator: true })
    .filter(({ responseStatus }) => responseStatus?.code === 200)
    .flatMap(({ requestObject, objectRef }) => {
      const { spec } = as<{ spec?: { unschedulable?: boolean | null } }>(requestObject);
      if (spec?.unschedulable === undefined) return [];
      return [`${spec.unschedulable === true ? 'cordon' : 'put back'} ${objectRef?.name}`];
    });
}
