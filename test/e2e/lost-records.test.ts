// The record on the node is damaged or removed, or the maintenance itself: nothing stays cordoned, nothing is guessed.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { maintenanceAnnotation, nodeMaintenancePath, restoreNodeFinalizer } from '../../src/api/names.ts';
import { parseRecord } from '../../src/node/record.ts';
import { ownTestBed } from './support/beds.ts';
import { eventually } from './support/eventually.ts';
import type { OperatorProcess } from './support/operator-process.ts';

const bed = ownTestBed(import.meta.filename);

const FOREIGN = {
  labels: { 'example.com/rack': 'r1' },
  annotations: { 'example.com/note': 'as it was', 'karpenter.sh/do-not-disrupt': 'true' },
  taints: [{ key: 'example.com/dedicated', value: 'shop', effect: 'NoSchedule' }],
} as const;

let operator: OperatorProcess;
let runs = 0;

beforeAll(async () => startOperator());
afterAll(async () => operator.stop());

async function startOperator(): Promise<void> {
  // The Lease of the one that was stopped is free: nothing has to be waited for.
  operator = await bed.startOperator({
    name: `operator-${++runs}`,
    identity: 'the-only-one',
    flags: ['--max-unavailable-nodes=100%'],
  });
}

interface Held {
  readonly node: string;
  readonly name: string;
  readonly before: Awaited<ReturnType<typeof bed.snapshot>>;
  readonly during: Awaited<ReturnType<typeof bed.snapshot>>;
}

/** A node in maintenance; `unschedulable`: it was cordoned before. */
async function held(name: string, unschedulable = false): Promise<Held> {
  const node = `${bed.prefix}-${name}`;
  await bed.addNode(node, { ...FOREIGN, unschedulable });
  const before = await bed.snapshot(node);
  await bed.maintain(node, {
    reason: 'Firmware',
    taints: [{ key: 'example.com/extra', effect: 'NoSchedule' }],
  });
  await bed.untilSaid(node, 'Ready', 'True/Drained');
  const during = await bed.snapshot(node);
  expect(during).not.toEqual(before);
  expect(during.unschedulable).toBe(true);
  return { node, name: node, before, during };
}

async function annotate(node: string, change: string): Promise<void> {
  await bed.kubectl.run(['annotate', 'node', node, `${maintenanceAnnotation}${change}`, '--overwrite']);
}

async function untilLooks(node: string, what: string, looks: unknown): Promise<void> {
  await bed.eventually(`${node} ${what}`, async () => {
    expect(await bed.snapshot(node)).toEqual(looks);
    return true;
  });
}

describe.each([
  ['damaged', '={"holders":[{"name":"some'],
  ['made into something else', '={"holders":[],"before":{"unschedulable":"no"},"added":{}}'],
  ['removed', '-'],
])('the record on the node is %s', (what, change) => {
  const name = what.replaceAll(' ', '-');

  test.each([
    ['was schedulable before', false],
    ['was cordoned before', true],
  ])('while the operator runs, and the node %s', async (_, unschedulable) => {
    const { node, before, during } = await held(`${name}-${unschedulable}`, unschedulable);
    await annotate(node, change);
    await untilLooks(node, 'has its record again', during);
    if (change.startsWith('=')) {
      await bed.eventually('the damage is told', async () =>
        (await bed.api.events('Node', node)).some(({ reason }) => reason === 'RecordDamaged'),
      );
    }
    await bed.endMaintenance(node);
    expect(await bed.snapshot(node)).toEqual(before);
  });

  test('while no operator runs', async () => {
    const first = await held(`${name}-asleep`);
    const second = await held(`${name}-asleep-cordoned`, true);
    await operator.stop();
    for (const { node } of [first, second]) await annotate(node, change);
    await startOperator();
    for (const { node, before, during } of [first, second]) {
      await untilLooks(node, 'has its record again', during);
      await bed.endMaintenance(node);
      expect(await bed.snapshot(node)).toEqual(before);
    }
  });
});

describe('the maintenance is removed by taking off its finalizer by hand', () => {
  test('while no operator runs', async () => {
    const first = await held('orphan');
    const second = await held('orphan-cordoned', true);
    await operator.stop();
    for (const { name } of [first, second]) {
      await bed.kubectl.run(['delete', 'nmaint', name, '--wait=false']);
      await withoutFinalizer(name);
      await gone(name);
    }
    expect(await bed.snapshot(first.node)).toEqual(first.during);
    await startOperator();
    for (const { node, before } of [first, second]) await untilLooks(node, 'is put back', before);
  });

  test('while one runs', async () => {
    const { node, name, before } = await held('hasty');
    const record = async () => (await bed.api.node(node)).metadata.annotations?.[maintenanceAnnotation];
    expect(parseRecord((await record()) ?? '')?.holders).toMatchObject([{ name, reason: 'Firmware' }]);
    // Both at once, so that the object can be gone before the operator has seen that it is being deleted.
    await Promise.all([withoutFinalizer(name), bed.kubectl.run(['delete', 'nmaint', name, '--wait=false'])]);
    await untilLooks(node, 'is put back', before);
    await gone(name);
  });

  test('a finalizer that is taken off and nothing more is put on again', async () => {
    const { node, name, before, during } = await held('refreshed');
    await withoutFinalizer(name);
    await bed.until(name, 'has its finalizer', ({ metadata }) =>
      metadata.finalizers?.includes(restoreNodeFinalizer),
    );
    expect(await bed.snapshot(node)).toEqual(during);
    await bed.endMaintenance(name);
    expect(await bed.snapshot(node)).toEqual(before);
  });

  test('one of two: the other one keeps the node', async () => {
    const { node, name, before, during } = await held('shared');
    const other = await bed.maintain(node, { nodeDrainPolicy: 'NoSchedule' }, `${name}-other`);
    await bed.untilSaid(other, 'Ready', 'True/Cordoned');
    await operator.stop();
    await bed.kubectl.run(['delete', 'nmaint', name, '--wait=false']);
    await withoutFinalizer(name);
    await startOperator();
    await bed.eventually('the record names the other one alone', async () => {
      const text = (await bed.api.node(node)).metadata.annotations?.[maintenanceAnnotation];
      return (
        parseRecord(text ?? '')
          ?.holders.map((holder) => holder.name)
          .join() === other
      );
    });
    expect((await bed.snapshot(node)).unschedulable).toBe(during.unschedulable);
    await bed.endMaintenance(other);
    expect(await bed.snapshot(node)).toEqual(before);
  });
});

async function withoutFinalizer(name: string): Promise<void> {
  const { code, stderr } = await bed.kubectl.try([
    'patch',
    'nmaint',
    name,
    '--type=merge',
    '--patch={"metadata":{"finalizers":null}}',
  ]);
  // The operator may have been quicker with the deletion.
  if (code !== 0 && !stderr.includes('NotFound')) throw new Error(stderr);
}

async function gone(name: string): Promise<void> {
  await eventually(
    `${name} is gone`,
    async () => (await bed.api.find(nodeMaintenancePath(name))) === undefined,
  );
}
