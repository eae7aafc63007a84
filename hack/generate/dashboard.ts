// charts/haulout/files/dashboard.json: what Grafana shows. Written here as a list, because in the JSON nobody sees the
// queries for the boxes.

interface Panel {
  readonly title: string;
  readonly says: string;
  readonly type: 'stat' | 'table' | 'timeseries';
  /** Of Grafana. */
  readonly unit: string;
  /** Grid units of 24. */
  readonly width: number;
  readonly queries: readonly { readonly expr: string; readonly legend: string }[];
}

const rate = '[$__rate_interval]';
/** Only the processes of the operator have this one. */
const ofOperator = '* on (job, instance) group_left haulout_build_info';

const rows: readonly (readonly [string, readonly Panel[]])[] = [
  [
    'Maintenances',
    [
      panel('Leaders', 'One, where all is well.', 'stat', 'none', 4, {
        expr: 'sum(haulout_leader)',
        legend: 'leaders',
      }),
      panel('Objects by phase', 'NodeMaintenance objects.', 'stat', 'none', 10, {
        expr: 'max by (phase) (haulout_maintenances)',
        legend: '{{phase}}',
      }),
      panel('Blocked pods', 'Pods that cannot leave now, by cause.', 'stat', 'none', 10, {
        expr: 'sum by (cause) (haulout_blocked_pods)',
        legend: '{{cause}}',
      }),
      panel('Maintenances', 'All objects, and where they stand.', 'table', 'none', 12, {
        expr: 'max by (maintenance, node, policy, phase) (haulout_maintenance_info)',
        legend: '',
      }),
      panel('Pods left', 'Pods that still have to leave.', 'timeseries', 'none', 12, {
        expr: 'max by (maintenance, node) (haulout_maintenance_pods{state="remaining"})',
        legend: '{{node}} ({{maintenance}})',
      }),
      panel('Blocked for', 'How long pods have been held up.', 'timeseries', 's', 8, {
        expr: 'time() - min by (maintenance, node, cause) (haulout_maintenance_blocked_since_timestamp_seconds)',
        legend: '{{node}}: {{cause}}',
      }),
      panel('Without progress for', 'Drains under way.', 'timeseries', 's', 8, {
        expr: 'time() - max by (maintenance, node) (haulout_maintenance_last_progress_timestamp_seconds)',
        legend: '{{node}} ({{maintenance}})',
      }),
      panel('Time left', 'Until drain.timeoutSeconds is over.', 'timeseries', 's', 8, {
        expr: 'max by (maintenance, node) (haulout_maintenance_deadline_timestamp_seconds) - time()',
        legend: '{{node}} ({{maintenance}})',
      }),
      panel(
        'Held for nobody',
        'Nodes with marks of haulout that no maintenance names.',
        'timeseries',
        'none',
        8,
        {
          expr: 'max by (node) (haulout_node_held_without_maintenance)',
          legend: '{{node}}',
        },
      ),
      panel('Pods that left', 'By what became of them.', 'timeseries', 'ops', 8, {
        expr: `sum by (outcome) (rate(haulout_pods_total${rate}))`,
        legend: '{{outcome}}',
      }),
      panel(
        'Length of drains',
        'Active time of those that ended in an hour, on average.',
        'timeseries',
        's',
        8,
        {
          expr: 'sum by (outcome) (increase(haulout_drain_duration_seconds_sum[1h])) / sum by (outcome) (increase(haulout_drain_duration_seconds_count[1h]))',
          legend: '{{outcome}}',
        },
      ),
    ],
  ],
  [
    'Evictions',
    [
      panel(
        'Evictions',
        'Requests, by the answer; and what the leader allows itself.',
        'timeseries',
        'ops',
        8,
        [
          { expr: `sum by (answer) (rate(haulout_evictions_total${rate}))`, legend: '{{answer}}' },
          { expr: 'max(haulout_eviction_rate)', legend: 'allowed' },
        ],
      ),
      panel('Volumes', 'Pods whose volumes were followed to another node.', 'timeseries', 'ops', 8, {
        expr: `sum by (outcome) (rate(haulout_volume_moves_total${rate}))`,
        legend: '{{outcome}}',
      }),
      panel('Restarts of Deployments', 'Asked for by blockedDeployments.', 'timeseries', 'ops', 8, {
        expr: `sum(rate(haulout_deployment_restarts_total${rate}))`,
        legend: 'restarts',
      }),
    ],
  ],
  [
    'Operator',
    [
      panel('Requests', 'To the API server.', 'timeseries', 'reqps', 8, {
        expr: `sum by (verb, resource) (rate(haulout_api_requests_total${rate}))`,
        legend: '{{verb}} {{resource}}',
      }),
      panel('Requests refused', 'Of evictions 429 is the answer of a budget.', 'timeseries', 'reqps', 8, {
        expr: `sum by (resource, code) (rate(haulout_api_requests_total{code!~"2.."}${rate}))`,
        legend: '{{resource}} {{code}}',
      }),
      panel('Silence of watches', 'A bookmark comes every minute.', 'timeseries', 's', 8, {
        expr: 'time() - min by (instance, resource) (haulout_watch_last_event_timestamp_seconds)',
        legend: '{{instance}} {{resource}}',
      }),
      panel('Watches again', 'Started again, and lists read anew.', 'timeseries', 'ops', 8, [
        {
          expr: `sum by (resource) (rate(haulout_watch_restarts_total${rate}))`,
          legend: 'watch {{resource}}',
        },
        { expr: `sum by (resource) (rate(haulout_relists_total${rate}))`, legend: 'list {{resource}}' },
      ]),
      panel('Work queue', 'Nodes that wait, and reconciliations that failed.', 'timeseries', 'none', 8, [
        { expr: 'sum(haulout_queue_depth)', legend: 'waiting' },
        { expr: `sum(rate(haulout_reconcile_errors_total${rate}))`, legend: 'errors a second' },
      ]),
      panel('Reconciling', 'The slowest of a hundred.', 'timeseries', 's', 8, [
        quantile('haulout_queue_latency_seconds', 'wait'),
        quantile('haulout_reconcile_duration_seconds', 'work'),
      ]),
      panel('Memory', 'Resident.', 'timeseries', 'bytes', 8, {
        expr: `process_resident_memory_bytes ${ofOperator}`,
        legend: '{{instance}}',
      }),
      panel('Processor', 'Cores.', 'timeseries', 'none', 8, {
        expr: `rate(process_cpu_seconds_total${rate}) ${ofOperator}`,
        legend: '{{instance}}',
      }),
      panel('Event loop', 'The longest of a hundred delays.', 'timeseries', 's', 8, {
        expr: `nodejs_eventloop_lag_p99_seconds ${ofOperator}`,
        legend: '{{instance}}',
      }),
    ],
  ],
];

