import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../../src/kube/types.ts';
import type { Plan } from '../../../src/maintenance/snapshot.ts';
import { at, pod } from '../../fixtures/objects.ts';
import { Stage } from '../../fixtures/stage.ts';

const critical = { priority: 2_000_000_000 };
const due = at(30);

function namesOf(posts: Plan['posts']): string[] {
  return posts.map((post) => post.pod.metadata.name);
}

function draining(pods: readonly Pod[], spec: Parameters<Stage['create']>[0] = {}): Stage {
  const stage = new Stage().create(spec);
  stage.pods = pods;
  return stage;
}

describe('system-critical pods', () => {
  test.each<[string, readonly Pod[], Parameters<Stage['create']>[0], readonly string[]]>([
    ['wait for the others', [pod('dns', critical), pod('web')], {}, ['web']],
    ['go when the others are gone', [pod('dns', critical), pod('net', critical)], {}, ['dns', 'net']],
    ['wait for those that terminate', [pod('dns', critical), pod('web', { deletionTimestamp: due })], {}, []],
    ['wait for one that Block holds', [pod('dns', critical), pod('bare', { owner: undefined })], {}, []],
    [
      'do not wait for one that Skip leaves alone',
      [pod('dns', critical), pod('bare', { owner: undefined })],
      { drain: { unmanagedPods: 'Skip' } },
      ['dns'],
    ],
    [
      'do not wait for one that the selector leaves alone',
      [pod('dns', critical), pod('db', { labels: { app: 'db' } })],
      { drain: { podSelector: { matchLabels: { app: 'web' } } } },
      ['dns'],
    ],
    [
      'are none below the priority of the system classes',
      [pod('high', { priority: 1_999_999_999 }), pod('web')],
      {},
      ['high', 'web'],
    ],
  ])('%s', (_, pods, spec, expected) => {
    expect(namesOf(draining(pods, spec).settle().posts)).toEqual(expected);
  });

  test('are said to wait as long as they do', () => {
    const stage = draining([pod('dns', critical), pod('web')]);
    const said = () => stage.status().conditions?.find(({ type }) => type === 'Ready')?.message;
    stage.settle();
    expect(said()).toBe('0 of 2 pods gone, 2 left, 1 system-critical only after the others');
    stage.pods = [pod('dns', critical)];
    stage.settle();
    expect(said()).toBe('1 of 2 pods gone, 1 left');
  });

  test('do not wait for a pod that is not waited for any more', () => {
    const stage = draining([pod('dns', critical), pod('web', { deletionTimestamp: at(-60) })], {
      drain: { skipWaitForDeleteTimeoutSeconds: 30 },
    });
    stage.touchNode({ status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } });
    expect(namesOf(stage.settle().posts)).toEqual(['dns']);
  });

  test('do not wait for what a suspended maintenance would want', () => {
    const stage = draining([pod('dns', critical), pod('db', { labels: { app: 'db' } })], {
      drain: { podSelector: { matchLabels: { app: 'web' } } },
    });
    stage.create({ suspend: true }, 'm2');
    expect(namesOf(stage.settle().posts)).toEqual(['dns']);
  });
});

/** As if somebody had looked so long ago. */
function looked(stage: Stage, kind: 'leaves' | 'stays' | 'unknown', secondsAgo = 0): Stage {
  const lookedAt = 1_000_000 + (stage.seconds - secondsAgo) * 1000;
  stage.notes = { ...stage.notes, ownPod: { kind, at: lookedAt } };
  return stage;
}

describe("the operator's own pod", () => {
  const own = pod('haulout-0', critical);

  function alone(others: readonly Pod[] = []): Stage {
    const stage = draining([own, ...others]);
    stage.self = { namespace: 'shop', name: 'haulout-0' };
    return stage;
  }

  test.each<[string, Pod]>([
    ['another one', pod('web')],
    ['a system-critical one', pod('dns', critical)],
    ['one that terminates', pod('web', { deletionTimestamp: due })],
  ])('waits for %s', (_, other) => {
    const work = alone([other]).settle();
    expect(namesOf(work.posts)).not.toContain('haulout-0');
    expect(work.undecided).toBeUndefined();
  });

  test('is looked after when it is the last one, and not asked before', () => {
    const work = alone().settle();
    expect(work.posts).toEqual([]);
    expect(work.mayLeave.size).toBe(0);
    expect(work.undecided?.metadata.name).toBe('haulout-0');
  });

  test('leaves when another node can take it', () => {
    const work = looked(alone(), 'leaves').settle();
    expect(namesOf(work.posts)).toEqual(['haulout-0']);
    expect(work.undecided).toBeUndefined();
  });

  test('stays, is named and not waited for when no other node can take it', () => {
    const stage = looked(alone(), 'stays');
    const work = stage.settle();
    expect(work.posts).toEqual([]);
    expect(work.undecided).toBeUndefined();
    expect(work.wakeAfterMs).toBe(60_000);
    expect(stage.words()).toMatchObject({ Ready: 'True/Drained', Drained: 'True/Drained' });
    for (const type of ['Ready', 'Drained']) {
      const said = stage.status().conditions?.find((each) => each.type === type)?.message;
      expect(said).toContain('no other node can take it: shop/haulout-0');
    }
  });

  test.each(['leaves', 'stays', 'unknown'] as const)('%s is looked at again after a minute', (kind) => {
    expect(looked(alone(), kind, 60).settle().undecided?.metadata.name).toBe('haulout-0');
  });

  test('is waited for once it terminates', () => {
    const stage = looked(alone(), 'stays');
    stage.pods = [pod('haulout-0', { deletionTimestamp: due })];
    stage.settle();
    expect(stage.said('Drained')).toBe('False/PodsRemaining');
  });

  test('is a pod like any other to another replica', () => {
    const stage = draining([own]);
    stage.self = { namespace: 'shop', name: 'haulout-1' };
    expect(namesOf(stage.settle().posts)).toEqual(['haulout-0']);
  });
});

describe('the pod that puts all nodes back before the operator is uninstalled', () => {
  const labels = { 'haulout.dev/release-all': 'true' };

  function beside(self: Stage['self']): Stage {
    const stage = draining([pod('haulout-release', { labels }), pod('web')]);
    stage.self = self;
    return stage;
  }

  test('is let be, and not waited for', () => {
    const stage = beside({ namespace: 'shop', name: 'haulout-0' });
    expect(namesOf(stage.settle().posts)).toEqual(['web']);
    stage.pods = stage.pods?.slice(0, 1);
    stage.settle();
    expect(stage.said('Drained')).toBe('True/Drained');
  });

  test.each([
    ['another namespace than the operator', { namespace: 'haulout', name: 'haulout-0' }],
    ['a cluster whose operator runs elsewhere', undefined],
  ])('is a pod like any other in %s', (_, self) => {
    expect(namesOf(beside(self).settle().posts)).toEqual(['haulout-release', 'web']);
  });
});
