import { describe, expect, test } from '@jest/globals';
import {
  doNotDisruptAnnotation,
  evacuateFinalizer,
  excludeFromLoadBalancersLabel,
  excludeFromRemediationLabel,
  maintenanceAnnotation,
  maintenanceLabel,
  maintenanceTaintKey,
  scaleDownDisabledAnnotation,
  unschedulableTaintKey,
} from '../../../src/api/names.ts';
import type { Node, Taint } from '../../../src/kube/types.ts';
import type { Holder } from '../../../src/node/marks.ts';
import { type NodeChange, type NodePatch, planNodeChange } from '../../../src/node/patch.ts';
import { type RestoreData, parseRecord } from '../../../src/node/record.ts';
import { applyMergePatch } from '../../fixtures/merge-patch.ts';
import { type NodeOptions, at, node } from '../../fixtures/objects.ts';

function holder(name: string, changes: Partial<Holder> = {}): Holder {
  return {
    name,
    uid: `uid-${name}`,
    reason: '',
    evacuates: true,
    excludeFromLoadBalancers: true,
    taints: [],
    ...changes,
  };
}

const cordonTaint = { key: unschedulableTaintKey, effect: 'NoSchedule' };
const ourTaint = { key: maintenanceTaintKey, effect: 'PreferNoSchedule' };
const extra = (value?: string, key = 'example.com/firmware'): Taint => ({
  key,
  ...(value === undefined ? {} : { value }),
  effect: 'NoSchedule',
});

function apply(before: Node, patch: NodePatch | undefined): Node {
  return patch === undefined ? before : applyMergePatch(before, patch);
}

function noteOf(of: Node): RestoreData | undefined {
  const text = of.metadata.annotations?.[maintenanceAnnotation];
  return text === undefined ? undefined : parseRecord(text);
}

/** Plans with the node's own record and carries it out, as the reconciler would. */
function step(
  before: Node,
  holders: readonly Holder[],
  finalizer = false,
): { node: Node; change: NodeChange } {
  const change = planNodeChange(before, holders, noteOf(before), finalizer);
  return { node: apply(before, change.patch), change };
}

/** What a person would compare: everything but versions, with absent and empty alike. */
function looks(of: Node): unknown {
  return {
    labels: { ...of.metadata.labels },
    annotations: { ...of.metadata.annotations },
    finalizers: [...(of.metadata.finalizers ?? [])],
    taints: [...(of.spec?.taints ?? [])].toSorted((a, b) => (a.key + a.effect < b.key + b.effect ? -1 : 1)),
    unschedulable: of.spec?.unschedulable ?? false,
  };
}

describe('cordoning a node', () => {
  test('puts on everything in one write that applies to the node that was read, and then wants nothing more', () => {
    const { node: held, change } = step(node({ resourceVersion: '41' }), [holder('m1', { reason: 'Disks' })]);
    expect(change.patch?.metadata.resourceVersion).toBe('41');
    expect(held.spec).toEqual({ unschedulable: true, taints: [ourTaint, cordonTaint] });
    expect(held.metadata.labels).toEqual({
      [maintenanceLabel]: 'true',
      [excludeFromRemediationLabel]: 'true',
      [excludeFromLoadBalancersLabel]: 'true',
    });
    expect(held.metadata.annotations).toMatchObject({
      [scaleDownDisabledAnnotation]: 'true',
      [doNotDisruptAnnotation]: 'true',
    });
    expect(parseRecord(held.metadata.annotations?.[maintenanceAnnotation] ?? '')).toEqual({
      holders: [{ name: 'm1', uid: 'uid-m1', reason: 'Disks' }],
      before: { unschedulable: false },
      added: {
        labels: held.metadata.labels,
        annotations: { [scaleDownDisabledAnnotation]: 'true', [doNotDisruptAnnotation]: 'true' },
        taints: [ourTaint],
      },
    });
    expect(change.restoreData).toEqual({ before: { unschedulable: false }, added: noteOf(held)?.added });
    expect(change.uncordonedByHand).toBe(false);
    expect(step(held, [holder('m1', { reason: 'Disks' })]).change.patch).toBeUndefined();
  });

  test('never marks with NoSchedule, which would keep a daemon from coming back', () => {
    const { node: held } = step(node(), [holder('m1')]);
    expect(held.spec?.taints?.find(({ key }) => key === maintenanceTaintKey)?.effect).toBe(
      'PreferNoSchedule',
    );
  });

  test.each<[string, Partial<Holder>, boolean]>([
    ['evacuates', {}, true],
    ['evacuates, switched off', { excludeFromLoadBalancers: false }, false],
    ['only cordons', { evacuates: false }, false],
  ])('takes the node off load balancers when it %s: %p', (_, changes, expected) => {
    const { node: held } = step(node(), [holder('m1', changes)]);
    expect(held.metadata.labels?.[excludeFromLoadBalancersLabel]).toBe(expected ? 'true' : undefined);
  });
});