function panel(
  title: string,
  says: string,
  type: Panel['type'],
  unit: string,
  width: number,
  queries: Panel['queries'] | Panel['queries'][number],
): Panel {
  return { title, says, type, unit, width, queries: [queries].flat() };
}

function quantile(histogram: string, legend: string): Panel['queries'][number] {
  return { expr: `histogram_quantile(0.99, sum by (le) (rate(${histogram}_bucket${rate})))`, legend };
}

const datasource = { type: 'prometheus', uid: '${datasource}' };

/** The dashboard as Grafana imports it, with a variable for the source of data. */
export function generateDashboard(): string {
  const dashboard = {
    uid: 'haulout',
    title: 'haulout',
    description: 'Nodes that are taken out of service and put back.',
    tags: ['haulout', 'kubernetes'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: {
      list: [{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' }],
    },
    panels: placed(),
  };
  return `${JSON.stringify(dashboard, undefined, 2)}\n`;
}

/** From left to right and from top to bottom. */
function placed(): object[] {
  const panels: object[] = [];
  let y = 0;
  for (const [title, members] of rows) {
    panels.push({ id: panels.length + 1, type: 'row', title, gridPos: { x: 0, y, w: 24, h: 1 } });
    y += 1;
    let x = 0;
    for (const { says, queries, unit, width: w, ...one } of members) {
      const h = one.type === 'stat' ? 5 : 8;
      if (x + w > 24) throw new Error(`panel ${one.title} is too wide for its line`);
      panels.push({
        id: panels.length + 1,
        ...one,
        description: says,
        datasource,
        gridPos: { x, y, w, h },
        fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
        targets: queries.map(({ expr, legend }, index) => ({
          refId: String.fromCodePoint(65 + index),
          datasource,
          expr,
          legendFormat: legend,
          ...(one.type === 'table' ? { format: 'table', instant: true } : {}),
        })),
      });
      x = (x + w) % 24;
      if (x === 0) y += h;
    }
    if (x !== 0) throw new Error(`row ${title} does not end with a full line`);
  }
  return panels;
}
