import { expect, test } from '@jest/globals';
import type { Pod } from '../../../src/kube/types.ts';
import { at, budget, node, pod } from '../../fixtures/objects.ts';
import { Stage } from '../../fixtures/stage.ts';
import { attachment, type VolumeScene, volume, volumeFacts } from '../../fixtures/volumes.ts';

const a = pod('a', { owner: { kind: 'StatefulSet' } });
const b = pod('b', { owner: { kind: 'StatefulSet' } });
const volumes = { a: [volume('a')], b: [volume('b')] };
const here = { a: attachment('a', 'n1'), b: attachment('b', 'n1') };
const there = { a: attachment('a', 'n2'), b: attachment('b', 'n2') };
const more = { claims: new Set(['a', 'b']), pods: [], moreToCome: true };

/** Node n1 with pods a and b, whose volumes are attached. */
function draining(spec: ConstructorParameters<typeof Object>[0] = {}): Stage {
  const stage = Object.assign(new Stage().create(spec), { pods: [a, b] });
  return seen(stage, { attachments: [here.a, here.b] });
}

function seen(stage: Stage, scene: VolumeScene, pods: readonly Pod[] = stage.pods ?? []): Stage {
  return Object.assign(stage, { pods, volumes: volumeFacts({ volumes, succession: more, ...scene }) });
}

function terminating(of: Pod, seconds: number): Pod {
  return { ...of, metadata: { ...of.metadata, deletionTimestamp: at(seconds) } };
}

function message(stage: Stage, type: string): string | undefined {
  return stage.status().conditions?.find((condition) => condition.type === type)?.message;
}

function moves(stage: Stage): unknown {
  return (stage.status().drain?.volumes ?? []).map(({ pod: { name }, phase }) => `${name} ${phase}`);
}

function posted(stage: Stage): string[] {
  return stage.settle().posts.map((post) => post.pod.metadata.name);
}

test('one after the other: the next pod leaves when the volume of the one before is attached elsewhere', () => {
  const stage = draining();
  expect(posted(stage)).toEqual(['a']);
  expect(moves(stage)).toEqual(['a Leaving']);
  stage.drain.accepted.add('uid-a');
  expect(posted(stage)).toEqual([]);
  stage.seconds = 1;
  seen(stage, { attachments: [here.a, here.b] }, [terminating(a, 31), b]);
  expect(posted(stage)).toEqual([]);
  stage.seconds = 5;
  stage.drain.podGone('uid-a');
  seen(stage, { attachments: [here.a, here.b] }, [b]);
  expect(posted(stage)).toEqual([]);
  expect(moves(stage)).toEqual(['a Detaching']);
  expect(message(stage, 'Ready')).toBe('1 of 2 pods gone, 1 left; waiting for pv-a of shop/a to be detached');
  seen(stage, { attachments: [here.b] });
  expect(posted(stage)).toEqual([]);
  expect(moves(stage)).toEqual(['a Attaching']);
  seen(stage, { attachments: [there.a, here.b] });
  expect(posted(stage)).toEqual(['b']);
  expect(moves(stage)).toEqual(['b Leaving']);
});

test('a restart in the middle of a wait goes on waiting', () => {
  const stage = draining();
  stage.settle();
  seen(stage, { attachments: [here.a, here.b] }, [terminating(a, 31), b]);
  stage.settle();
  seen(stage, { attachments: [here.a, here.b] }, [b]);
  stage.settle();
  stage.pods = stage.restart();
  expect(posted(stage)).toEqual([]);
  expect(moves(stage)).toEqual(['a Detaching']);
});

test('a restart does not forget since when a pod is held up, before its volumes are known again', () => {
  const stage = Object.assign(draining(), { budgets: [budget('web')] });
  stage.settle();
  const { blockers } = stage.status();
  expect(blockers).toMatchObject([
    { pod: { name: 'a' }, cause: 'PodDisruptionBudget', since: at(0) },
    { pod: { name: 'b' }, cause: 'PodDisruptionBudget', since: at(0) },
  ]);
  stage.seconds = 100;
  stage.pods = stage.restart();
  const facts = stage.volumes;
  stage.volumes = { ...facts, volumesOf: () => ({ kind: 'unknown', problem: undefined }) };
  stage.settle();
  expect(stage.status().blockers).toEqual(blockers);
  stage.volumes = facts;
  stage.settle();
  expect(stage.status().blockers).toEqual(blockers);
});

test('a pod that somebody deletes takes a place, too', () => {
  const stage = draining({ drain: { volumes: { maxConcurrent: 1 } } });
  seen(stage, { attachments: [here.a, here.b] }, [a, terminating(b, 30)]);
  expect(posted(stage)).toEqual([]);
  expect(moves(stage)).toEqual(['b Leaving']);
});

test('a pod that vanishes without a word takes a place, and its volume has its whole time', () => {
  const stage = draining();
  stage.settle();
  stage.seconds = 600;
  seen(stage, { attachments: [here.a, here.b] }, [a]);
  expect(posted(stage)).toEqual([]);
  expect(moves(stage)).toEqual(['b Detaching']);
  stage.seconds = 719;
  expect(posted(stage)).toEqual([]);
  stage.seconds = 720;
  expect(posted(stage)).toEqual(['a']);
});

