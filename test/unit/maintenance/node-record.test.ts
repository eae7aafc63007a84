import { describe, expect, test } from '@jest/globals';
import { maintenanceAnnotation, maintenanceLabel, maintenanceTaintKey } from '../../../src/api/names.ts';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../../../src/api/types.generated.ts';
import { findRecord, restorable } from '../../../src/maintenance/node-record.ts';
import { type NodeRecord, parseRecord } from '../../../src/node/record.ts';
import { type NodeOptions, at, maintenance, node, record } from '../../fixtures/objects.ts';
import { Stage } from '../../fixtures/stage.ts';

const added = { labels: { [maintenanceLabel]: 'true' }, annotations: {}, taints: [] };

function mirror(unschedulable: boolean, cordoned: string, uid = 'uid-n1'): NodeMaintenanceStatus {
  const [status, reason] = cordoned.split('/') as ['True' | 'False', string];
  return {
    node: { uid, before: { unschedulable }, added },
    conditions: [{ type: 'Cordoned', status, reason, message: '', lastTransitionTime: at(0) }],
  };
}

const one = (status?: NodeMaintenanceStatus, name = 'm1') => maintenance({}, status ? { status } : {}, name);
const marked: NodeOptions = { labels: { [maintenanceLabel]: 'true' }, unschedulable: true };
const recalled: { nodeUid: string; record: NodeRecord } = {
  nodeUid: 'uid-n1',
  record: { holders: [{ name: 'x', uid: 'uid-x', reason: '' }], before: { unschedulable: true }, added },
};

describe('where the record of a node comes from', () => {
  test.each<[string, NodeOptions, NodeMaintenance[], typeof recalled | undefined, boolean | undefined]>([
    ['an untouched node has none', {}, [one()], undefined, undefined],
    [
      'its own copy counts',
      { ...marked, annotations: { [maintenanceAnnotation]: record([one()], false) } },
      [one(mirror(true, 'True/Cordoned'))],
      recalled,
      false,
    ],
    ['removed: the mirror of a maintenance', marked, [one(mirror(false, 'True/Cordoned'))], undefined, false],
    [
      'damaged: the mirror of a maintenance',
      { ...marked, annotations: { [maintenanceAnnotation]: '{' } },
      [one(mirror(true, 'True/Cordoned'))],
      undefined,
      true,
    ],
    [
      'removed with all marks: the mirror of one that was really cordoned',
      { unschedulable: true },
      [one(mirror(false, 'True/Cordoned'))],
      undefined,
      false,
    ],
    [
      'the same in the middle of the repair',
      { unschedulable: true },
      [one(mirror(false, 'False/Updating'))],
      undefined,
      false,
    ],
    [
      'the same after somebody uncordoned it',
      { unschedulable: true },
      [one(mirror(false, 'False/UncordonedByHand'))],
      undefined,
      false,
    ],
    [
      'a mirror that was only about to be used does not count',
      { unschedulable: true },
      [one(mirror(false, 'False/Cordoning'))],
      undefined,
      undefined,
    ],
    [
      'a mirror of one that has put the node back does not count',
      { unschedulable: true },
      [one(mirror(false, 'False/Restored'))],
      undefined,
      undefined,
    ],
    [
      'a mirror of a node of the same name does not count',
      marked,
      [one(mirror(false, 'True/Cordoned', 'uid-before'))],
      undefined,
      undefined,
    ],
    [
      'any of several mirrors',
      marked,
      [
        one(undefined, 'm0'),
        one({ node: { uid: 'uid-n1' } }, 'm1'),
        one(mirror(true, 'True/Cordoned'), 'm2'),
      ],
      undefined,
      true,
    ],
    ['removed and no mirror: what is remembered', marked, [], recalled, true],
    [
      'what is remembered of another node does not count',
      marked,
      [],
      { ...recalled, nodeUid: 'uid-before' },
      undefined,
    ],
    [
      'what is remembered does not count for a node that is clean',
      { unschedulable: true },
      [],
      recalled,
      undefined,
    ],
    [
      'a mirror comes before what is remembered',
      marked,
      [one(mirror(false, 'True/Cordoned'))],
      recalled,
      false,
    ],
  ])('%s', (_, options, maintenances, remembered, before) => {
    expect(findRecord(node(options), maintenances, remembered).restoreData?.before.unschedulable).toBe(
      before,
    );
  });

  test('a mirror of one that is being deleted is old: another one comes first', () => {
    const leaving = maintenance(
      {},
      { status: mirror(false, 'True/Cordoned'), deletionTimestamp: at(0) },
      'm0',
    );
    const staying = one(mirror(true, 'True/Cordoned'));
    expect(findRecord(node(marked), [leaving, staying], undefined).restoreData?.before.unschedulable).toBe(
      true,
    );
    expect(findRecord(node(marked), [leaving], undefined).restoreData?.before.unschedulable).toBe(false);
  });

  test('once one mirror says that there was a record, the newer mirror of one that is just beginning counts too', () => {
    const leaving = maintenance(
      {},
      { status: mirror(false, 'True/Cordoned'), deletionTimestamp: at(0) },
      'm0',
    );
    const beginning = one(mirror(true, 'False/Cordoning'));
    const found = findRecord(node({ unschedulable: true }), [leaving, beginning], undefined);
    expect(found.restoreData?.before.unschedulable).toBe(true);
  });

  test('holders are those that the node itself names, or named', () => {
    const text = record([one(), one(undefined, 'm2')], false);
    expect(
      findRecord(node({ annotations: { [maintenanceAnnotation]: text } }), [], undefined).holders.map(
        ({ name }) => name,
      ),
    ).toEqual(['m1', 'm2']);
    expect(findRecord(node(marked), [], recalled).holders.map(({ name }) => name)).toEqual(['x']);
  });
});