const foreign: NodeOptions = {
  labels: { 'example.com/rack': '4', zone: 'a' },
  annotations: { 'example.com/owner': 'storage' },
  taints: [{ key: 'example.com/gpu', value: 'yes', effect: 'NoSchedule', timeAdded: at(-500) }],
  finalizers: ['example.com/machine'],
};

test('more extra taints than a node may get: as many as fit, the others are named, and all come off', () => {
  const numbers = [...Array(16).keys()];
  const holders = [...Array(20).keys()].map((number) =>
    holder(`m${number}`, { taints: numbers.map((each) => extra('x', `example.com/t-${number}-${each}`)) }),
  );
  const { node: held, change } = step(node(), holders);
  expect(held.spec?.taints).toHaveLength(128 + 1);
  expect(change.foreignTaints).toHaveLength(20 * 16 - 127);
  expect(change.foreignTaints).toContain('example.com/t-19-0:NoSchedule');
  expect(looks(step(held, []).node)).toEqual(looks(node()));
});

describe('the node is put back exactly as it was', () => {
  const like = { key: maintenanceTaintKey, effect: 'PreferNoSchedule' };
  test.each<[string, NodeOptions, Partial<Holder>]>([
    ['plain', {}, {}],
    ['cordoned before', { unschedulable: true, taints: [{ ...cordonTaint, timeAdded: at(-9) }] }, {}],
    ['cordoned before, its taint not there yet', { unschedulable: true }, {}],
    ['with labels, annotations, taints and finalizers of others', foreign, {}],
    ['with a label like ours', { labels: { [excludeFromLoadBalancersLabel]: 'true' } }, {}],
    [
      'with a label of our key and another value',
      { labels: { [excludeFromRemediationLabel]: 'forever' } },
      {},
    ],
    ['with an empty label of our key', { labels: { [excludeFromLoadBalancersLabel]: '' } }, {}],
    ['with annotations like ours', { annotations: { [doNotDisruptAnnotation]: 'true' } }, {}],
    [
      'with an annotation that says the opposite',
      { annotations: { [scaleDownDisabledAnnotation]: 'false' } },
      {},
    ],
    ['with a taint like ours', { taints: [like] }, {}],
    ['with a taint of our key and a value', { taints: [{ ...like, value: 'x' }] }, {}],
    ['with a taint of our key and another effect', { taints: [{ ...like, effect: 'NoExecute' }] }, {}],
    ['with extra taints', {}, { taints: [extra('4.2'), extra(undefined, 'example.com/other')] }],
    [
      'with an extra taint that was there',
      { taints: [{ ...extra('4.2'), timeAdded: at(-9) }] },
      { taints: [extra('4.2')] },
    ],
    ['with an extra taint of another value', { taints: [extra('3')] }, { taints: [extra('4.2')] }],
    [
      'with an extra taint of another effect',
      { taints: [{ ...extra('3'), effect: 'NoExecute' }] },
      { taints: [extra('3')] },
    ],
  ])('%s', (_, options, changes) => {
    const before = node(options);
    const { node: held } = step(before, [holder('m1', changes)]);
    expect(held.spec?.unschedulable).toBe(true);
    for (const taint of before.spec?.taints ?? []) expect(held.spec?.taints).toContainEqual(taint);
    const { node: after, change } = step(held, []);
    const expected =
      before.spec?.unschedulable === true && before.spec.taints === undefined
        ? { ...before, spec: { ...before.spec, taints: [cordonTaint] } }
        : before;
    expect(looks(after)).toEqual(looks(expected));
    expect(change.restoreData).toBeUndefined();
    expect(step(after, []).change.patch).toBeUndefined();
  });

  test('also when others changed it meanwhile: their changes stay', () => {
    const { node: held } = step(node(foreign), [holder('m1', { taints: [extra('4.2')] })]);
    const meanwhile = node({
      labels: { ...held.metadata.labels, zone: 'b', new: 'x', [excludeFromRemediationLabel]: 'mine-now' },
      annotations: { ...held.metadata.annotations, note: 'y' },
      taints: [...(held.spec?.taints ?? []).filter(({ key }) => key !== extra().key), extra('theirs')],
      unschedulable: true,
    });
    const { node: repaired, change } = step(meanwhile, [holder('m1', { taints: [extra('4.2')] })]);
    expect(change.foreignTaints).toEqual(['example.com/firmware:NoSchedule']);
    const { node: after } = step(repaired, []);
    expect(looks(after)).toEqual(
      looks(
        node({
          labels: { 'example.com/rack': '4', zone: 'b', new: 'x', [excludeFromRemediationLabel]: 'mine-now' },
          annotations: { 'example.com/owner': 'storage', note: 'y' },
          taints: [...(foreign.taints ?? []), extra('theirs')],
        }),
      ),
    );
  });

  test('the record of a maintenance that another version of the rules wrote is followed, not the rules of today', () => {
    const { node: held } = step(node(), [holder('m1')]);
    const text = JSON.stringify({
      ...parseRecord(held.metadata.annotations?.[maintenanceAnnotation] ?? ''),
      added: {
        labels: { 'old.example.com/mark': 'true' },
        annotations: {},
        taints: [{ key: 'old', effect: 'NoSchedule' }],
      },
    });
    const old = node({
      labels: { 'old.example.com/mark': 'true', [excludeFromLoadBalancersLabel]: 'true' },
      annotations: { [maintenanceAnnotation]: text },
      taints: [{ key: 'old', effect: 'NoSchedule' }, cordonTaint],
      unschedulable: true,
    });
    expect(looks(step(old, []).node)).toEqual(
      looks(node({ labels: { [excludeFromLoadBalancersLabel]: 'true' } })),
    );
  });
});