test('drained is not ready: volumes are waited for, and the end says what is still there', () => {
  const stage = draining();
  stage.settle();
  stage.seconds = 10;
  seen(stage, { attachments: [here.a] }, []);
  stage.settle();
  expect(stage.words()).toMatchObject({
    phase: 'Draining',
    Ready: 'False/Draining',
    Drained: 'True/Drained',
    VolumesDetached: 'False/WaitingForDetach',
  });
  expect(message(stage, 'VolumesDetached')).toBe('attached to the node: pv-a');
  stage.seconds = 131;
  const plan = stage.settle();
  expect(plan.wakeAfterMs).toBeUndefined();
  expect(stage.words()).toMatchObject({
    phase: 'UnderMaintenance',
    Ready: 'True/Drained',
    VolumesDetached: 'False/DetachTimedOut',
  });
  expect(message(stage, 'Ready')).toMatch(/no longer waited for, although still attached to the node: pv-a$/);
  expect(stage.events.map(({ reason }) => reason)).toContain('VolumeDetachTimedOut');
  seen(stage, {}, []);
  stage.settle();
  expect(stage.words()).toMatchObject({ Ready: 'True/Drained', VolumesDetached: 'True/Detached' });
});

test('time runs from the beginning of the drain, not from an old deletion', () => {
  const stage = draining();
  seen(stage, { attachments: [here.a, here.b] }, [terminating(a, -5000), b]);
  expect(posted(stage)).toEqual([]);
  stage.seconds = 119;
  expect(posted(stage)).toEqual([]);
  stage.seconds = 120;
  expect(posted(stage)).toEqual(['b']);
  expect(message(stage, 'VolumesDetached')).toBe(
    'attached to the node: pv-a, pv-b; not detached in time: pv-a',
  );
});

test('volumes of pods that stay may stay attached', () => {
  const stage = draining({ drain: { podSelector: { matchLabels: { app: 'none' } } } });
  stage.settle();
  expect(stage.words()).toMatchObject({
    Ready: 'True/Drained',
    Drained: 'False/PodsKept',
    VolumesDetached: 'True/Detached',
  });
});

test('what the node lists without an attachment is waited for as well', () => {
  const stage = draining();
  stage.settle();
  stage.touchNode({ status: { volumesAttached: [{ name: 'kubernetes.io/csi/x^y' }] } });
  seen(stage, {}, []);
  stage.settle();
  expect(message(stage, 'VolumesDetached')).toBe('attached to the node: kubernetes.io/csi/x^y');
  expect(stage.said('Ready')).toBe('False/Draining');
});

test('what a pod that left before the drain has left behind holds up the lane, and is named', () => {
  const stage = seen(draining(), { attachments: [here.a, here.b] }, [b]);
  expect(posted(stage)).toEqual([]);
  expect(message(stage, 'Ready')).toBe('0 of 1 pod gone, 1 left; waiting for pv-a to be detached');
  stage.seconds = 30;
  expect(posted(stage)).toEqual([]);
  expect(stage.status().blockers).toMatchObject([
    {
      pod: { name: 'b' },
      cause: 'VolumeDetach',
      message: expect.stringContaining('pv-a of a pod that left before'),
    },
  ]);
  stage.seconds = 120;
  expect(posted(stage)).toEqual(['b']);
});

test('another node of the same name knows nothing of the moves of the old one', () => {
  const stage = draining();
  stage.settle();
  seen(stage, { attachments: [here.a, here.b] }, [terminating(a, 30), b]);
  stage.settle();
  stage.node = node({ uid: 'uid-other' });
  seen(stage, {}, []);
  stage.settle();
  expect(moves(stage)).toEqual([]);
});

test('a maintenance that does not drain says nothing of volumes', () => {
  const stage = draining({ nodeDrainPolicy: 'NoSchedule' });
  stage.settle();
  expect(stage.said('VolumesDetached')).toBe('False/PolicyDoesNotDrain');
});

test('the pace of the most careful maintenance counts', () => {
  const stage = draining({ drain: { volumes: { maxConcurrent: 2 } } });
  stage.create({ drain: { volumes: { maxConcurrent: 1 } } }, 'm2');
  expect(posted(stage)).toEqual(['a']);
  stage.edit({ drain: { volumes: { maxConcurrent: 2 } } }, 'm2');
  expect(posted(stage)).toEqual(['a', 'b']);
});

test('an attachment of a pod that left before anybody looked is told of when it has had its time', () => {
  const stage = Object.assign(new Stage().create(), { pods: [] });
  seen(stage, { attachments: [here.a] });
  stage.settle();
  expect(stage.said('Ready')).toBe('False/Draining');
  stage.seconds = 121;
  stage.settle();
  expect(stage.said('VolumesDetached')).toBe('False/DetachTimedOut');
  expect(
    stage.events.filter(({ reason }) => reason === 'VolumeDetachTimedOut').map(({ note }) => note),
  ).toEqual(['still attached to the node after detachTimeoutSeconds (120 s): pv-a']);
});
