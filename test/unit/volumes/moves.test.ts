import { describe, expect, test } from '@jest/globals';
import type { VolumeMove } from '../../../src/api/types.generated.ts';
import { advanceMove, findOrphans } from '../../../src/volumes/moves.ts';
import type { Succession } from '../../../src/volumes/succession.ts';
import { at, node, noon, pod } from '../../fixtures/objects.ts';
import { type VolumeScene, attachment, move, moveInput, volume, withClaims } from '../../fixtures/volumes.ts';

const owner = { kind: 'StatefulSet', name: 'db', uid: 'uid-db' };
const old = withClaims(pod('db-0', { owner }), 'data');
const here = attachment('data', 'n1');
const there = attachment('data', 'n2');
const attaching = attachment('data', 'n2', { attached: false });
const successor = withClaims(pod('db-0', { uid: 'uid-new', nodeName: 'n2', owner }), 'data');
const nobodyYet: Succession = { claims: new Set(['data']), pods: [], moreToCome: true };
const volumes = { 'db-0': [volume('data')] };

interface Case {
  readonly move?: Partial<VolumeMove>;
  readonly scene: VolumeScene & Parameters<typeof moveInput>[0];
  /** The phase, and from when its time counts; `undefined`: over. */
  readonly is: { readonly phase: string; readonly since?: string } | undefined;
}

const cases: Record<string, Case> = {
  'the pod is here and was not asked yet': {
    scene: { pods: [old], volumes, attachments: [here] },
    is: { phase: 'Leaving' },
  },
  'terminating: the time counts from the end of the grace period': {
    scene: {
      pods: [{ ...old, metadata: { ...old.metadata, deletionTimestamp: at(30) } }],
      volumes,
      attachments: [here],
    },
    is: { phase: 'Leaving', since: at(30) },
  },
  'terminating before the drain began: the time counts from its beginning': {
    scene: {
      pods: [{ ...old, metadata: { ...old.metadata, deletionTimestamp: at(-600) } }],
      volumes,
      attachments: [here],
    },
    is: { phase: 'Leaving', since: at(-60) },
  },
  'a pod that does not stop in time is not waited for': {
    scene: {
      pods: [{ ...old, metadata: { ...old.metadata, deletionTimestamp: at(-600) } }],
      volumes,
      attachments: [here],
      now: noon + 60_000,
    },
    is: { phase: 'DetachTimedOut', since: at(-60) },
  },
  'gone, its volume is attached': {
    move: { since: at(-5) },
    scene: { attachments: [here] },
    is: { phase: 'Detaching', since: at(-5) },
  },
  'gone unseen: the time counts from now': {
    scene: { attachments: [here] },
    is: { phase: 'Detaching', since: at(0) },
  },
  'gone, no VolumeAttachment, but the node still lists the volume': {
    move: { since: at(-5) },
    scene: { node: withVolumes('kubernetes.io/csi/disk.example.com^vol-data') },
    is: { phase: 'Detaching', since: at(-5) },
  },
  'gone, and the node lists a volume whose name only begins the same': {
    move: { since: at(-5) },
    scene: { node: withVolumes('kubernetes.io/csi/disk.example.com^vol-data2'), succession: nobodyYet },
    is: { phase: 'Attaching', since: at(0) },
  },
  'not detached in time': {
    move: { phase: 'Detaching', since: at(-120) },
    scene: { attachments: [here], drainStart: noon - 600_000 },
    is: { phase: 'DetachTimedOut', since: at(-120) },
  },
  'not detached in time, and an edit gives it more': {
    move: { phase: 'DetachTimedOut', since: at(-120) },
    scene: {
      attachments: [here],
      drainStart: noon - 600_000,
      pace: { detachTimeoutSeconds: 200, reattachTimeoutSeconds: 90 },
    },
    is: { phase: 'Detaching', since: at(-120) },
  },
  'detached after its time: nobody waits for more': {
    move: { phase: 'DetachTimedOut', since: at(-300) },
    scene: { succession: nobodyYet },
    is: undefined,
  },
  'attached elsewhere while the old attachment is still there': {
    move: { phase: 'Detaching', since: at(-5) },
    scene: { attachments: [here, there], succession: { ...nobodyYet, pods: [successor] } },
    is: { phase: 'Detaching', since: at(-5) },
  },
  'detached, its successor is not known yet': {
    move: { phase: 'Detaching', since: at(-5) },
    scene: {},
    is: { phase: 'Attaching', since: at(0) },
  },
  'detached, and not attached elsewhere yet': {
    move: { phase: 'Attaching', since: at(-10) },
    scene: { attachments: [attaching], succession: { ...nobodyYet, pods: [successor] } },
    is: { phase: 'Attaching', since: at(-10) },
  },
  'attached elsewhere, the old one gone': {
    move: { phase: 'Attaching', since: at(-10) },
    scene: { attachments: [there], succession: { ...nobodyYet, pods: [successor] } },
    is: undefined,
  },
  'not attached in time': {
    move: { phase: 'Attaching', since: at(-90) },
    scene: { attachments: [attaching], succession: { ...nobodyYet, pods: [successor] } },
    is: { phase: 'AttachTimedOut', since: at(-90) },
  },
  'attached after its time': {
    move: { phase: 'AttachTimedOut', since: at(-300) },
    scene: { attachments: [there] },
    is: undefined,
  },
  'reattachTimeoutSeconds 0: detached is enough': {
    scene: { pace: { detachTimeoutSeconds: 120, reattachTimeoutSeconds: 0 }, succession: nobodyYet },
    is: undefined,
  },
  'a generic ephemeral volume never comes back': {
    move: { volumes: [volume('data', { ephemeral: true })] },
    scene: { succession: nobodyYet },
    is: undefined,
  },
  'the claim was deleted': {
    scene: { succession: { ...nobodyYet, claims: new Set() } },
    is: undefined,
  },
  'no successor will come: scaled down': {
    scene: { succession: { ...nobodyYet, moreToCome: false } },
    is: undefined,
  },
  'the successor finds no node': {
    scene: { succession: { ...nobodyYet, pods: [unschedulable(successor)] } },
    is: undefined,
  },
  'the successor is not placed yet': {
    scene: { succession: { ...nobodyYet, pods: [unplaced(successor)], moreToCome: false } },
    is: { phase: 'Attaching', since: at(0) },
  },
  'another pod of the node uses the volume: the last one is waited for': {
    scene: { pods: [pod('db-1')], volumes: { 'db-1': [volume('data')] }, attachments: [here] },
    is: undefined,
  },
  'for many nodes: attached for others is not attached for its successor': {
    move: { volumes: [volume('data', { multiNode: true })] },
    scene: {
      attachments: [attachment('data', 'n3')],
      succession: { ...nobodyYet, pods: [successor] },
    },
    is: { phase: 'Attaching', since: at(0) },
  },
  'for many nodes: attached where its successor is': {
    move: { volumes: [volume('data', { multiNode: true })] },
    scene: {
      attachments: [attachment('data', 'n3'), there],
      succession: { ...nobodyYet, pods: [successor] },
    },
    is: undefined,
  },
};