function without(record: Readonly<Record<string, string>> | undefined, gone: string): Record<string, string> {
  return Object.fromEntries(Object.entries(record ?? {}).filter(([key]) => key !== gone));
}

describe('drift', () => {
  const held = step(node(foreign), [holder('m1', { taints: [extra('4.2')] })]).node;
  const options = (): NodeOptions => ({
    labels: held.metadata.labels ?? {},
    annotations: held.metadata.annotations ?? {},
    taints: held.spec?.taints ?? [],
    finalizers: held.metadata.finalizers ?? [],
    unschedulable: true,
  });
  test.each<[string, () => NodeOptions]>([
    ['a label of ours', () => ({ ...options(), labels: without(held.metadata.labels, maintenanceLabel) })],
    [
      'an annotation of ours',
      () => ({ ...options(), annotations: without(held.metadata.annotations, doNotDisruptAnnotation) }),
    ],
    [
      'our taint',
      () => ({
        ...options(),
        taints: (held.spec?.taints ?? []).filter(({ key }) => key !== maintenanceTaintKey),
      }),
    ],
    [
      'an extra taint',
      () => ({ ...options(), taints: (held.spec?.taints ?? []).filter(({ key }) => key !== extra().key) }),
    ],
    [
      'the taint of the cordon',
      () => ({
        ...options(),
        taints: (held.spec?.taints ?? []).filter(({ key }) => key !== unschedulableTaintKey),
      }),
    ],
    ['all taints', () => ({ ...options(), taints: [] })],
  ])('%s is put back', (_, drifted) => {
    const { node: repaired, change } = step(node(drifted()), [holder('m1', { taints: [extra('4.2')] })]);
    expect(change.uncordonedByHand).toBe(false);
    const gpuGone = drifted().taints?.length === 0;
    const expected = { ...(looks(held) as { taints: Taint[] }) };
    if (gpuGone) expected.taints = expected.taints.filter(({ key }) => key !== 'example.com/gpu');
    expect(looks(repaired)).toEqual(expected);
  });

  test('a record that names another reason is written again', () => {
    const { change } = step(held, [holder('m1', { reason: 'Edited', taints: [extra('4.2')] })]);
    expect(Object.keys(change.patch?.metadata.annotations ?? {})).toEqual([maintenanceAnnotation]);
    expect(change.patch?.spec).toBeUndefined();
  });

  test('taints in another order are no drift', () => {
    const turned = node({ ...options(), taints: [...(held.spec?.taints ?? [])].toReversed() });
    expect(step(turned, [holder('m1', { taints: [extra('4.2')] })]).change.patch).toBeUndefined();
  });
});