describe('a record that is lost for good', () => {
  test('only what carries the name of haulout comes off, and the cordon stays: nobody guesses', () => {
    const taint = { key: maintenanceTaintKey, effect: 'PreferNoSchedule' };
    const damaged = node({ ...marked, taints: [taint], annotations: { [maintenanceAnnotation]: 'x' } });
    const found = findRecord(damaged, [], undefined);
    expect(found).toEqual({ restoreData: undefined, holders: [], damaged: true });
    expect(restorable(damaged, found)).toEqual({
      before: { unschedulable: true },
      added: { labels: { [maintenanceLabel]: 'true' }, annotations: {}, taints: [taint] },
    });
  });

  test('a node that was never touched has nothing that could be restored', () => {
    expect(restorable(node(), findRecord(node(), [], undefined))).toBeUndefined();
  });

  test('a maintenance that begins on such a node does not say that somebody uncordoned it', () => {
    const stage = new Stage().create();
    stage.touchNode({ metadata: { annotations: { [maintenanceAnnotation]: 'x' } } });
    stage.settle();
    expect(stage.events.map(({ reason }) => reason)).not.toContain('CordonPutBack');
    expect(stage.said('Ready')).toBe('True/Drained');
    stage.delete().settle();
    expect(stage.node?.spec?.unschedulable).toBeUndefined();
  });
});

const removed = { metadata: { annotations: { [maintenanceAnnotation]: null } } };
const stripped = {
  metadata: { annotations: { [maintenanceAnnotation]: null }, labels: { [maintenanceLabel]: null } },
  spec: { taints: [] },
};

describe.each([
  ['removed', removed],
  ['damaged', { metadata: { annotations: { [maintenanceAnnotation]: '{"holders":[' } } }],
  ['removed with all marks', stripped],
])('a record that somebody %s', (_what, patch) => {
  test.each([
    ['schedulable', false],
    ['cordoned', true],
  ])('is written again from the status: a node that was %s is that afterwards', (_, cordoned) => {
    const stage = new Stage().create();
    if (cordoned) stage.touchNode({ spec: { unschedulable: true } });
    stage.settle();
    const before = stage.node?.metadata.annotations?.[maintenanceAnnotation];
    stage.restart();
    stage.touchNode(patch);
    stage.settle();
    expect(stage.node?.metadata.annotations?.[maintenanceAnnotation]).toBe(before);
    stage.delete().settle();
    expect(stage.node?.spec?.unschedulable ?? false).toBe(cordoned);
    expect(stage.node?.metadata.labels).toEqual({});
  });

  test('is followed also if it is the end of the maintenance that finds it, and a restart comes in the middle', () => {
    const stage = new Stage().create();
    stage.settle();
    stage.touchNode(patch).delete();
    const { node: drifted } = stage;
    stage.step();
    // The status was written and the write on the node was lost.
    stage.node = drifted;
    stage.restart();
    stage.settle();
    expect(stage.node?.spec?.unschedulable).toBeUndefined();
    expect(stage.maintenances).toEqual([]);
  });

  test('is followed also through a conflict in the middle of the repair', () => {
    const stage = new Stage().create();
    stage.settle();
    const noted = parseRecord(stage.node?.metadata.annotations?.[maintenanceAnnotation] ?? '');
    stage.touchNode(patch);
    const { node: drifted } = stage;
    stage.step();
    stage.node = drifted;
    stage.restart();
    stage.settle();
    expect(parseRecord(stage.node?.metadata.annotations?.[maintenanceAnnotation] ?? '')).toEqual(noted);
  });

  test('is followed when the policy goes to Ignore at the same time', () => {
    const stage = new Stage().create();
    stage.settle();
    stage.touchNode(patch).edit({ nodeDrainPolicy: 'Ignore' });
    const { node: drifted } = stage;
    stage.step();
    stage.node = drifted;
    stage.restart();
    stage.settle();
    expect(stage.node?.spec?.unschedulable).toBeUndefined();
    expect(stage.said('Ready')).toBe('True/Announced');
  });
});

test('whoever takes a node over from another one has a record from the first moment', () => {
  const stage = new Stage().create().create({ suspend: true }, 'm2');
  stage.settle();
  stage.edit({ nodeDrainPolicy: 'Ignore' }).edit({ suspend: false }, 'm2');
  stage.step();
  // Handed over; the first one may have said so already, the second one has not yet said that it is Cordoned.
  stage.maintenances = stage.maintenances.map((each) =>
    each.metadata.name === 'm1' && each.status
      ? { ...each, status: { ...each.status, node: { uid: 'uid-n1' } } }
      : each,
  );
  stage.touchNode(stripped);
  stage.settle();
  stage.delete('m2').settle();
  expect(stage.node?.spec?.unschedulable).toBeUndefined();
  expect(stage.node?.metadata.labels).toEqual({});
});

test('a cordon by hand after the node was put back is not ours to undo, however long the rest takes', () => {
  const stage = new Stage().create();
  stage.settle();
  const said = stage.node?.status;
  stage.delete();
  stage.step();
  expect(stage.node?.spec?.unschedulable).toBeUndefined();
  // The conditions of the node could not be written yet.
  stage.touchNode({ status: said });
  const { node: lagging } = stage;
  stage.step();
  expect(stage.said('Cordoned')).toBe('False/Restored');
  stage.node = lagging;
  stage.touchNode({ spec: { unschedulable: true } });
  stage.settle();
  expect(stage.maintenances).toEqual([]);
  expect(stage.node?.spec?.unschedulable).toBe(true);
});
