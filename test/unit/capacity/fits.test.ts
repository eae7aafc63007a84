import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { findPlaces, whyNot } from '../../../src/capacity/fits.ts';
import { parseQuantity } from '../../../src/capacity/quantity.ts';
import { requestsOf } from '../../../src/capacity/requests.ts';
import type { Container, ResourceList, RoomyNode, RoomyPod } from '../../../src/capacity/types.ts';
import { node as aNode, pod as aPod } from '../../fixtures/objects.ts';

const roomy: ResourceList = { cpu: '4', memory: '8Gi', 'ephemeral-storage': '10Gi', pods: '10' };

function node(name: string, allocatable: ResourceList, spec: RoomyNode['spec'] = {}): RoomyNode {
  const { metadata } = aNode({}, name);
  return { metadata: { ...metadata, labels: { disk: 'ssd', cores: '8' } }, spec, status: { allocatable } };
}

function pod(name: string, requests: ResourceList, spec: Partial<RoomyPod['spec']> = {}): RoomyPod {
  return { ...aPod(name), spec: { containers: [container(requests)], ...spec } };
}

function container(requests: ResourceList, more: Partial<Container> = {}): Container {
  return { resources: { requests }, ...more };
}

function total(spec: RoomyPod['spec']) {
  return Object.fromEntries(requestsOf({ ...aPod('a'), spec }));
}

const cores = (amount: string) => ({ cpu: parseQuantity(amount) });

const empty = () => [];

function expression(key: string, operator: string, ...values: string[]) {
  return { matchExpressions: [{ key, operator, values }] };
}

describe('requestsOf', () => {
  test.each<[string, RoomyPod['spec'], string]>([
    ['sums containers', { containers: [container({ cpu: '1' }), container({ cpu: '500m' })] }, '1.5'],
    [
      'takes the largest init container when it is more',
      {
        containers: [container({ cpu: '1' })],
        initContainers: [container({ cpu: '2' }), container({ cpu: '3' })],
      },
      '3',
    ],
    [
      'adds sidecars to the containers',
      {
        containers: [container({ cpu: '1' })],
        initContainers: [container({ cpu: '2' }, { restartPolicy: 'Always' })],
      },
      '3',
    ],
    [
      'adds the sidecars started before an init container to it, and no later ones',
      {
        containers: [container({ cpu: '1' })],
        initContainers: [
          container({ cpu: '1' }, { restartPolicy: 'Always' }),
          container({ cpu: '4' }),
          container({ cpu: '1' }, { restartPolicy: 'Always' }),
        ],
      },
      '5',
    ],
    ['adds the overhead', { containers: [container({ cpu: '1' })], overhead: { cpu: '250m' } }, '1.25'],
    [
      'lets requests of the whole pod count instead',
      { containers: [container({ cpu: '1' })], resources: { requests: { cpu: '3' } } },
      '3',
    ],
  ])('%s', (_, spec, expected) => {
    expect(total(spec)).toEqual(cores(expected));
  });

  test('a pod without requests takes nothing', () => {
    expect(total({ containers: [{}] })).toEqual({});
  });
});