describe('uncordoned by hand', () => {
  test.each([
    ['schedulable before', false],
    ['cordoned before', true],
  ])('a node that was %s is cordoned again, and schedulable afterwards', (_, before) => {
    const { node: held } = step(node({ unschedulable: before }), [holder('m1')]);
    const freed = apply(held, {
      metadata: { resourceVersion: '8' },
      spec: {
        unschedulable: null,
        taints: (held.spec?.taints ?? []).filter(({ key }) => key !== unschedulableTaintKey),
      },
    });
    const { node: again, change } = step(freed, [holder('m1')]);
    expect(change.uncordonedByHand).toBe(true);
    expect(again.spec?.unschedulable).toBe(true);
    expect(noteOf(again)?.before).toEqual({ unschedulable: false });
    expect(step(again, []).node.spec?.unschedulable ?? false).toBe(false);
  });

  test('as the last one leaves, it stays uncordoned', () => {
    const { node: held } = step(node({ unschedulable: true }), [holder('m1')]);
    const freed = apply(held, { metadata: { resourceVersion: '8' }, spec: { unschedulable: null } });
    expect(step(freed, []).node.spec?.unschedulable ?? false).toBe(false);
  });
});

describe('several holders', () => {
  const one = holder('one', { evacuates: false, taints: [extra('1', 'example.com/one'), extra('old')] });
  const two = holder('two', { taints: [extra('2', 'example.com/two'), extra('young')] });
  const before = node({ ...foreign, unschedulable: true, taints: [...(foreign.taints ?? []), cordonTaint] });
  const both = step(step(before, [one]).node, [one, two]).node;

  test('carries the union; where they differ, the older one counts', () => {
    expect(both.metadata.labels?.[excludeFromLoadBalancersLabel]).toBe('true');
    expect(both.spec?.taints).toContainEqual(extra('1', 'example.com/one'));
    expect(both.spec?.taints).toContainEqual(extra('2', 'example.com/two'));
    expect(both.spec?.taints).toContainEqual(extra('old'));
    expect(both.spec?.taints).not.toContainEqual(extra('young'));
  });

  test('the one that leaves takes off what only it wanted', () => {
    const left = step(both, [two]).node;
    expect(left.spec?.unschedulable).toBe(true);
    expect(left.spec?.taints?.map(({ key }) => key)).not.toContain('example.com/one');
    expect(left.spec?.taints).toContainEqual(extra('young'));
    expect(step(both, [one]).node.metadata.labels?.[excludeFromLoadBalancersLabel]).toBeUndefined();
  });

  test.each([
    ['the older one', [two]],
    ['the younger one', [one]],
    ['both at once', []],
  ])('the last one out restores when %s leaves first', (_, rest) => {
    const after = step(step(both, rest).node, []).node;
    expect(looks(after)).toEqual(looks(before));
  });
});

describe('edits', () => {
  test.each<[string, Partial<Holder>, Partial<Holder>]>([
    ['a taint is added', {}, { taints: [extra('1')] }],
    ['a taint is taken off', { taints: [extra('1')] }, {}],
    ['the value of a taint changes', { taints: [extra('1')] }, { taints: [extra('2')] }],
    ['the value of a taint is taken away', { taints: [extra('1')] }, { taints: [extra()] }],
    [
      'the effect of a taint changes',
      { taints: [extra('1')] },
      { taints: [{ ...extra('1'), effect: 'PreferNoSchedule' }] },
    ],
    ['from evacuating to cordoning', {}, { evacuates: false }],
    ['from cordoning to evacuating', { evacuates: false }, {}],
    ['load balancers are switched off', {}, { excludeFromLoadBalancers: false }],
  ])(
    'when %s, the node looks as if it had begun like that, and is restored all the same',
    (_, first, second) => {
      const before = node(foreign);
      const edited = step(step(before, [holder('m1', first)]).node, [holder('m1', second)]);
      expect(looks(edited.node)).toEqual(looks(step(before, [holder('m1', second)]).node));
      expect(edited.change.foreignTaints).toEqual([]);
      expect(looks(step(edited.node, []).node)).toEqual(looks(before));
    },
  );

  test('a foreign taint in the way is reported, and ours goes on when it has gone', () => {
    const before = node({ taints: [extra('theirs')] });
    const first = step(before, [holder('m1', { taints: [extra('ours')] })]);
    expect(first.change.foreignTaints).toEqual(['example.com/firmware:NoSchedule']);
    const freed = node({
      labels: first.node.metadata.labels ?? {},
      annotations: first.node.metadata.annotations ?? {},
      taints: (first.node.spec?.taints ?? []).filter(({ key }) => key !== extra().key),
      unschedulable: true,
    });
    const second = step(freed, [holder('m1', { taints: [extra('ours')] })]);
    expect(second.node.spec?.taints).toContainEqual(extra('ours'));
    expect(step(second.node, []).node.spec?.taints ?? []).toEqual([]);
  });
});

