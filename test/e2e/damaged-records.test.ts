// The record on a node is damaged in every way, or its mirror in the status: while the operator runs, and while none does.
import { beforeAll, expect, test } from '@jest/globals';
import { maintenanceAnnotation, nodeMaintenancePath } from '../../src/api/names.ts';
import { ownTestBed } from './support/beds.ts';
import type { NodeSnapshot } from './support/node-snapshot.ts';
import type { OperatorProcess } from './support/operator-process.ts';

const bed = ownTestBed(import.meta.filename);

/** All annotations of an object together may have 256 KiB. */
const ROOM = 256 * 1024;
const REASON = 'a\n\u001b[31m\u202eb\u0000"\\';

const DAMAGES: readonly (readonly [what: string, damage: (good: string) => string | null])[] = [
  ['removed', () => null],
  ['emptied', () => ''],
  ['cut off', (good) => good.slice(0, -5)],
  ['of wrong types', (good) => good.replace('"unschedulable":false', '"unschedulable":"no"')],
  ['of a holder without UID', (good) => good.replace(/"uid":"[^"]+"/, '"uid":7')],
  ['of a holder that can be no object', (good) => good.replace(/"name":"[^"]+"/, '"name":"../../secrets"')],
  ['of prototypes', (good) => `${good.slice(0, -1)},"__proto__":{"holders":[]},"constructor":1}`],
  // Whole, and of nobody: as if nothing had been put on.
  ['of nobody', () => '{"holders":[],"before":{"unschedulable":true},"added":{}}'],
  ['too deep', () => '['.repeat(50_000)],
  [
    'of thousands',
    () => `{"holders":[${Array(4_000).fill('{"name":"a","uid":"b","reason":""}').join(',')}]}`,
  ],
  ['too long', () => 'x'.repeat(ROOM - 5_000)],
];

let operator: OperatorProcess;
let runs = 0;

beforeAll(async () => startOperator(), 120_000);

async function startOperator(): Promise<void> {
  operator = await bed.startOperator({
    name: `operator-${++runs}`,
    identity: 'the-only-one',
    flags: ['--max-unavailable-nodes=100%'],
  });
}

interface Held {
  readonly node: string;
  readonly before: NodeSnapshot;
  readonly during: NodeSnapshot;
  readonly record: string;
}

async function held(name: string): Promise<Held> {
  const { node } = await bed.island(name, {
    spares: 0,
    taints: [{ key: 'example.com/mine', effect: 'NoSchedule' }],
  });
  const before = await bed.snapshot(node);
  await bed.maintain(node, { nodeDrainPolicy: 'NoSchedule', reason: REASON });
  await bed.untilSaid(node, 'Ready', 'True/Cordoned');
  return { node, before, during: await bed.snapshot(node), record: (await recordOf(node)) ?? '' };
}

async function recordOf(node: string): Promise<string | undefined> {
  return (await bed.api.node(node)).metadata.annotations?.[maintenanceAnnotation];
}

async function write(node: string, record: string | null): Promise<void> {
  const metadata = { annotations: { [maintenanceAnnotation]: record } };
  await bed.api.mergePatch(`/api/v1/nodes/${node}`, { metadata });
}

async function writtenAgain({ node, record, during }: Held, what: string): Promise<void> {
  await bed.eventually(`${node}: ${what}, written again`, async () => (await recordOf(node)) === record);
  expect(await bed.snapshot(node)).toEqual(during);
}

async function putBack({ node, before }: Held): Promise<void> {
  await bed.endMaintenance(node);
  expect(await bed.snapshot(node)).toEqual(before);
}

test('while the operator runs the record is written again each time', async () => {
  const one = await held('live');
  expect(one.record).toContain('"reason":"a [31mb \\"\\\\"');
  for (const [what, damage] of DAMAGES) {
    await write(one.node, damage(one.record));
    await writtenAgain(one, what);
  }
  await putBack(one);
});

test('one that is damaged while no operator runs is written again by the next one', async () => {
  const all = await Promise.all(DAMAGES.map(async (_, index) => held(`asleep-${index}`)));
  await operator.kill();
  await Promise.all(
    DAMAGES.map(async ([, damage], index) => {
      const { node = '', record = '' } = all[index] ?? {};
      await write(node, damage(record));
    }),
  );
  await startOperator();
  await Promise.all(all.map(async (one, index) => writtenAgain(one, DAMAGES[index]?.[0] ?? '')));
  await Promise.all(all.map(putBack));
});

// Its schema keeps worse out.
const MIRRORS: readonly (readonly [what: string, damage: object | null])[] = [
  ['removed', null],
  ['of another node', { uid: 'of-another-node' }],
  ['of nothing', { before: null, added: null }],
  ['of a cordon', { before: { unschedulable: true }, added: { labels: null, taints: null } }],
  ['of more', { added: { labels: { 'example.com/not-ours': 'x' }, taints: [] } }],
];

test.each([
  ['while the operator runs', true],
  ['while none runs', false],
])('a mirror that is damaged %s is written again from the record', async (_, runsMeanwhile) => {
  const all = await Promise.all(
    MIRRORS.map(async (_each, index) => held(`mirror-${runsMeanwhile}-${index}`)),
  );
  const mirrors = await Promise.all(all.map(async ({ node }) => (await bed.maintenance(node)).status?.node));
  if (!runsMeanwhile) await operator.kill();
  await Promise.all(
    MIRRORS.map(async ([, damage], index) => {
      const path = `${nodeMaintenancePath(all[index]?.node ?? '')}/status`;
      await bed.api.mergePatch(path, { status: { node: damage } });
    }),
  );
  if (!runsMeanwhile) await startOperator();
  await Promise.all(
    all.map(async ({ node }, index) =>
      bed.until(
        node,
        `its mirror, ${MIRRORS[index]?.[0]}, is written again`,
        ({ status }) => JSON.stringify(status?.node) === JSON.stringify(mirrors[index]),
      ),
    ),
  );
  await Promise.all(all.map(putBack));
});

const ours = (key: string): boolean => key.startsWith('haulout.dev/');

/** A merge patch that takes off what is not to stay. */
const without = (keys: object, stay: object) =>
  Object.fromEntries(
    Object.keys(keys)
      .filter((key) => !(key in stay))
      .map((key) => [key, null]),
  );

test('with both lost and nobody who remembers, what carries our name is taken off, the rest stays as it is found', async () => {
  const { node, before, during } = await held('both');
  await operator.kill();
  await write(node, '{');
  await bed.api.mergePatch(`${nodeMaintenancePath(node)}/status`, { status: { node: null } });
  await startOperator();
  await bed.eventually('whoever looks is told', async () => {
    const events = await bed.api.events('Node', node);
    return events.some(
      ({ reason, note }) => reason === 'RecordDamaged' && /no maintenance has a copy/.test(note ?? ''),
    );
  });
  await bed.endMaintenance(node);
  const left = Object.keys({ ...during.labels, ...during.annotations }).filter((key) => !ours(key));
  const after = await bed.snapshot(node);
  expect(Object.keys({ ...after.labels, ...after.annotations }).toSorted()).toEqual(left.toSorted());
  expect(after.taints.filter(ours)).toEqual([]);
  expect(after.unschedulable).toBe(true);
  // By hand, as it has to be.
  await bed.api.mergePatch(`/api/v1/nodes/${node}`, {
    metadata: {
      labels: without(after.labels, before.labels),
      annotations: without(after.annotations, before.annotations),
    },
    spec: { unschedulable: null },
  });
});
