// What the operator knows is in the API: a restart changes nothing that anybody can see, however long ago it all began.
import { beforeAll, expect, test } from '@jest/globals';
import { nodeMaintenancesPath, nodeMaintenanceStatusPath } from '../../src/api/names.ts';
import type { NodeMaintenance } from '../../src/api/types.generated.ts';
import { ownTestBed } from './support/beds.ts';
import { holdsFor } from './support/eventually.ts';
import { History } from './support/history.ts';
import type { Island } from './support/island.ts';
import type { OperatorProcess } from './support/operator-process.ts';
import { said } from './support/status.ts';

const LONG_AGO = '2026-01-02T03:04:05Z';

const bed = ownTestBed(import.meta.filename);
let operator: OperatorProcess;

async function start(): Promise<void> {
  // The Lease of the one before is its own: nothing has to be waited for.
  const flags = ['--max-unavailable-nodes=100%'];
  operator = await bed.startOperator({ identity: 'the-only-one', flags });
}

beforeAll(start, 60_000);

/** Two pods that leave and two that their budget holds up; returns when that is what status says. */
async function halfDrained(name: string, drain: object): Promise<[Island, NodeMaintenance]> {
  const island = await bed.island(name);
  await bed.place(
    island,
    island.deployment('free', { replicas: 2 }),
    island.deployment('web', { replicas: 2 }),
    island.budget('web', { minAvailable: 2 }),
  );
  await bed.maintain(island.node, { drain });
  const held = await bed.until(island.node, 'half of it is done', ({ status }) => {
    return status?.drain?.pods?.gone === 2 && status.blockersTotal === 2;
  });
  return [island, held];
}

/** A process that has just started asks a closed budget once: then it has looked at everything. */
async function untilItAsks({ namespace }: Island, work: () => Promise<void>): Promise<void> {
  const before = bed.audit.evictions(namespace).length;
  await work();
  await bed.eventually('the new one has asked', () => bed.audit.evictions(namespace).length > before);
}

test('killed in mid-drain: start, deadline and progress stay as they were', async () => {
  const [island, held] = await halfDrained('progress', { timeoutSeconds: 900 });
  const { node, namespace } = island;
  const history = await History.of<NodeMaintenance>(bed.files.kubeconfig, nodeMaintenancesPath, node);
  await untilItAsks(island, async () => {
    await operator.kill();
    await start();
  });
  await holdsFor(2000, 'status is as it was', async () => {
    const { status } = await bed.maintenance(node);
    expect(status?.drain?.progress).toBe('2/4');
    // With the moment since when they are held up, and that at which the drain gives up.
    expect(status?.blockers).toEqual(held.status?.blockers);
  });
  await bed.kubectl.run(['delete', 'pdb', 'web', `--namespace=${namespace}`]);
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  const versions = await history.upTo(await bed.maintenance(node));
  let gone = 2;
  for (const { status } of versions) {
    expect(status?.startTime).toBe(held.status?.startTime);
    expect(status?.drain?.startTime).toBe(held.status?.drain?.startTime);
    expect(status?.drain?.pods?.total).toBe(4);
    expect(status?.drain?.pods?.gone).toBeGreaterThanOrEqual(gone);
    gone = status?.drain?.pods?.gone ?? 0;
  }
  expect(gone).toBe(4);
  expect(bed.audit.accepted(namespace)).toHaveLength(4);
});

test('begun long ago: a drain that waits and a node that is drained are let be, and the object stays', async () => {
  const [waiting] = await halfDrained('waiting', {});
  const done = await bed.island('done');
  await bed.maintain(done.node, { drain: { unmanagedPods: 'Evict' } });
  await bed.untilSaid(done.node, 'Ready', 'True/Drained');
  const nodes = [waiting.node, done.node];
  await untilItAsks(waiting, async () => {
    await operator.stop();
    await Promise.all(nodes.map(makeOld));
    await start();
  });
  const before = await Promise.all(nodes.map(async (node) => bed.maintenance(node)));
  const writes = nodes.map((node) => bed.audit.nodePatches(node).length);
  await bed.kubectl.run(['label', 'node', ...nodes, 'example.com/news=yes']);
  await holdsFor(4000, 'nothing is changed', async () => {
    const after = await Promise.all(nodes.map(async (node) => bed.maintenance(node)));
    expect(after.map(({ status }) => status)).toEqual(before.map(({ status }) => status));
    expect(nodes.map((node) => bed.audit.nodePatches(node).length)).toEqual(writes);
  });
  for (const { metadata, status } of before) {
    expect(status?.startTime).toBe(LONG_AGO);
    expect(metadata.deletionTimestamp).toBeUndefined();
    expect((await bed.api.node(metadata.name)).spec?.unschedulable).toBe(true);
  }
  expect(before.map((object) => said(object, 'Ready'))).toEqual(['False/DrainBlocked', 'True/Drained']);

  // Nobody has forgotten them: what arrives leaves, and what is held up goes when it may.
  await bed.kubectl.apply(done.barePod('straggler', { spec: { nodeName: done.node } }));
  await bed.kubectl.run(['delete', 'pdb', 'web', `--namespace=${waiting.namespace}`]);
  await bed.eventually('it was evicted', () => bed.audit.accepted(done.namespace).length === 1);
  const drained = await bed.untilSaid(waiting.node, 'Ready', 'True/Drained');
  expect(drained.status?.drain?.startTime).toBe(LONG_AGO);
  expect(drained.status?.drain?.pods).toMatchObject({ total: 4, gone: 4 });
});

/** As in a backup that is restored: creationTimestamp is the API server's own. */
async function makeOld(name: string): Promise<void> {
  const { status } = await bed.maintenance(name);
  const drain = {
    startTime: LONG_AGO,
    ...(status?.drain?.completionTime === undefined ? {} : { completionTime: LONG_AGO }),
  };
  const conditions = status?.conditions?.map((one) => ({ ...one, lastTransitionTime: LONG_AGO }));
  const blockers = status?.blockers?.map((one) => ({ ...one, since: LONG_AGO }));
  const old = { startTime: LONG_AGO, drain, conditions, ...(blockers ? { blockers } : {}) };
  await bed.api.mergePatch(nodeMaintenanceStatusPath(name), { status: old });
}
