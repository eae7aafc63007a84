import { describe, expect, test } from '@jest/globals';
import type { RoomyNode, RoomyPod } from '../../../src/capacity/types.ts';
import type { Answer } from '../../../src/kube/answer.ts';
import type { Node, Pod } from '../../../src/kube/types.ts';
import { decideOwnPod } from '../../../src/maintenance/own-pod-look.ts';
import { type NodeOptions, type PodOptions, at, node, pod } from '../../fixtures/objects.ts';
import { ScriptedClient } from '../../fixtures/scripted-client.ts';

/** A node with one CPU. */
function roomy(name: string, options: NodeOptions = {}): RoomyNode {
  const made: Node = node(options, name);
  return { ...made, status: { ...made.status, allocatable: { cpu: '1', pods: '10' } } };
}

function asking(cpu: string, made: Pod): RoomyPod {
  return { ...made, spec: { ...made.spec, containers: [{ resources: { requests: { cpu } } }] } };
}

const own = asking('600m', pod('haulout-a'));

interface Cluster {
  readonly nodes?: readonly RoomyNode[];
  readonly pods?: readonly Pod[];
  readonly held?: readonly string[];
  readonly mayHandOver?: boolean;
  /** What begins like this is refused. */
  readonly refused?: string;
}

async function look({ nodes = [], pods = [], held = [], mayHandOver = true, refused }: Cluster) {
  const all = [own, ...pods];
  const client = new ScriptedClient(({ verb, path, query = {} }): Answer => {
    if (refused !== undefined && `${verb} ${path}`.startsWith(refused))
      return { kind: 'network', message: 'reset' };
    if (verb === 'get') return { kind: 'ok', object: own };
    const nodeName = query['fieldSelector']?.replace('spec.nodeName=', '');
    const items =
      path === '/api/v1/nodes'
        ? nodes
        : all.filter((each) => [undefined, each.spec.nodeName].includes(nodeName));
    return { kind: 'ok', object: { metadata: { resourceVersion: '1' }, items } };
  });
  const { signal } = new AbortController();
  const decision = await decideOwnPod(own, {
    client,
    signal,
    isHeld: (name) => held.includes(name),
    mayHandOver,
  });
  return { decision, lists: client.requests.filter(({ verb }) => verb === 'list').map(({ query }) => query) };
}

describe('another replica', () => {
  test('that is ready elsewhere takes over, and nobody looks at nodes', async () => {
    const { decision, lists } = await look({
      pods: [pod('haulout-b', { nodeName: 'n2' })],
      nodes: [roomy('n2')],
    });
    expect(decision).toEqual({ kind: 'handOver', to: 'haulout-b' });
    expect(lists).toHaveLength(1);
  });

  test.each<[string, PodOptions, Partial<Cluster>]>([
    ['is not ready', { nodeName: 'n2', ready: false }, {}],
    ['is on the same node', { nodeName: 'n1' }, {}],
    ['is on a node that is held', { nodeName: 'n2' }, { held: ['n2'] }],
    ['terminates', { nodeName: 'n2', deletionTimestamp: at(30) }, {}],
    ['is somebody else', { nodeName: 'n2', owner: { uid: 'uid-other' } }, {}],
    ['did not take the Lease before', { nodeName: 'n2' }, { mayHandOver: false }],
  ])('that %s does not', async (_, options, cluster) => {
    const { decision } = await look({ pods: [pod('haulout-b', options)], ...cluster });
    expect(decision.kind).toBe('stays');
  });
});

describe('another node', () => {
  test('with room is enough', async () => {
    const pods = [
      asking('500m', pod('full', { nodeName: 'n2' })),
      asking('300m', pod('other', { nodeName: 'n3' })),
    ];
    const nodes = ['n1', 'n2', 'n3', 'n4'].map((name) => roomy(name));
    const { decision, lists } = await look({
      nodes,
      pods: pods.map((each) => ({ ...each, metadata: { ...each.metadata, ownerReferences: [] } })),
    });
    expect(decision).toEqual({ kind: 'leaves', to: 'n3' });
    // Of pods only what is needed: the node itself and those after the first with room are not asked about.
    expect(lists.map((query) => query?.['fieldSelector']).filter(Boolean)).toEqual([
      'spec.nodeName=n2',
      'spec.nodeName=n3',
    ]);
  });

  test.each<[string, RoomyNode, string]>([
    ['cordoned', roomy('n2', { unschedulable: true }), '1 node: it is cordoned'],
    ['not Ready', roomy('n2', { ready: 'Unknown' }), '1 node: it is not Ready'],
    ['being deleted', roomy('n2', { deletionTimestamp: at(0) }), '1 node: it is being deleted'],
    [
      'too small',
      { ...roomy('n2'), status: { ...roomy('n2').status, allocatable: { cpu: '500m', pods: '9' } } },
      '1 node: it lacks cpu (600m asked for, 500m free)',
    ],
  ])('that is %s is none', async (_, other, why) => {
    const { decision, lists } = await look({ nodes: [roomy('n1'), other] });
    expect(decision).toEqual({ kind: 'stays', why });
    expect(lists).toHaveLength(2);
  });

  test('does not exist in a cluster of one', async () => {
    expect((await look({ nodes: [roomy('n1')] })).decision).toEqual({
      kind: 'stays',
      why: 'there is no other node',
    });
  });
});

test.each([
  'get /api/v1/namespaces/shop/pods/haulout-a',
  'list /api/v1/namespaces',
  'list /api/v1/nodes',
  'list /api/v1/pods',
])('nothing is decided where the API server refuses: %s', async (refused) => {
  const { decision } = await look({ nodes: [roomy('n1'), roomy('n2')], refused });
  expect(decision).toEqual({ kind: 'unknown', refusal: { kind: 'network', message: 'reset' } });
});
