import { describe, expect, test } from '@jest/globals';
import { excludeFromLoadBalancersLabel } from '../../../src/api/names.ts';
import type { NodeMaintenanceStatus } from '../../../src/api/types.generated.ts';
import { at, budget, pod } from '../../fixtures/objects.ts';
import { Stage } from '../../fixtures/stage.ts';

/** A stage that has settled, a restart, and what the status is before pods are known again, and after. */
function restarted(
  stage: Stage,
  later = 30,
): [NodeMaintenanceStatus, NodeMaintenanceStatus, NodeMaintenanceStatus] {
  stage.settle();
  const before = stage.status();
  stage.seconds += later;
  const pods = stage.restart();
  stage.settle();
  const unseeing = stage.status();
  stage.pods = pods;
  stage.settle();
  return [before, unseeing, stage.status()];
}

describe('a restart shows in no status', () => {
  test.each<[string, () => Stage]>([
    ['drained', () => new Stage().create()],
    ['draining', () => Object.assign(new Stage().create(), { pods: [pod('a')] })],
    [
      'blocked',
      () => Object.assign(new Stage().create(), { pods: [pod('a'), pod('b')], budgets: [budget('web')] }),
    ],
    [
      'failed',
      () => {
        const stage = Object.assign(new Stage().create({ drain: { timeoutSeconds: 9 } }), {
          pods: [pod('a')],
          budgets: [budget('web')],
        });
        stage.settle();
        return Object.assign(stage, { seconds: 9 });
      },
    ],
    [
      'suspended',
      () => {
        const stage = Object.assign(new Stage().create(), { pods: [pod('a')] });
        stage.settle();
        return stage.edit({ suspend: true });
      },
    ],
    ['cordoned', () => new Stage().create({ nodeDrainPolicy: 'NoSchedule' })],
    ['announced', () => new Stage().create({ nodeDrainPolicy: 'Ignore' })],
  ])('%s', (_, make) => {
    const stage = make();
    const nodeSays = () => stage.node?.status?.conditions;
    stage.settle();
    const said = nodeSays();
    const [before, unseeing, after] = restarted(stage);
    expect(unseeing).toEqual(before);
    expect(after).toEqual(before);
    expect(nodeSays()).toEqual(said);
  });
});

test('an edit while nobody ran: since when pods are held up is kept, and nothing is said about pods that are not known', () => {
  const stage = Object.assign(new Stage().create(), { pods: [pod('a')], budgets: [budget('web')] });
  stage.settle();
  stage.edit({ reason: 'Other' });
  const [, unseeing, after] = restarted(stage.edit({ reason: 'Another' }));
  expect(unseeing.blockers).toEqual(after.blockers);
  expect(after.blockers?.[0]?.since).toBe(at(0));
});

test('the mirror of the record goes on even while pods are not known', () => {
  const stage = new Stage()
    .create({ excludeFromLoadBalancers: false })
    .create({ nodeDrainPolicy: 'NoSchedule' }, 'm2');
  stage.settle();
  stage.restart();
  stage.edit({ nodeDrainPolicy: 'Evacuate' }, 'm2').settle();
  expect(stage.node?.metadata.labels).toHaveProperty([excludeFromLoadBalancersLabel]);
  expect(stage.status('m1').node).toEqual(stage.status('m2').node);
});

test('the drain of before an edit to NoSchedule does not vouch for the pods after it', () => {
  const stage = new Stage().create();
  stage.settle();
  stage.edit({ nodeDrainPolicy: 'NoSchedule' }).settle();
  stage.edit({ nodeDrainPolicy: 'Evacuate' });
  stage.pods = undefined;
  stage.settle();
  expect([stage.said('Ready'), stage.said('Drained')]).toEqual(['False/Draining', 'Unknown/Checking']);
});

describe('counts', () => {
  test('who left while nobody looked is counted as gone', () => {
    const stage = Object.assign(new Stage().create(), {
      pods: ['a', 'b', 'c', 'd'].map((name) => pod(name)),
    });
    stage.settle();
    stage.pods = stage.pods?.slice(1);
    stage.settle();
    expect(stage.status().drain?.progress).toBe('1/4');
    stage.restart();
    stage.settle();
    stage.pods = [pod('d')];
    stage.settle();
    expect(stage.status().drain).toMatchObject({
      progress: '3/4',
      pods: { total: 4, gone: 3, remaining: 1 },
    });
  });

  test('total is gone plus remaining; terminating ones remain; those that stay are ignored', () => {
    const stage = new Stage().create({ drain: { unmanagedPods: 'Skip' } });
    stage.pods = [
      pod('a'),
      pod('b', { deletionTimestamp: at(9) }),
      pod('c', { owner: undefined }),
      pod('d', { annotations: { 'kubernetes.io/config.mirror': '' } }),
    ];
    stage.settle();
    expect(stage.status().drain?.pods).toEqual({
      total: 2,
      gone: 0,
      remaining: 2,
      terminating: 1,
      ignored: 2,
    });
    stage.pods = stage.pods?.slice(1);
    stage.settle();
    expect(stage.status().drain).toMatchObject({
      progress: '1/2',
      pods: { total: 2, gone: 1, remaining: 1, terminating: 1 },
    });
  });

  test('a StatefulSet pod that comes back under its name is another pod', () => {
    const stage = Object.assign(new Stage().create(), { pods: [pod('web-0')] });
    stage.settle();
    stage.pods = [pod('web-0', { uid: 'uid-second' })];
    expect(stage.settle().posts.map((post) => post.pod.metadata.uid)).toEqual(['uid-second']);
    expect(stage.status().drain?.progress).toBe('1/2');
  });

  test('a pod that an edit lets stay is neither gone nor remaining', () => {
    const stage = Object.assign(new Stage().create(), {
      pods: [pod('a'), pod('b', { labels: { app: 'db' } })],
    });
    stage.settle();
    stage.edit({ drain: { podSelector: { matchLabels: { app: 'web' } } } }).settle();
    expect(stage.status().drain?.pods).toMatchObject({ total: 1, gone: 0, remaining: 1, ignored: 1 });
  });
});
