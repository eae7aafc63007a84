import { describe, expect, test } from '@jest/globals';
import type { Condition, Node } from '../../../src/kube/types.ts';
import {
  type MaintenanceState,
  conditionsDiffer,
  desiredNodeConditions,
  nodeConditionsPatch,
} from '../../../src/node/conditions.ts';
import { at, node } from '../../fixtures/objects.ts';

type State = MaintenanceState['state'];
const state = (name: string, is: State, reason = ''): MaintenanceState => ({ name, reason, state: is });

/** Applies the strategic merge patch as the API server does: by type, with `$patch: delete`. */
function apply(of: Node, patch: object): Node {
  const { status } = patch as { status: { conditions: (Condition & { $patch?: string })[] } };
  const touched = status.conditions.map(({ type }) => type);
  const kept = (of.status?.conditions ?? []).filter(({ type }) => !touched.includes(type));
  return {
    ...of,
    status: { conditions: [...kept, ...status.conditions.filter((each) => each.$patch === undefined)] },
  };
}

function since(of: Node, type: string): string | undefined {
  return of.status?.conditions?.find((each) => each.type === type)?.lastTransitionTime;
}

describe('what the node says', () => {
  test.each<[string, State[], Record<string, boolean>]>([
    ['planned', ['planned'], { planned: true, inProgress: false, draining: false, drained: false }],
    ['only cordoned', ['inProgress'], { planned: false, inProgress: true, draining: false, drained: false }],
    ['draining', ['draining'], { planned: false, inProgress: true, draining: true, drained: false }],
    ['drained', ['drained'], { planned: false, inProgress: true, draining: false, drained: true }],
    [
      'drained for one, another one drains',
      ['drained', 'draining'],
      { planned: false, inProgress: true, draining: true, drained: false },
    ],
    [
      'drained for one, planned for another',
      ['planned', 'drained'],
      { planned: false, inProgress: true, draining: false, drained: true },
    ],
  ])('%s', (_, states, expected) => {
    const found = desiredNodeConditions(states.map((each, index) => state(`m${index}`, each)));
    const value = (type: string) => found.find((each) => each.type === type)?.status === 'True';
    expect({
      planned: value('MaintenancePlanned'),
      inProgress: value('MaintenanceInProgress'),
      draining: value('DrainInProgress'),
      drained: value('Drained'),
    }).toEqual(expected);
  });

  test('nothing when nobody speaks', () => expect(desiredNodeConditions([])).toEqual([]));

  test('names all maintenances with their reasons, within the bounds of a message', () => {
    const [first] = desiredNodeConditions([state('a', 'draining', 'Disks'), state('b', 'planned')]);
    expect(first?.message).toBe('a: Disks; b');
    const long = desiredNodeConditions([
      state('a', 'draining', 'x'.repeat(1024)),
      state('b', 'planned', 'y'.repeat(1024)),
    ]);
    expect(long[0]?.message.length).toBeLessThanOrEqual(1024);
  });
});

describe('the patch', () => {
  const draining = desiredNodeConditions([state('m1', 'draining')]);
  const drained = desiredNodeConditions([state('m1', 'drained')]);

  test('makes the node say what is wanted, leaves other conditions alone and applies to this very node', () => {
    const patch = nodeConditionsPatch(node(), draining, at(0));
    expect(patch).toMatchObject({ metadata: { uid: 'uid-n1', resourceVersion: expect.any(String) } });
    const after = apply(node(), patch);
    expect(conditionsDiffer(after, draining)).toBe(false);
    expect(after.status?.conditions?.find(({ type }) => type === 'Ready')).toEqual(
      node().status?.conditions?.[0],
    );
  });

  test('moves lastTransitionTime only where the status flips', () => {
    const first = apply(node(), nodeConditionsPatch(node(), draining, at(0)));
    const second = apply(first, nodeConditionsPatch(first, drained, at(60)));
    expect(since(second, 'MaintenanceInProgress')).toBe(at(0));
    expect(since(second, 'DrainInProgress')).toBe(at(60));
    expect(since(second, 'Drained')).toBe(at(60));
  });

  test('takes all of ours off, and none of another controller', () => {
    const held = apply(node(), nodeConditionsPatch(node(), drained, at(0)));
    const theirs = { type: 'Drained', status: 'True', reason: 'MachineController', message: 'theirs' };
    const mixed: Node = {
      ...held,
      status: {
        conditions: [...(held.status?.conditions ?? []).filter(({ type }) => type !== 'Drained'), theirs],
      },
    };
    const after = apply(mixed, nodeConditionsPatch(mixed, [], at(9)));
    expect(after.status?.conditions).toEqual([node().status?.conditions?.[0], theirs]);
    expect(conditionsDiffer(after, [])).toBe(false);
  });

  // Half a pair at the cut comes back as another character, and the message would be written for ever.
  test('a reason of any characters is what the API server gives back', () => {
    for (const reason of ['a\nb\u0000c\u202ed', ...['', 'x'].map((first) => first + '😀'.repeat(1024))]) {
      const conditions = desiredNodeConditions([state('m1', 'drained', reason)]);
      const given = JSON.parse(JSON.stringify(conditions)) as typeof conditions;
      for (const { message } of given) {
        expect(message.isWellFormed()).toBe(true);
        expect(message).not.toMatch(/[\p{Cc}\p{Cf}]/u);
        expect(message.length).toBeLessThanOrEqual(1024);
      }
    }
  });

  test('an edited reason is a difference, the same words are none', () => {
    const held = apply(node(), nodeConditionsPatch(node(), drained, at(0)));
    expect(conditionsDiffer(held, desiredNodeConditions([state('m1', 'drained', 'Disks')]))).toBe(true);
    expect(conditionsDiffer(held, desiredNodeConditions([state('m1', 'drained')]))).toBe(false);
  });
});
