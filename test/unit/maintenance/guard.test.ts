import { describe, expect, test } from '@jest/globals';
import { planGuard } from '../../../src/maintenance/guard.ts';
import { everythingPermitted } from '../../../src/drain/permissions.ts';
import { takeStance } from '../../../src/maintenance/stance.ts';
import { type NodeOptions, at, maintenance, node, noon } from '../../fixtures/objects.ts';

const leaving = { deletionTimestamp: at(-100) };

/** Each guard has `[pods that remain, nodeDeleteTimeoutSeconds]`. */
function guard(options: NodeOptions, guards: readonly (readonly [number | undefined, number])[]) {
  const of = node(options);
  const stances = guards.map(([, nodeDeleteTimeoutSeconds], index) =>
    takeStance({
      maintenance: maintenance({ nodeDeletePolicy: 'Evict', nodeDeleteTimeoutSeconds }, {}, `m${index}`),
      node: of,
      admitted: true,
      permitted: everythingPermitted,
    }),
  );
  const { wanted, wakeAt } = planGuard(of, stances, (stance) => guards[stances.indexOf(stance)]?.[0], noon);
  return { wanted, wakeIn: wakeAt === undefined ? undefined : (wakeAt - noon) / 1000 };
}

describe('the deletion of a Node', () => {
  test.each<[string, NodeOptions, [number | undefined, number][], boolean, number | undefined]>([
    ['nobody guards it', leaving, [], false, undefined],
    ['it is not being deleted', {}, [[0, 3600]], true, undefined],
    [
      'it is not being deleted, though dead',
      { ready: 'Unknown', readySince: at(-9999) },
      [[0, 3600]],
      true,
      undefined,
    ],
    ['pods remain', leaving, [[3, 3600]], true, 3500],
    ['pods are not known', leaving, [[undefined, 3600]], true, 3500],
    ['nothing remains', leaving, [[0, 3600]], false, undefined],
    ['its time is just over', leaving, [[3, 100]], false, undefined],
    ['its time is nearly over', leaving, [[3, 101]], true, 1],
    ['its time is long over', leaving, [[3, 1]], false, undefined],
    [
      'nothing remains for one, pods for another',
      leaving,
      [
        [0, 3600],
        [1, 200],
      ],
      true,
      100,
    ],
    [
      'the longest of those with pods counts',
      leaving,
      [
        [2, 200],
        [1, 300],
        [0, 3600],
      ],
      true,
      200,
    ],
    [
      'not Ready for a minute',
      { ...leaving, ready: 'Unknown', readySince: at(-60) },
      [[3, 3600]],
      false,
      undefined,
    ],
    ['not Ready for less', { ...leaving, ready: 'False', readySince: at(-59) }, [[3, 3600]], true, 1],
    [
      'not Ready and nearly out of time',
      { ...leaving, ready: 'False', readySince: at(-10) },
      [[3, 120]],
      true,
      20,
    ],
    ['Ready again', { ...leaving, ready: 'True', readySince: at(-1) }, [[3, 3600]], true, 3500],
    [
      'out of service',
      {
        ...leaving,
        taints: [{ key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' }],
      },
      [[3, 3600]],
      false,
      undefined,
    ],
    [
      'shut down',
      { ...leaving, taints: [{ key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' }] },
      [[3, 3600]],
      false,
      undefined,
    ],
    [
      'another taint',
      { ...leaving, taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }] },
      [[3, 3600]],
      true,
      3500,
    ],
  ])('%s', (_, options, guards, wanted, wakeIn) => {
    expect(guard(options, guards)).toEqual({ wanted, wakeIn });
  });

  test('a node that never reported is dead a minute after its deletion', () => {
    const { status: _, ...silent } = node({ deletionTimestamp: at(-30) });
    const stance = takeStance({
      maintenance: maintenance({ nodeDeletePolicy: 'Evict' }),
      node: silent,
      admitted: true,
      permitted: everythingPermitted,
    });
    expect(planGuard(silent, [stance], () => 3, noon)).toEqual({ wanted: true, wakeAt: noon + 30_000 });
    expect(planGuard(silent, [stance], () => 3, noon + 30_000).wanted).toBe(false);
  });
});
