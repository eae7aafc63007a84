/** A real Prometheus scrapes the operator: every query of the alerts and of the dashboard finds what it asks for. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { repositoryRoot } from '../../hack/cluster/lib/paths.ts';
import { ensureTools } from '../../hack/cluster/lib/tools.ts';
import { as } from '../../hack/cluster/lib/untyped.ts';
import { maintenanceAnnotation } from '../../src/api/names.ts';
import { microTime } from '../../src/kube/micro-time.ts';
import { formatRecord, noAdditions } from '../../src/node/record.ts';
import { ownTestBed } from './support/beds.ts';
import { OPERATOR_NAMESPACE } from './support/install.ts';
import { runProgram } from './support/kubectl.ts';
import type { OperatorProcess } from './support/operator-process.ts';
import { Prometheus } from './support/prometheus.ts';

const bed = ownTestBed(import.meta.filename);
const files = join(repositoryRoot, 'charts', 'haulout', 'files');
const alerts = join(files, 'alerts.yaml');
const leasePath = `/apis/coordination.k8s.io/v1/namespaces/${OPERATOR_NAMESPACE}/leases`;

interface AlertFile {
  readonly groups: readonly { readonly rules: readonly object[] }[];
}

let operator: OperatorProcess;
let prometheus: Prometheus;

test('without a leader: that is seen, and so is a node that nobody holds', async () => {
  // Held by one that never comes: the operator stands by.
  await bed.api.create(leasePath, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'haulout' },
    spec: { holderIdentity: 'gone', leaseDurationSeconds: 3600, renewTime: microTime(Date.now()) },
  });
  operator = await bed.startOperator({ flags: ['--max-unavailable-nodes=100%'] });
  prometheus = await Prometheus.start({
    dir: bed.files.dir,
    targets: [`127.0.0.1:${operator.port()}`],
    rules: [alerts],
  });
  const annotations = {
    [maintenanceAnnotation]: formatRecord({
      holders: [],
      before: { unschedulable: false },
      added: noAdditions,
    }),
  };
  const { node } = await bed.island('orphan', { spares: 0, annotations });

  await fires('HauloutNodeHeldWithoutMaintenance', { node }, 'pending');
  await fires('HauloutNoLeader', {}, 'pending');
  await bed.api.remove(`${leasePath}/haulout`);
  await bed.eventually('it leads, and the node is put back', async () => {
    const held = await prometheus.query('haulout_node_held_without_maintenance');
    const leading = await prometheus.query('haulout_leader == 1');
    return held.length === 0 && leading.length === 1;
  });
  await bed.eventually('no alert is left', async () => (await prometheus.alerts()).length === 0);
});

test('a drain that is done, one that is blocked with its deadline near, and one that has failed', async () => {
  const [done, blocked, failed] = await Promise.all([
    bed.island('done'),
    bed.island('blocked'),
    bed.island('failed', { spares: 0 }),
  ]);
  await bed.place(done, done.deployment('web', { replicas: 2 }));
  await bed.place(
    blocked,
    blocked.deployment('web', { replicas: 2 }),
    blocked.budget('web', { minAvailable: 2 }),
  );
  await bed.place(failed, failed.barePod('alone'));
  await bed.maintain(done.node);
  await bed.maintain(blocked.node, { drain: { timeoutSeconds: 40 } });
  await bed.maintain(failed.node, { drain: { timeoutSeconds: 1 } });

  await bed.untilSaid(done.node, 'Ready', 'True/Drained');
  const labels = { maintenance: failed.node, node: failed.node };
  await fires('HauloutMaintenanceFailed', labels, 'firing');
  await fires('HauloutDrainDeadlineNear', { maintenance: blocked.node, node: blocked.node }, 'firing');
});

test('every selector of an alert finds series, and every query of the dashboard gives some', async () => {
  const missing: string[] = [];
  for (const { name, query, health, lastError } of await prometheus.rules()) {
    expect([name, health, lastError]).toEqual([name, 'ok', undefined]);
    const selectors = await prometheus.selectors(query);
    expect(selectors.length).toBeGreaterThan(0);
    for (const selector of selectors)
      if ((await prometheus.sinceBeginning(selector)).length === 0) missing.push(`${name}: ${selector}`);
    await prometheus.sinceBeginning(query);
  }
  for (const { title, expr } of dashboardQueries()) {
    const query = expr.replaceAll('$__rate_interval', '30s');
    if ((await prometheus.sinceBeginning(query)).length === 0) missing.push(`${title}: ${query}`);
  }
  expect(missing).toEqual([]);
  expect(dashboardQueries().length).toBeGreaterThan(20);
  const all = as<AlertFile>(parse(readFileSync(alerts, 'utf8'))).groups.flatMap(({ rules }) => rules);
  expect(all.length).toBeGreaterThan(5);
  expect(await prometheus.rules()).toHaveLength(all.length);
});

test('no series is about a pod, and promtool finds nothing to say about names, types and units', async () => {
  const series = await prometheus.sinceBeginning('{__name__=~"haulout_.+"}');
  const labels = new Set(series.flatMap(({ metric }) => Object.keys(metric)));
  expect([...labels].filter((label) => /pod|namespace|uid/.test(label))).toEqual([]);

  const text = (await (await operator.http('/metrics'))?.text()) ?? '';
  const own = text.split('\n').filter((line) => /^(?:# \w+ )?haulout_/.test(line));
  const { promtool } = await ensureTools(['promtool'], () => undefined);
  const { code, stdout, stderr } = await runProgram(promtool, ['check', 'metrics'], {
    stdin: `${own.join('\n')}\n`,
  });
  expect([code, stdout, stderr]).toEqual([0, '', '']);
});

/** At some time, not now: on a busy machine nobody may have looked in the few seconds in which it did. */
async function fires(
  name: string,
  labels: Record<string, string>,
  state: 'pending' | 'firing',
): Promise<void> {
  const all = Object.entries({ alertname: name, alertstate: state, ...labels });
  const matchers = all.map(([label, value]) => `${label}="${value}"`).join(',');
  await bed.eventually(`${name} is ${state}`, async () => {
    return (await prometheus.sinceBeginning(`ALERTS{${matchers}}`)).length > 0;
  });
}

function dashboardQueries(): readonly { title: string; expr: string }[] {
  const text = readFileSync(join(files, 'dashboard.json'), 'utf8');
  const { panels } = as<{ panels: { title: string; targets?: { expr: string }[] }[] }>(parse(text));
  return panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));
}
