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