describe('what the statuses have to know before the write', () => {
  const taints = [extra('1'), extra('2', 'example.com/other')];
  test('what is taken off is still on the node, and is forgotten only when it is off', () => {
    const { node: held } = step(node(foreign), [holder('m1', { taints })]);
    const edited = holder('m1', { evacuates: false, taints: [extra('3')] });
    const { node: after, change } = step(held, [edited]);
    const still = new Set(change.mirror?.added.taints.map(({ key, value }) => `${key}=${value ?? ''}`));
    expect([...still].toSorted()).toEqual([
      'example.com/firmware=1',
      'example.com/firmware=3',
      'example.com/other=2',
      `${maintenanceTaintKey}=`,
    ]);
    expect(change.mirror?.added.labels[excludeFromLoadBalancersLabel]).toBe('true');
    expect(change.restoreData?.added.labels[excludeFromLoadBalancersLabel]).toBeUndefined();
    const settled = step(after, [edited]).change;
    expect(settled.mirror).toEqual(settled.restoreData);
    // The write failed and the node's own copy was lost: all is put back from the mirror alone.
    const { [maintenanceAnnotation]: _, ...annotations } = held.metadata.annotations ?? {};
    const lost: Node = { ...held, metadata: { ...held.metadata, annotations } };
    const restored = apply(lost, planNodeChange(lost, [], change.mirror, false).patch);
    expect(looks(restored)).toEqual(looks(node(foreign)));
  });
});

describe('a node that is being deleted', () => {
  test('is never made schedulable again, and keeps the taint of the cordon', () => {
    const held = step(node(), [holder('m1')], true).node;
    const leaving: Node = { ...held, metadata: { ...held.metadata, deletionTimestamp: at(0) } };
    const after = step(leaving, []).node;
    expect(after.spec?.unschedulable).toBe(true);
    expect(after.spec?.taints).toEqual([cordonTaint]);
    expect(after.metadata.annotations).toEqual({});
    expect(after.metadata.finalizers).toEqual([]);
  });
});

describe('the finalizer on the node', () => {
  const other = 'example.com/machine';
  test.each<[string, NodeOptions, boolean, readonly string[] | undefined]>([
    ['is put on beside others', { finalizers: [other] }, true, [other, evacuateFinalizer]],
    ['is put on an otherwise untouched list', {}, true, [evacuateFinalizer]],
    ['is taken off alone', { finalizers: [evacuateFinalizer, other] }, false, [other]],
    ['is left alone where it is wanted', { finalizers: [evacuateFinalizer] }, true, undefined],
    [
      'is not put on once deletion has begun',
      { deletionTimestamp: at(0), finalizers: [other] },
      true,
      undefined,
    ],
    [
      'comes off while deletion is under way',
      { deletionTimestamp: at(0), finalizers: [evacuateFinalizer] },
      false,
      [],
    ],
  ])('%s', (_, options, wanted, expected) => {
    expect(planNodeChange(node(options), [], undefined, wanted).patch?.metadata.finalizers).toEqual(expected);
  });
});

test('a node that nobody holds and that was never held is not written', () => {
  for (const options of [
    {},
    foreign,
    { unschedulable: true },
    { unschedulable: true, taints: [cordonTaint] },
  ]) {
    expect(planNodeChange(node(options), [], undefined, false).patch).toBeUndefined();
  }
});
