import { describe, expect, test } from '@jest/globals';
import { maintenanceAnnotation } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/types.generated.ts';
import { Store } from '../../../src/kube/store.ts';
import type { Node } from '../../../src/kube/types.ts';
import { TurnKeeper } from '../../../src/maintenance/turn-keeper.ts';
import { maintenance, node } from '../../fixtures/objects.ts';

/** One place, and a maintenance of each node, the first one being the oldest. */
function onePlace(...names: readonly string[]) {
  const nodes = new Store<Node>().index('held', ({ metadata }) =>
    metadata.annotations?.[maintenanceAnnotation] === undefined ? undefined : 'held',
  );
  const maintenances = new Store<NodeMaintenance>();
  for (const name of names) {
    nodes.put(node({}, name));
    maintenances.put(maintenance({}, { nodeName: name }, name));
  }
  const woken: string[] = [];
  const turns = new TurnKeeper({
    nodes,
    maintenances,
    limit: { kind: 'count', count: 1 },
    onTurn: (name) => woken.push(name),
  });
  let version = 100;
  const hold = (name: string, isHeld: boolean) => {
    const annotations = isHeld ? { [maintenanceAnnotation]: 'a record' } : {};
    nodes.put(node({ annotations, resourceVersion: String(version++) }, name));
    turns.changed();
  };
  const admitted = () => names.filter((name) => turns.admits(name));
  return { turns, woken, hold, admitted, maintenances };
}

describe('a node that cannot be cordoned', () => {
  test('gives its place to the next one, and has its turn again when no other waits', () => {
    const { turns, woken, hold, admitted, maintenances } = onePlace('a', 'b', 'c');
    expect(admitted()).toEqual(['a']);
    turns.refused('a');
    expect(admitted()).toEqual(['b']);
    hold('b', true);
    expect(admitted()).toEqual(['b']);
    maintenances.replace([maintenance({}, { nodeName: 'a' }, 'a'), maintenance({}, { nodeName: 'c' }, 'c')]);
    hold('b', false);
    expect(admitted()).toEqual(['c']);
    maintenances.replace([maintenance({}, { nodeName: 'a' }, 'a')]);
    turns.changed();
    expect(admitted()).toEqual(['a']);
    expect(woken).toEqual(['a', 'b', 'c', 'a']);
  });

  test('keeps its place where nobody else could use it: two of them do not take turns without end', () => {
    const { turns, woken, admitted } = onePlace('a', 'b');
    expect(admitted()).toEqual(['a']);
    turns.refused('a');
    expect(admitted()).toEqual(['b']);
    turns.refused('b');
    turns.refused('b');
    turns.refused('a');
    expect(admitted()).toEqual(['b']);
    expect(woken).toEqual(['a', 'b']);
  });

  test('is one like any other once it could be', () => {
    const { turns, hold, admitted } = onePlace('a', 'b');
    expect(admitted()).toEqual(['a']);
    turns.refused('a');
    expect(admitted()).toEqual(['b']);
    hold('a', true);
    hold('b', true);
    expect(admitted()).toEqual(['a', 'b']);
    hold('a', false);
    hold('b', false);
    expect(admitted()).toEqual(['a']);
  });

  test('takes no place from a node that is held already', () => {
    const { turns, hold, admitted } = onePlace('a', 'b');
    hold('a', true);
    expect(admitted()).toEqual(['a']);
    turns.refused('a');
    expect(admitted()).toEqual(['a']);
  });
});
