/** An API server that has too much to do, and says so: its own priority and fairness refuses the operator's evictions. */
import { expect, test } from '@jest/globals';
import { ownTestBed } from './support/beds.ts';
import type { Manifest } from './support/builders.ts';
import { OPERATOR_NAMESPACE } from './support/install.ts';
import type { OperatorProcess } from './support/operator-process.ts';

const bed = ownTestBed(import.meta.filename);

const QPS = 40;
const PODS = 30;
const API = 'flowcontrol.apiserver.k8s.io/v1';
const NAME = 'evictions-of-haulout';

/** A level without a single seat: whoever comes is refused. */
const level: Manifest = {
  apiVersion: API,
  kind: 'PriorityLevelConfiguration',
  metadata: { name: NAME },
  spec: {
    type: 'Limited',
    limited: { nominalConcurrencyShares: 0, borrowingLimitPercent: 0, limitResponse: { type: 'Reject' } },
  },
};
const flow: Manifest = {
  apiVersion: API,
  kind: 'FlowSchema',
  metadata: { name: NAME },
  spec: {
    priorityLevelConfiguration: { name: NAME },
    matchingPrecedence: 2,
    rules: [
      {
        subjects: [{ kind: 'Group', group: { name: `system:serviceaccounts:${OPERATOR_NAMESPACE}` } }],
        resourceRules: [
          { verbs: ['create'], apiGroups: [''], resources: ['pods/eviction'], namespaces: ['*'] },
        ],
      },
    ],
  },
};

async function rateOf(operator: OperatorProcess): Promise<number> {
  const text = (await (await operator.http('/metrics'))?.text()) ?? '';
  return Number(/^haulout_eviction_rate (\S+)$/m.exec(text)?.[1] ?? Number.NaN);
}

test('evictions go more slowly, none is lost, and the rate comes back', async () => {
  const operator = await bed.startOperator({ flags: [`--eviction-qps=${QPS}`, '--eviction-burst=10'] });
  await bed.eventually('it leads', async () => (await rateOf(operator)) === QPS);
  const island = await bed.island('overload');
  const { node, namespace } = island;
  await bed.place(island, island.deployment('web', { replicas: PODS }));
  await bed.kubectl.apply(level, flow);
  await bed.eventually('the level is in force', async () => {
    const found = await bed.api.get<{ status?: { conditions?: { type: string; status: string }[] } }>(
      `/apis/${API}/flowschemas/${NAME}`,
    );
    return found.status?.conditions?.some(({ type, status }) => type === 'Dangling' && status === 'False');
  });

  await bed.maintain(node);
  const refused = () => bed.audit.evictions(namespace).filter(({ code }) => code === 429);
  await bed.eventually('the rate is a quarter', async () => (await rateOf(operator)) <= QPS / 4);
  const held = await bed.untilSaid(node, 'DrainBlocked', 'True/ApiError');
  expect(held.status?.blockers?.[0]?.message).toContain('overloaded');
  expect(operator.log().map(({ message }) => message)).toContain(
    'the API server is overloaded, evicting more slowly',
  );

  const lowest = await rateOf(operator);
  await bed.kubectl.run(['delete', 'flowschema', NAME]);
  const drained = await bed.untilSaid(node, 'Drained', 'True/Drained', { timeoutMs: 90_000 });
  expect(drained.status?.drain?.pods).toMatchObject({ total: PODS, gone: PODS, remaining: 0 });
  const accepted = bed.audit.accepted(namespace);
  expect(new Set(accepted.map(({ uid }) => uid)).size).toBe(PODS);
  expect(accepted).toHaveLength(PODS);
  expect(refused().length).toBeLessThan(3 * PODS);
  await bed.eventually('the rate rises again', async () => (await rateOf(operator)) > lowest);
});
