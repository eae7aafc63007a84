import { describe, expect, test } from '@jest/globals';
import { maintenanceAnnotation } from '../../../src/api/names.ts';
import { at, budget, pod } from '../../fixtures/objects.ts';
import { Stage } from '../../fixtures/stage.ts';

/** `reason` of what has been told since the last time, with an N in front where it is about the node. */
function told(stage: Stage): string[] {
  return stage.events.splice(0).map(({ reason, maintenance }) => (maintenance ? reason : `N ${reason}`));
}

test('a whole life: begun, blocked once per cause, drained, put back; nothing per pod', () => {
  const stage = new Stage().create({ reason: 'Disks' });
  const pods = ['a', 'b', 'c', 'd'].map((name) => pod(name));
  stage.pods = [...pods, pod('z', { owner: undefined })];
  stage.budgets = [budget('web')];
  stage.settle();
  const [began] = stage.events;
  expect(began?.note).toBe('maintenance of node n1 began: Disks');
  expect(told(stage)).toEqual(['MaintenanceStarted', 'DrainBlocked', 'DrainBlocked', 'N MaintenanceStarted']);
  stage.pods = stage.pods?.slice(2);
  stage.seconds = 10;
  stage.settle();
  expect(told(stage)).toEqual([]);
  stage.pods = [];
  stage.settle();
  expect(told(stage)).toEqual(['Drained']);
  stage.delete().settle();
  expect(told(stage)).toEqual(['N MaintenanceEnded', 'Restored']);
});

test('a cause that comes back is not told again', () => {
  const stage = Object.assign(new Stage().create(), { pods: [pod('a')], budgets: [budget('web')] });
  stage.settle();
  told(stage);
  stage.budgets = [];
  stage.settle();
  stage.notes = { ...stage.notes, toldCauses: new Map([['uid-m1', new Set(['PodDisruptionBudget'])]]) };
  stage.budgets = [budget('web')];
  stage.settle();
  expect(told(stage)).toEqual([]);
});

test('the event of a cause carries it, so that it can be remembered', () => {
  const stage = Object.assign(new Stage().create(), { pods: [pod('a')], budgets: [budget('web')] });
  stage.settle();
  expect(stage.events.find(({ reason }) => reason === 'DrainBlocked')).toMatchObject({
    type: 'Warning',
    cause: 'PodDisruptionBudget',
    note: 'PodDisruptionBudget: shop/a: budget shop/web needs 2 healthy pods and has 2',
  });
});

describe('once each', () => {
  test('announced', () => {
    const stage = new Stage().create({ nodeDrainPolicy: 'Ignore' });
    stage.settle();
    expect(told(stage)).toEqual(['MaintenanceStarted', 'Announced']);
  });

  test('failed, and again after an edit failed again', () => {
    const stage = Object.assign(new Stage().create({ drain: { timeoutSeconds: 5 } }), { pods: [pod('a')] });
    stage.settle();
    told(stage);
    stage.seconds = 5;
    stage.settle();
    stage.seconds = 50;
    stage.settle();
    expect(told(stage)).toEqual(['DrainFailed']);
    stage.edit({ drain: { timeoutSeconds: 6 } }).settle();
    expect(told(stage)).toEqual([]);
    stage.seconds = 56;
    stage.settle();
    expect(told(stage)).toEqual(['DrainFailed']);
  });

  test.each<[string, () => Stage, string[]]>([
    [
      'not found for long',
      () => {
        const stage = Object.assign(new Stage().create(), { node: undefined });
        stage.settle();
        return Object.assign(stage, { seconds: 300 });
      },
      ['NodeNotFound'],
    ],
    [
      'invalid',
      () =>
        new Stage().create({
          nodeDrainPolicy: 'Evacuate',
          drain: { podSelector: { matchLabels: { '-': '' } } },
        }),
      ['MaintenanceStarted', 'InvalidSpec', 'N MaintenanceStarted'],
    ],
    [
      'gone',
      () => {
        const stage = new Stage().create();
        stage.settle();
        told(stage);
        return Object.assign(stage, { node: undefined });
      },
      ['NodeGone'],
    ],
  ])('%s', (_, make, expected) => {
    const stage = make();
    stage.settle();
    expect(told(stage)).toEqual(expected);
  });

  test('a restart tells nothing again', () => {
    const stage = new Stage().create();
    stage.pods = [pod('a')];
    stage.budgets = [budget('web')];
    stage.settle();
    told(stage);
    const pods = stage.restart();
    stage.settle();
    stage.pods = pods;
    stage.settle();
    expect(told(stage)).toEqual([]);
  });

  test('a damaged record, with what was done about it', () => {
    const stage = new Stage().create();
    stage.settle();
    told(stage);
    stage.touchNode({ metadata: { annotations: { [maintenanceAnnotation]: '{' } } });
    stage.settle();
    const notes = stage.events.map(({ note }) => note);
    expect(told(stage)).toEqual(['N RecordDamaged']);
    expect(notes[0]).toContain('written again');
  });
});

test('what was not written is not told', () => {
  const stage = new Stage().create();
  stage.settle();
  stage.touchNode({ spec: { unschedulable: null } });
  stage.notes = { ...stage.notes, recordonAt: 2_000_000 };
  expect(stage.plan().nodeEvents).toEqual([]);
});

test('the last maintenance of several ends it for the node', () => {
  const stage = new Stage().create().create({ nodeDrainPolicy: 'NoSchedule' }, 'm2');
  stage.settle();
  told(stage);
  stage.delete('m1').settle();
  expect(told(stage)).toEqual(['Restored']);
  stage.delete('m2').settle();
  expect(told(stage)).toEqual(['N MaintenanceEnded', 'Restored']);
});

test('a node that comes back under its name begins a maintenance of its own', () => {
  const stage = new Stage().create();
  stage.settle();
  told(stage);
  const again = new Stage().node;
  stage.node = again && {
    ...again,
    metadata: { ...again.metadata, uid: 'uid-again', creationTimestamp: at(5) },
  };
  stage.seconds = 5;
  stage.settle();
  expect(told(stage)).toContain('N MaintenanceStarted');
});
