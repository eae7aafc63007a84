// A database that switches over by itself after the cordon: it is given its time, and a node to switch over to.
import { expect, test } from '@jest/globals';
import { nodeMaintenancesPath } from '../../src/api/names.ts';
import type { NodeMaintenance } from '../../src/api/types.generated.ts';
import { ownTestBed } from './support/beds.ts';
import { maintenance } from './support/builders.ts';
import { DatabaseOperator } from './support/database-operator.ts';
import { holdsFor } from './support/eventually.ts';
import { History } from './support/history.ts';
import { said } from './support/status.ts';

const NODES = ['worker-1', 'worker-2', 'worker-3'];
/** Longer than the minute after which a budget like that of the primary would be called unsatisfiable. */
const LONG_MS = 66_000;
const SHORT_MS = 3000;

const bed = ownTestBed(import.meta.filename, { nodes: NODES.length });

test('the primary is neither evicted nor deleted, and each node waits until the database has left it', async () => {
  const namespace = `${bed.prefix}-db`;
  await bed.namespace(namespace);
  const takes = (): number => (database.switchOvers.length === 0 ? LONG_MS : SHORT_MS);
  const database: DatabaseOperator = await DatabaseOperator.start(bed.api, namespace, () => takes());
  await bed.budgetSettled(namespace, 'orders-primary');
  await bed.startOperator({ flags: ['--max-unavailable-nodes=1'] });
  try {
    const first = (await database.primary()).spec.nodeName ?? '';
    const order = [first, ...NODES.filter((node) => node !== first)];
    const names = order.map((_, index) => `${bed.prefix}-${index + 1}`);
    const [oldest = '', ...others] = names;
    const history = await History.of<NodeMaintenance>(bed.files.kubeconfig, nodeMaintenancesPath, oldest);
    // Nothing here is deleted: all that would permit it is set.
    const drain = { unsatisfiableBudgets: 'Delete', retryIntervalSeconds: 1 } as const;
    await bed.kubectl.apply(...order.map((node, index) => maintenance(names[index] ?? '', node, { drain })));

    await bed.untilSaid(oldest, 'DrainBlocked', 'True/PodDisruptionBudget');
    const began = Date.now();
    await holdsFor(began + LONG_MS - 4000 - Date.now(), 'the database is given its time', async () => {
      const { status } = await bed.maintenance(oldest);
      expect(status?.phase).toBe('Draining');
      expect(status?.blockers).toMatchObject([
        { cause: 'PodDisruptionBudget', budget: { name: 'orders-primary' } },
      ]);
      for (const name of others)
        expect(said(await bed.maintenance(name), 'Ready')).toBe('False/WaitingForTurn');
    });
    expect(database.switchOvers).toEqual([]);
    expect(bed.audit.accepted(namespace)).toEqual([]);

    for (const [index, name] of names.entries()) {
      await bed.untilSaid(name, 'Ready', 'True/Drained');
      const { spec } = await database.primary();
      expect(spec.nodeName).not.toBe(order[index]);
      await bed.endMaintenance(name);
    }
    await history.stop();
    const causes = history.versions.flatMap(({ object }) => object.status?.blockers ?? []);
    expect(new Set(causes.map(({ cause }) => cause))).toEqual(new Set(['PodDisruptionBudget']));
    expect(database.failures).toBe(0);
    expect(database.switchOvers[0]?.from).toBe(first);
    expect(bed.audit.podDeletions(namespace)).toEqual([]);
    // One instance of each node, by the eviction API, and never two nodes cordoned at once.
    expect(bed.audit.accepted(namespace)).toHaveLength(NODES.length);
    expect(bed.audit.cordons()).toEqual(order.flatMap((node) => [`cordon ${node}`, `put back ${node}`]));
  } finally {
    database.stop();
  }
}, 240_000);
