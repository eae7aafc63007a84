/** Pods that come back to the node that they were evicted from. */
import { expect, test } from '@jest/globals';
import type { Pod } from '../../src/kube/types.ts';
import { sharedTestBed } from './support/beds.ts';
import type { PodOptions } from './support/builders.ts';
import { holdsFor } from './support/eventually.ts';
import type { Island } from './support/island.ts';
import { condition, isReady, said } from './support/status.ts';

const bed = sharedTestBed(import.meta.filename);

const HOSTNAME = 'kubernetes.io/hostname';

test.concurrent.each<[string, (island: Island) => PodOptions]>([
  [
    'tolerates',
    ({ node }) => ({
      tolerations: [{ operator: 'Exists' }],
      spec: {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: HOSTNAME, operator: 'In', values: [node] }] }],
            },
          },
        },
      },
    }),
  ],
  ['bound', ({ node }) => ({ spec: { nodeName: node } })],
])('a Deployment that %s: evicted three times, then named and not waited for', async (name, options) => {
  const island = await bed.island(name, { labels: {} });
  const { node, namespace } = island;
  await bed.api.mergePatch(`/api/v1/nodes/${node}`, { metadata: { labels: { [HOSTNAME]: node } } });
  await bed.place(
    island,
    island.deployment('clingy', { replicas: 1, ...options(island) }),
    island.deployment('web', { replicas: 2 }),
  );
  await bed.maintain(node);
  const blocked = await bed.untilSaid(node, 'DrainBlocked', 'True/ReturnsAfterEviction');
  const drained = await bed.untilSaid(node, 'Drained', 'True/Drained');
  expect(said(drained, 'Ready')).toBe('True/Drained');
  const clingy = await bed.eventually('it is back', async () => {
    const pods = await bed.api.podsOnNode(node);
    const [pod, ...others] = pods.filter((each: Pod) => each.metadata.deletionTimestamp === undefined);
    return pod !== undefined && others.length === 0 && isReady(pod) && pod;
  });
  const accepted = bed.audit.accepted(namespace);
  expect(accepted.filter(({ pod }) => pod.startsWith('clingy-'))).toHaveLength(3);
  expect(accepted.filter(({ pod }) => pod.startsWith('web-'))).toHaveLength(2);
  const [blocker] = blocked.status?.blockers ?? [];
  expect(blocker).toMatchObject({
    pod: { namespace, uid: clingy.metadata.uid },
    cause: 'ReturnsAfterEviction',
  });
  expect(blocker?.message).toContain('out of its template');
  for (const type of ['Ready', 'Drained'])
    expect(condition(drained, type)?.message).toContain(`${namespace}/${clingy.metadata.name}`);
  await holdsFor(2000, 'it is let be', () => bed.audit.evictions(namespace).length === 5);

  // What the message asks for.
  await bed.kubectl.run(['scale', 'deployment', 'clingy', `--namespace=${namespace}`, '--replicas=0']);
  await bed.untilSaid(node, 'DrainBlocked', 'False/NotBlocked');
  expect(said(await bed.maintenance(node), 'Drained')).toBe('True/Drained');
});
