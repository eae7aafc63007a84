import { describe, expect, test } from '@jest/globals';
import type { NodeMaintenanceSpec } from '../../../src/api/types.generated.ts';
import { everythingPermitted } from '../../../src/drain/permissions.ts';
import { imagine, lookAhead, type Scene } from '../../../src/preview/outlook.ts';
import { budget, maintenance, node, noon, pod, record } from '../../fixtures/objects.ts';
import { observation } from '../../fixtures/previews.ts';

function look(scene: Partial<Scene>, spec: Omit<NodeMaintenanceSpec, 'nodeName'> = {}) {
  return lookAhead(observation(scene), imagine('fw', { nodeName: 'n1', ...spec }, noon), everythingPermitted);
}

const names = ({ leavers }: ReturnType<typeof look>) => leavers.map(({ pod: { metadata } }) => metadata.name);

test('the node is as the operator would have made it', () => {
  const seen = look({}, { taints: [{ key: 'fw', effect: 'NoSchedule' }] });
  expect(seen.node.spec?.unschedulable).toBe(true);
  expect(seen.node.spec?.taints?.map(({ key }) => key)).toEqual(
    expect.arrayContaining(['node.kubernetes.io/unschedulable', 'haulout.dev/maintenance', 'fw']),
  );
  expect(seen.stance.maintenance.status?.conditions).toContainEqual(
    expect.objectContaining({ type: 'Drained', status: 'True' }),
  );
});

test('whoever may be evicted leaves, sooner or later', () => {
  const pods = [
    pod('web'),
    pod('critical', {}),
    pod('debug', { owner: undefined }),
    pod('gone', { deletionTimestamp: '2026-01-01T12:00:10Z' }),
    pod('logs', { owner: { kind: 'DaemonSet', name: 'logs', uid: 'uid-logs' } }),
    pod('orphan', { owner: { kind: 'DaemonSet', name: 'old', uid: 'uid-old' } }),
    pod('static', { annotations: { 'kubernetes.io/config.mirror': 'x' } }),
  ].map((each) =>
    each.metadata.name === 'critical' ? { ...each, spec: { ...each.spec, priority: 2_000_000_000 } } : each,
  );
  const { metadata } = pod('logs', { uid: 'uid-logs' });
  expect(names(look({ pods, daemonSets: [{ metadata }] }))).toEqual(['critical', 'orphan', 'web']);
});

describe('nothing leaves', () => {
  test.each<[string, Omit<NodeMaintenanceSpec, 'nodeName'>]>([
    ['under NoSchedule', { nodeDrainPolicy: 'NoSchedule' }],
    ['under Ignore', { nodeDrainPolicy: 'Ignore' }],
    ['while it is suspended', { suspend: true }],
  ])('%s', (_, spec) => {
    const seen = look({ pods: [pod('web')] }, spec);
    expect(seen.drain).toBeUndefined();
    expect(seen.leavers).toEqual([]);
  });
});

test('what another maintenance of the node protects is held', () => {
  const other = maintenance({ suspend: true, drain: { emptyDirPods: 'Block' } }, {}, 'other');
  const pods = [pod('web'), pod('cache', { emptyDir: true })];
  const seen = look({ pods, maintenances: [other] });
  expect(names(seen)).toEqual(['web']);
  expect(seen.drain?.blockers).toEqual([
    expect.objectContaining({ cause: 'EmptyDir', message: expect.stringContaining('maintenance other') }),
  ]);
});

test('a shorter grace period counts where all agree, and only then', () => {
  const drain = { maxGracePeriodSeconds: 5 };
  const alone = look({ pods: [pod('web')] }, { drain });
  const together = look({ pods: [pod('web')], maintenances: [maintenance({}, {}, 'other')] }, { drain });
  const suspended = maintenance({ suspend: true }, {}, 'other');
  const beside = look({ pods: [pod('web')], maintenances: [suspended] }, { drain });
  const periods = [alone, together, beside].map(({ leavers }) => leavers[0]?.gracePeriodSeconds);
  expect(periods).toEqual([5, undefined, undefined]);
});

test('a record of holders that are gone does not keep the plan from coming to rest', () => {
  const gone = maintenance({}, {}, 'gone');
  const annotations = { 'haulout.dev/maintenance': record([gone], false) };
  const seen = look({ node: node({ annotations, unschedulable: true }), pods: [pod('web')] });
  expect(names(seen)).toEqual(['web']);
});

test('a maintenance that is being deleted, and one that ran before, do not either', () => {
  const leaving = maintenance({}, { deletionTimestamp: '2026-01-01T11:59:00Z' }, 'leaving');
  const begun = maintenance({ drain: { unmanagedPods: 'Evict' } }, { finalizers: [] }, 'begun');
  expect(names(look({ maintenances: [leaving, begun], pods: [pod('web')] }))).toEqual(['web']);
});

test('budgets are asked by their selectors', () => {
  const web = budget('web', { needs: 1, allowed: 0 });
  const budgets = [{ ...web, spec: { selector: { matchLabels: { app: 'web' } } } }];
  const pods = [pod('web-0'), pod('db-0', { labels: { app: 'db' } })];
  const seen = look({ pods, budgets });
  expect(seen.leavers.map(({ gate }) => gate.kind)).toEqual(['free', 'counted']);
  expect(seen.drain?.blockers).toEqual([expect.objectContaining({ cause: 'PodDisruptionBudget' })]);
});
