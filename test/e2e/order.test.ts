/** In which order pods are asked to leave; the audit log is the witness. */
import { expect, test } from '@jest/globals';
import { sharedTestBed } from './support/beds.ts';
import { holdsFor } from './support/eventually.ts';

const bed = sharedTestBed(import.meta.filename);

test.concurrent('system-critical pods are asked when all others are gone', async () => {
  const island = await bed.island('critical');
  const { node, namespace } = island;
  const placed = await bed.place(
    island,
    island.deployment('dns', { replicas: 2, spec: { priorityClassName: 'system-cluster-critical' } }),
    island.deployment('web', { replicas: 3, stopsIn: '3s' }),
    island.barePod('bare'),
  );
  const of = (app: string): readonly string[] =>
    placed.filter(({ metadata }) => metadata.labels?.['app'] === app).map(({ metadata }) => metadata.uid);
  const asked = (app: string) => bed.audit.evictions(namespace).filter(({ uid }) => of(app).includes(uid));
  await bed.maintain(node);
  await bed.until(node, 'web is gone', ({ status }) => status?.drain?.pods?.gone === 3);
  await holdsFor(1000, 'the pod that Block holds is waited for', () => asked('dns').length === 0);

  await bed.edit(node, { drain: { unmanagedPods: 'Evict' } });
  await bed.untilSaid(node, 'Drained', 'True/Drained');
  expect(asked('web')).toHaveLength(3);
  expect(asked('dns')).toHaveLength(2);
  // The kubelet says with a deletion of its own that a pod has stopped.
  const names = new Set(
    placed.filter((pod) => !of('dns').includes(pod.metadata.uid)).map((pod) => pod.metadata.name),
  );
  const ends = bed.audit
    .entries({ verb: 'delete', resource: 'pods', subresource: '', namespace })
    .filter(({ objectRef }) => names.has(objectRef?.name ?? ''))
    .map(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp));
  expect(ends).toHaveLength(4);
  const first = Math.min(...asked('dns').map(({ askedAt }) => askedAt));
  expect(first).toBeGreaterThanOrEqual(Math.max(...ends));
});