test.each(Object.entries(cases))('%s', (_, { move: change, scene, is }) => {
  const found = advanceMove(move(change), moveInput(scene));
  expect(
    found && { phase: found.phase, ...(found.since === undefined ? {} : { since: found.since }) },
  ).toEqual(is);
});

test('no wait is cut short by the whole seconds of status', () => {
  const found = advanceMove(move(), moveInput({ attachments: [here], now: noon + 1 }));
  expect(found?.since).toBe(at(1));
  expect(found?.deadline).toBe(noon + 121_000);
});

describe('attachments that no pod here uses', () => {
  const data = { driver: 'disk.example.com', persistentVolume: 'pv-data' };

  test('take a place until they have had their time', () => {
    const input = moveInput({ attachments: [here], drainStart: noon });
    expect(findOrphans([], input)).toEqual([{ ...data, since: noon, deadline: noon + 120_000 }]);
  });

  test('have their time from the moment at which detaching began', () => {
    const leaving = attachment('data', 'n1', { deletionTimestamp: at(40) });
    const input = moveInput({ attachments: [leaving], drainStart: noon });
    expect(findOrphans([], input)).toEqual([{ ...data, since: noon + 40_000, deadline: noon + 160_000 }]);
  });

  test('may yet belong to a pod whose volumes are being looked up', () => {
    const input = moveInput({ pods: [old], attachments: [here], drainStart: noon });
    const facts = { ...input.facts, volumesOf: () => ({ kind: 'unknown', problem: undefined }) as const };
    expect(findOrphans([], { ...input, facts })).toEqual([
      { ...data, since: undefined, deadline: noon + 120_000 },
    ]);
  });

  test('are not those of pods here, of moves, and of other nodes', () => {
    const input = moveInput({
      pods: [old],
      volumes,
      attachments: [here, attachment('b', 'n1'), attachment('c', 'n2')],
    });
    const known = advanceMove(move({ volumes: [volume('b')] }), input);
    expect(findOrphans(known ? [known] : [], input)).toEqual([]);
  });
});

function withVolumes(...names: readonly string[]) {
  const plain = node();
  return { ...plain, status: { ...plain.status, volumesAttached: names.map((name) => ({ name })) } };
}

function unplaced(of: typeof successor): typeof successor {
  const { nodeName: _, ...spec } = of.spec;
  return { ...of, spec, status: { phase: 'Pending', conditions: [] } };
}

function unschedulable(of: typeof successor): typeof successor {
  const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }];
  return { ...unplaced(of), status: { phase: 'Pending', conditions } };
}
