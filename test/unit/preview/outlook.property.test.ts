import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { NodeMaintenance } from '../../../src/api/types.generated.ts';
import { everythingPermitted } from '../../../src/drain/permissions.ts';
import { imagine, lookAhead } from '../../../src/preview/outlook.ts';
import { at, budget, maintenance, node, noon, pod, record } from '../../fixtures/objects.ts';
import { observation } from '../../fixtures/previews.ts';
import { propertyRuns } from '../../fixtures/property-runs.ts';

const spec = fc.record(
  {
    nodeDrainPolicy: fc.constantFrom('Ignore', 'NoSchedule', 'Evacuate'),
    nodeDeletePolicy: fc.constantFrom('Orphan', 'Evict'),
    suspend: fc.boolean(),
    excludeFromLoadBalancers: fc.boolean(),
    drain: fc.record(
      {
        unmanagedPods: fc.constantFrom('Block', 'Evict', 'Skip'),
        emptyDirPods: fc.constantFrom('Block', 'Evict', 'Skip'),
        unsatisfiableBudgets: fc.constantFrom('Wait', 'Fail', 'Delete'),
        blockedDeployments: fc.constantFrom('Wait', 'Restart'),
        timeoutSeconds: fc.constantFrom(1, 3600),
        onTimeout: fc.constantFrom('Fail', 'Delete'),
        deleteBlockedAfterSeconds: fc.constantFrom(1, 60),
        maxGracePeriodSeconds: fc.constantFrom(1, 600),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);

const other = fc.record({
  spec,
  leaving: fc.boolean(),
  finalizer: fc.boolean(),
  status: fc.constantFrom<NodeMaintenance['status']>(
    undefined,
    { node: { uid: 'uid-n1' } },
    {
      observedGeneration: 1,
      startTime: at(-600),
      node: { uid: 'uid-n1', before: { unschedulable: true } },
      drain: { startTime: at(-600), pods: { total: 9, gone: 7, remaining: 2, terminating: 0, ignored: 0 } },
    },
    {
      node: { uid: 'uid-of-an-earlier-n1', before: { unschedulable: false } },
      drain: { startTime: at(-900) },
    },
  ),
});

const aPod = fc.record(
  {
    owner: fc.constantFrom(undefined, {}, { kind: 'DaemonSet', name: 'd', uid: 'uid-d' }),
    phase: fc.constantFrom('Pending', 'Running', 'Succeeded'),
    ready: fc.boolean(),
    emptyDir: fc.boolean(),
    deletionTimestamp: fc.constantFrom(at(-60), at(20)),
  },
  { requiredKeys: ['phase', 'ready', 'emptyDir'] },
);

const onNode = fc.record({
  mark: fc.constantFrom('none', 'record', 'stranger', 'damaged', 'lost'),
  unschedulable: fc.boolean(),
  ready: fc.constantFrom('True' as const, 'Unknown' as const),
  leaving: fc.boolean(),
});

test('the plan comes to rest whatever is on the node already, and pods leave or do not', () => {
  fc.assert(
    fc.property(
      spec,
      fc.array(other, { maxLength: 3 }),
      fc.array(aPod, { maxLength: 5 }),
      fc.array(fc.record({ allowed: fc.nat(2), needs: fc.nat(10) }), { maxLength: 2 }),
      onNode,
      (wanted, others, pods, budgets, { mark, unschedulable, ready, leaving }) => {
        const maintenances = others.map((each, index) =>
          maintenance(
            each.spec,
            {
              ...(each.leaving ? { deletionTimestamp: at(-30) } : {}),
              ...(each.finalizer ? {} : { finalizers: [] }),
              ...(each.status ? { status: each.status } : {}),
            },
            `m${index}`,
          ),
        );
        const holders = mark === 'stranger' ? [maintenance({}, {}, 'stranger')] : maintenances;
        const text = mark === 'damaged' ? '{' : record(holders, unschedulable);
        const seen = node({
          unschedulable,
          ready,
          ...(mark === 'none' || mark === 'lost' ? {} : { annotations: { 'haulout.dev/maintenance': text } }),
          ...(mark === 'lost' ? { labels: { 'haulout.dev/maintenance': 'true' } } : {}),
          ...(leaving ? { deletionTimestamp: at(-5) } : {}),
        });
        const outlook = lookAhead(
          observation({
            node: seen,
            maintenances,
            pods: pods.map((one, index) => pod(`p${index}`, one)),
            budgets: budgets.map((one, index) => budget(`b${index}`, one)),
          }),
          imagine('fw', { nodeName: 'n1', ...wanted }, noon),
          everythingPermitted,
        );
        for (const { pod: one } of outlook.leavers) {
          expect(one.metadata.deletionTimestamp).toBeUndefined();
          expect(outlook.drain?.view.verdicts.get(one.metadata.uid)?.kind).toBe('leaves');
        }
      },
    ),
    { numRuns: propertyRuns(1_000) },
  );
});
