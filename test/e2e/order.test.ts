/** In which order pods are asked to leave; the audit log is the witness. */
import { expect, test } from '@jest/globals';
import { sharedTestBed } from './support/beds.ts';
import type { NodeMaintenance } from '../../src/api/types.generated.ts';
import type { Manifest } from './support/builders.ts';
import { holdsFor } from './support/eventually.ts';
import { isReady } from './support/status.ts';

const bed = sharedTestBed(import.meta.filename);

const threeHeldUp = ({ status }: NodeMaintenance): boolean => status?.blockersTotal === 3;

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

test.concurrent('under one budget, pods that are not ready are asked before the others', async () => {
  const island = await bed.island('unready');
  const { node, namespace } = island;
  const placed = await bed.place(
    island,
    island.deployment('web', { replicas: 3 }),
    island.budget('web', { minAvailable: 0 }),
  );
  const last = placed.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)).at(-1);
  const name = last?.metadata.name ?? '';
  await bed.api.strategicPatch(`/api/v1/namespaces/${namespace}/pods/${name}/status`, {
    status: { conditions: [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady' }] },
  });
  await bed.eventually('the budget counts it out', async () => {
    return (await bed.api.budget(namespace, 'web')).status?.currentHealthy === 2;
  });
  await bed.maintain(node);
  await bed.untilSaid(node, 'Drained', 'True/Drained');
  const asked = bed.audit.evictions(namespace).toSorted((a, b) => a.askedAt - b.askedAt);
  expect(asked).toHaveLength(3);
  expect(asked[0]?.uid).toBe(last?.metadata.uid);
});

test.concurrent('under one budget, the node of the older maintenance is emptied first', async () => {
  const island = await bed.island('elder', { spares: 2 });
  const { namespace, node: younger } = island;
  const [elder = '', home = ''] = island.spares;
  const tier = { labels: { tier: 'shop' } };
  const budget: Manifest = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'shop', namespace },
    spec: { selector: { matchLabels: tier.labels }, minAvailable: 6 },
  };
  await bed.place(island, island.deployment('one', { replicas: 3, ...tier }), budget);
  await Promise.all([bed.cordon(younger), bed.cordon(home)]);
  await bed.kubectl.apply(island.deployment('two', { replicas: 3, ...tier }));
  await bed.eventually('all six are ready', async () => {
    const pods = await bed.api.podsOnNode(elder);
    return pods.length === 3 && pods.every(isReady);
  });
  await bed.budgetSettled(namespace, 'shop');
  await Promise.all([bed.uncordon(younger), bed.uncordon(home)]);
  const elders = (await bed.api.podsOnNode(elder)).map(({ metadata }) => metadata.uid);

  // The younger one waits for the budget first: it is the age that counts.
  await bed.maintain(elder, { suspend: true }, `${elder}-1`);
  await bed.untilSaid(`${elder}-1`, 'Ready', 'False/Suspended');
  await bed.maintain(younger, {}, `${elder}-2`);
  await bed.until(`${elder}-2`, 'its pods are held up', threeHeldUp);
  await bed.edit(`${elder}-1`, { suspend: false });
  await bed.until(`${elder}-1`, 'its pods are held up', threeHeldUp);
  const patch = JSON.stringify({ spec: { minAvailable: 5 } });
  await bed.kubectl.run([
    'patch',
    'pdb',
    'shop',
    `--namespace=${namespace}`,
    '--type=merge',
    '--patch',
    patch,
  ]);
  await bed.untilSaid(`${elder}-1`, 'Drained', 'True/Drained');
  await bed.untilSaid(`${elder}-2`, 'Drained', 'True/Drained');
  const accepted = bed.audit.accepted(namespace).toSorted((a, b) => a.askedAt - b.askedAt);
  expect(accepted).toHaveLength(6);
  expect(
    accepted
      .slice(0, 3)
      .map(({ uid }) => uid)
      .toSorted(),
  ).toEqual(elders.toSorted());
});
