import type { createMetrics } from '../../src/runtime/metrics.ts';

// Where they come from (prom-client), its documentation is the better one.
const foreign = /^(?:process|nodejs)_/;

/** docs/metrics.md, from the registry that the operator serves: every metric of haulout with its labels. */
export async function generateMetricsDoc(
  registry: ReturnType<typeof createMetrics>['registry'],
): Promise<string> {
  const own = (await registry.getMetricsAsJSON()).filter(({ name }) => !foreign.test(name));
  const rows = own.map(({ name, type, help }) => {
    const labels = labelsOf(registry.getSingleMetric(name));
    const shown = labels.length === 0 ? '' : `{${labels.join(',')}}`;
    return `| \`${name}${shown}\` | ${String(type)} | ${help} |`;
  });
  return `${head}${rows.toSorted().join('\n')}\n`;
}

function labelsOf(metric: unknown): readonly string[] {
  if (typeof metric !== 'object' || metric === null || !('labelNames' in metric)) return [];
  const names: unknown = metric.labelNames;
  return Array.isArray(names) ? names.map(String) : [];
}

const head = `<!-- Generated from src/runtime/metrics.ts by \`make generate\`. Do not edit. -->

# Metrics

Served by every replica at \`/metrics\` of \`--http-address\`, beside the usual ones of a Node.js process (\`process_*\`,
\`nodejs_*\`). Histograms have \`_bucket\`, \`_sum\` and \`_count\` as everywhere.

Labels never hold names of pods. Names of maintenances and nodes they do hold: as many as there are objects that somebody
made, and the series go with them. Each replica gives the gauges of maintenances and nodes from what the API holds, so
that they are there without a leader; ask for \`max by (maintenance, node) (...)\`. Counters and histograms are those of
the process that did the work; ask for sums.

Alerts on them are in [charts/haulout/files/alerts.yaml](../charts/haulout/files/alerts.yaml), each with a page in
[alerts](alerts) that says what to do; beside them is a dashboard for Grafana. The chart brings both, and a ServiceMonitor
or a PodMonitor, by its values \`monitoring.*\`.

## Over TLS, for those who may

With \`--metrics-secure\` (\`monitoring.secureMetrics.enabled\` of the chart) \`/metrics\` is on \`--metrics-address\` (port 8443)
and no longer on \`--http-address\`, where the probes stay.

- The certificate is that of \`--metrics-cert-dir\` (\`tls.crt\`, \`tls.key\`), and another one is used within ten seconds of
  its coming. Without that flag each process makes one, which keeps listeners out and proves nothing.
- Who asks has to show a bearer token that the API server knows (TokenReview; otherwise 401), of a user who may \`get\` the
  non-resource URL \`/metrics\` (SubjectAccessReview; otherwise 403). Bind the ClusterRole \`haulout-metrics-reader\` of the
  chart to Prometheus' ServiceAccount, if it has no such permission yet. A yes is remembered for a minute, a no for ten
  seconds. While the API server cannot be asked, nobody is let in (503).

## All metrics

| metric | type | says |
|---|---|---|
`;
