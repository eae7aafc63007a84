import { expect, test } from '@jest/globals';
import { seconds } from '../../../src/preview/duration.ts';
import { renderJson, renderPreview } from '../../../src/preview/text.ts';
import { budget, pod } from '../../fixtures/objects.ts';
import { asking, preview, type PreviewOptions } from '../../fixtures/previews.ts';

const firstLine = (options: PreviewOptions) => renderPreview(preview(options)).split('\n')[0];
const daemon = pod('d', { owner: { kind: 'DaemonSet', name: 'd', uid: 'uid-ds' } });
const daemonSets = [{ metadata: { ...daemon.metadata, uid: 'uid-ds' } }];

test('what comes from the cluster moves no cursor and hides nothing on a terminal', () => {
  const hostile = 'web\u001b[2J\u009b2J\u202e\u200b\nNothing was changed.';
  const shown = preview({ pods: [pod('a', { namespace: hostile })], gaps: [hostile] });
  for (const text of [renderPreview(shown), renderJson(shown)])
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  const lines = renderPreview(shown).split('\n');
  expect(lines.filter((line) => line.startsWith('Nothing was changed.'))).toHaveLength(1);
  expect(JSON.parse(renderJson(shown))).toEqual(JSON.parse(JSON.stringify(shown)));
});

test.each<[string, PreviewOptions, string]>([
  ['an empty node', {}, 'node n1: 0 pods leave, 0 stay; nothing stands in the way'],
  [
    'one of each',
    { pods: [pod('a'), daemon], daemonSets },
    'node n1: 1 pod leaves, 1 stays; nothing stands in the way',
  ],
  [
    'something held',
    { pods: [pod('a', { owner: undefined }), pod('b', { deletionTimestamp: '2026-01-01T12:00:10Z' })] },
    'node n1: 0 pods leave, 1 held, 1 stopping already, 0 stay; 1 thing stands in the way',
  ],
  [
    'something not known',
    { gaps: ['x', 'y'] },
    'node n1: 0 pods leave, 0 stay; nothing stands in the way, 2 things not known',
  ],
])('the first line is the verdict: %s', (_, options, line) => {
  expect(firstLine(options)).toBe(line);
});

test('a preview with something in every section', () => {
  const closed = budget('web', { allowed: 0, needs: 2 });
  const text = renderPreview(
    preview({
      pods: [asking(pod('web-0', { emptyDir: true }), '8'), daemon],
      daemonSets,
      budgets: [closed],
      volumes: new Map([
        [
          'uid-web-0',
          { kind: 'known', volumes: [{ persistentVolume: 'pv', claim: 'data', driver: 'disk.example.com' }] },
        ],
      ]),
      answers: { 'web-0': { kind: 'refused', obstacle: { cause: 'PodDisruptionBudget', message: 'no' } } },
      gaps: ['something'],
    }),
  );
  expect(text).toBe(`node n1: 1 pod leaves, 1 stays; 2 things stand in the way, 1 thing not known

In the way
  NoRoom: finds room on no other node; 1 node: it lacks cpu (8 asked for, 4 free)
    pod shop/web-0
  PodDisruptionBudget: budget shop/web needs 2 healthy pods and has 2
    pod shop/web-0
    then: evicted as soon as the budget allows it

Not known
  something

Leave (1)
  POD         CONTROLLER      GRACE
  shop/web-0  ReplicaSet/web  30 s   cannot leave now

Stay (1)
  POD     CONTROLLER
  shop/d  DaemonSet/d  belongs to the node

Lost
  emptyDir data of shop/web-0

Budgets
  BUDGET    PODS HERE  ALLOWED  HEALTHY/NEEDED
  shop/web  1          0        2/2             refuses now

Volumes
  DRIVER            PODS  VOLUMES  AT A TIME
  disk.example.com  1     1        1 pod

Room elsewhere
  1 of 1 pod finds no room on 1 other schedulable node
  not considered: affinity between pods, topology spread, host ports, where volumes can be attached

Time: not known beforehand
  up to 30 s for a pod to stop (its grace period), all side by side
  up to 4 min for volumes of disk.example.com (grace period, 120 s to detach and 90 s to attach elsewhere)
  not counted: what stands in the way, for as long as it does

Nothing was changed.
`);
});

test.each([
  [45, '45 s'],
  [0.2, '1 s'],
  [119, '119 s'],
  [120, '2 min'],
  [121, '3 min'],
  [7_200, '2 h'],
  [9_000, '2 h 30 min'],
])('%d seconds are %s', (amount, text) => {
  expect(seconds(amount)).toBe(text);
});
