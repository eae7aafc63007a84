// What others write on a Node, and how often: annotations without room, storms of changes.
import { beforeAll, expect, test } from '@jest/globals';
import { nodeMaintenancePath } from '../../src/api/names.ts';
import { ownTestBed } from './support/beds.ts';
import { maintenance } from './support/builders.ts';

const bed = ownTestBed(import.meta.filename);

/** All annotations of an object together may have 256 KiB. */
const ROOM = 256 * 1024;

const annotate = async (node: string, annotations: Readonly<Record<string, string | null>>): Promise<void> =>
  bed.api.mergePatch(`/api/v1/nodes/${node}`, { metadata: { annotations } });

const eightTaints = (of: number) =>
  Array.from({ length: 8 }, (_, at) => ({
    key: `example.com/t-${of}-${at}`,
    effect: 'PreferNoSchedule' as const,
  }));

beforeAll(async () => {
  await bed.startOperator({ flags: ['--max-unavailable-nodes=100%'] });
}, 120_000);

test('annotations of others leave no room: the maintenance says so, evicts nobody, and goes on once there is room', async () => {
  const island = await bed.island('full');
  await bed.place(island, island.deployment('web', { stopsIn: '1s' }));
  await annotate(island.node, { 'example.com/huge': 'x'.repeat(ROOM - 200) });
  const before = await bed.snapshot(island.node);
  await bed.maintain(island.node);
  await bed.until(island.node, 'says that the node cannot be written', ({ status }) => {
    const ready = status?.conditions?.find(({ type }) => type === 'Ready');
    return ready?.status === 'False' && /metadata\.annotations: Too long/.test(ready.message);
  });
  expect(bed.audit.accepted(island.namespace)).toEqual([]);
  await annotate(island.node, { 'example.com/huge': 'x' });
  await bed.untilSaid(island.node, 'Drained', 'True/Drained', { timeoutMs: 90_000 });
  await bed.endMaintenance(island.node);
  const after = await bed.snapshot(island.node);
  expect(after).toEqual({ ...before, annotations: { ...before.annotations, 'example.com/huge': 'x' } });
});

test('a storm of changes makes no storm of events, writes and evictions', async () => {
  const island = await bed.island('storm');
  await bed.place(
    island,
    island.deployment('web', { stopsIn: '1s' }),
    island.budget('web', { minAvailable: 1 }),
  );
  await bed.maintain(island.node);
  await bed.untilSaid(island.node, 'DrainBlocked', 'True/PodDisruptionBudget');
  const mark = bed.audit.mark();
  const path = nodeMaintenancePath(island.node);
  const [pod] = await bed.api.pods(island.namespace);
  const stormy = [
    `/api/v1/nodes/${island.node}`,
    `/api/v1/namespaces/${island.namespace}/pods/${pod?.metadata.name ?? ''}`,
    `/apis/policy/v1/namespaces/${island.namespace}/poddisruptionbudgets/web`,
    path,
  ];
  const changes = Array.from({ length: 400 }, (_, index) => index);
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let next = changes.pop(); next !== undefined; next = changes.pop()) {
        const metadata = { annotations: { 'example.com/storm': String(next) } };
        for (const one of stormy) await bed.api.mergePatch(one, { metadata });
        if (next % 20 === 0) await bed.api.mergePatch(path, { spec: { reason: `change ${next}` } });
      }
    }),
  );
  const generation = (await bed.maintenance(island.node)).metadata.generation;
  await bed.until(
    island.node,
    'the last change is seen',
    ({ status }) => status?.observedGeneration === generation,
  );
  const own = bed.audit
    .entries()
    .slice(mark)
    .filter(({ userAgent }) => userAgent?.startsWith('haulout/'));
  const count = (resource: string, verbs: readonly string[]): number =>
    own.filter(({ verb, objectRef }) => objectRef?.resource === resource && verbs.includes(verb)).length;
  expect(count('events', ['create', 'patch'])).toBeLessThan(10);
  // What is refused is asked again when its budget allows more, or some time later: not at each change of either.
  expect(count('pods', ['create'])).toBeLessThan(10);
  // One for each change of the spec and each change of what is said, and some for conflicts with the storm: 4 a second at most.
  expect(count('nodemaintenances', ['patch'])).toBeLessThan(300);
  expect(count('nodes', ['patch'])).toBeLessThan(150);
  await bed.endMaintenance(island.node);
}, 400_000);

test('any number of maintenances of one node, with the longest reasons, leaves the node writable', async () => {
  const island = await bed.island('crowd');
  const before = await bed.snapshot(island.node);
  const names = Array.from({ length: 24 }, (_, index) => `${island.node}-${index}`);
  await bed.kubectl.apply(
    ...names.map((name, index) =>
      maintenance(name, island.node, {
        nodeDrainPolicy: 'NoSchedule',
        reason: '😀'.repeat(1_024),
        taints: eightTaints(index),
      }),
    ),
  );
  const [last = ''] = names.slice(-1);
  await bed.untilSaid(last, 'Ready', 'True/Cordoned', { timeoutMs: 120_000 });
  expect(
    (await bed.maintenance(last)).status?.conditions?.find(({ type }) => type === 'Cordoned')?.message,
  ).toMatch(/left alone .* and \d+ more$/);
  await bed.kubectl.run(['delete', 'nmaint', ...names, '--wait=false']);
  await bed.eventually(
    'the node is as before',
    async () => {
      return JSON.stringify(await bed.snapshot(island.node)) === JSON.stringify(before);
    },
    { timeoutMs: 120_000 },
  );
}, 400_000);