describe('whyNot', () => {
  test.each<[string, RoomyNode, RoomyPod, string | undefined]>([
    ['room for it', node('a', roomy), pod('p', { cpu: '4', memory: '8Gi' }), undefined],
    [
      'too little of two resources',
      node('a', roomy),
      pod('p', { cpu: '5', memory: '9Gi' }),
      'it lacks cpu (5 asked for, 4 free), memory (9Gi asked for, 8Gi free)',
    ],
    [
      'a resource that the node does not have',
      node('a', roomy),
      pod('p', { 'example.com/gpu': '1' }),
      'it lacks example.com/gpu (1 asked for, 0 free)',
    ],
    [
      'a resource of which it asks nothing',
      node('a', roomy),
      pod('p', { 'example.com/gpu': '0' }),
      undefined,
    ],
    [
      'no place for one more pod',
      node('a', { ...roomy, pods: '0' }),
      pod('p', {}),
      'it is full (0 of 0 pods)',
    ],
    ['a cordoned node', node('a', roomy, { unschedulable: true }), pod('p', {}), 'it is cordoned'],
    [
      'a cordoned node, and its taint',
      node('a', roomy, { taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] }),
      pod('p', {}),
      'it is cordoned',
    ],
    [
      'a cordon that it tolerates',
      node('a', roomy, { unschedulable: true }),
      pod('p', {}, { tolerations: [{ operator: 'Exists' }] }),
      undefined,
    ],
    [
      'a taint',
      node('a', roomy, { taints: [{ key: 'gpu', value: 'yes', effect: 'NoExecute' }] }),
      pod('p', {}, { tolerations: [{ key: 'gpu', value: 'no' }] }),
      'the pod does not tolerate its taint gpu=yes:NoExecute',
    ],
    [
      'a taint that it tolerates by value',
      node('a', roomy, { taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] }),
      pod('p', {}, { tolerations: [{ key: 'gpu', operator: 'Equal', value: 'yes', effect: 'NoSchedule' }] }),
      undefined,
    ],
    [
      'a toleration of another effect',
      node('a', roomy, { taints: [{ key: 'gpu', effect: 'NoSchedule' }] }),
      pod('p', {}, { tolerations: [{ key: 'gpu', operator: 'Exists', effect: 'NoExecute' }] }),
      'the pod does not tolerate its taint gpu:NoSchedule',
    ],
    [
      'a taint that only asks',
      node('a', roomy, { taints: [{ key: 'gpu', effect: 'PreferNoSchedule' }] }),
      pod('p', {}),
      undefined,
    ],
    [
      'a nodeSelector',
      node('a', roomy),
      pod('p', {}, { nodeSelector: { disk: 'hdd' } }),
      'it has no label disk=hdd',
    ],
    [
      'a nodeSelector that matches',
      node('a', roomy),
      pod('p', {}, { nodeSelector: { disk: 'ssd' } }),
      undefined,
    ],
  ])('%s', (_, there, one, expected) => {
    expect(whyNot(there, [], one)).toBe(expected);
  });

  const affine = (...nodeSelectorTerms: object[]) =>
    pod(
      'p',
      {},
      {
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
      },
    );

  test.each<[string, boolean, object[]]>([
    ['In', true, [expression('disk', 'In', 'hdd', 'ssd')]],
    ['In, other value', false, [expression('disk', 'In', 'hdd')]],
    ['NotIn', false, [expression('disk', 'NotIn', 'ssd')]],
    ['NotIn, no such label', true, [expression('zone', 'NotIn', 'a')]],
    ['Exists', true, [expression('disk', 'Exists')]],
    ['Exists, no such label', false, [expression('zone', 'Exists')]],
    ['DoesNotExist', true, [expression('zone', 'DoesNotExist')]],
    ['Gt', true, [expression('cores', 'Gt', '7')]],
    ['Gt, equal', false, [expression('cores', 'Gt', '8')]],
    ['Lt', true, [expression('cores', 'Lt', '9')]],
    ['Lt, no number', false, [expression('disk', 'Lt', '9')]],
    ['an unknown operator', false, [expression('disk', 'Near', 'ssd')]],
    ['one of two terms', true, [expression('zone', 'Exists'), expression('disk', 'Exists')]],
    ['an empty term', false, [{}]],
    ['no terms', false, []],
    ['its name', true, [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] }]],
    ['another name', false, [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['b'] }] }]],
  ])('required node affinity: %s', (_, fits, terms) => {
    expect(whyNot(node('a', roomy), [], affine(...terms))).toBe(
      fits ? undefined : "the pod's node affinity excludes it",
    );
  });

  test('pods that are there count, finished ones do not', () => {
    const there = [pod('x', { cpu: '3' }), { ...pod('y', { cpu: '4' }), status: { phase: 'Succeeded' } }];
    expect(whyNot(node('a', roomy), there, pod('p', { cpu: '1' }))).toBeUndefined();
    expect(whyNot(node('a', roomy), there, pod('p', { cpu: '1500m' }))).toBe(
      'it lacks cpu (1500m asked for, 1 free)',
    );
  });
});

describe('findPlaces', () => {
  test('counts the pods together', () => {
    const pods = [pod('p', { cpu: '3' }), pod('q', { cpu: '3' }), pod('r', { cpu: '3' })];
    const { placed, homeless } = findPlaces(pods, [node('a', roomy), node('b', roomy)], empty);
    expect(placed.size).toBe(2);
    expect(homeless).toMatchObject([
      { fitsAlone: true, reasons: [{ why: 'it lacks cpu (3 asked for, 1 free)', nodes: 2 }] },
    ]);
  });

  test('places the large ones first', () => {
    const pods = ['1', '1', '3', '3'].map((cpu, index) => pod(`p${index}`, { cpu }));
    expect(findPlaces(pods, [node('a', roomy), node('b', roomy)], empty).homeless).toEqual([]);
  });

  test('leaves the only possible node to those who have no other', () => {
    const choosy = pod('choosy', { cpu: '1' }, { tolerations: [], nodeSelector: { only: 'a' } });
    const a = node('a', { ...roomy, cpu: '4' });
    const only = { ...a, metadata: { ...a.metadata, labels: { only: 'a' } } };
    const { homeless } = findPlaces([pod('big', { cpu: '4' }), choosy], [only, node('b', roomy)], empty);
    expect(homeless).toEqual([]);
  });

  test('says why a pod fits nowhere', () => {
    const nodes = [node('a', roomy), node('b', roomy, { unschedulable: true }), node('c', roomy)];
    const { homeless } = findPlaces([pod('p', { cpu: '64' })], nodes, empty);
    expect(homeless).toMatchObject([
      {
        fitsAlone: false,
        reasons: [
          { why: 'it lacks cpu (64 asked for, 4 free)', nodes: 2 },
          { why: 'it is cordoned', nodes: 1 },
        ],
      },
    ]);
  });

  test('never gives a node more than it has, and places whoever still fits', () => {
    const amounts = fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 15 });
    fc.assert(
      fc.property(amounts, fc.array(fc.integer({ min: 1, max: 8 }), { maxLength: 5 }), (asked, sizes) => {
        const pods = asked.map((milli, index) => pod(`p${index}`, { cpu: `${milli}m` }));
        const nodes = sizes.map((cpu, index) => node(`n${index}`, { cpu: String(cpu), pods: '5' }));
        const { placed, homeless } = findPlaces(pods, nodes, empty);
        expect(placed.size + homeless.length).toBe(pods.length);
        const on = (name: string) => pods.filter(({ metadata }) => placed.get(metadata.uid) === name);
        for (const one of nodes) {
          const there = on(one.metadata.name);
          for (const guest of there) {
            expect(
              whyNot(
                one,
                there.filter((other) => other !== guest),
                guest,
              ),
            ).toBeUndefined();
          }
          for (const { pod: left } of homeless) expect(whyNot(one, there, left)).toBeDefined();
        }
      }),
    );
  });
});
