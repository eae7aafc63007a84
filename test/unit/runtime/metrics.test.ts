import { expect, test } from '@jest/globals';
import { createMetrics, setCounts, workQueueMetrics } from '../../../src/runtime/metrics.ts';

test('names follow the Prometheus conventions and every metric says what it is', async () => {
  const { registry } = createMetrics('1.2.3');
  const own = (await registry.getMetricsAsJSON()).filter(({ name }) => name.startsWith('haulout_'));
  expect(own.length).toBeGreaterThan(12);
  for (const metric of own) {
    expect(metric.name).toMatch(/^haulout_[a-z_]+$/);
    expect(metric.help).toMatch(/\.$/);
    expect(`${String(metric.type)} ${metric.name}`).toMatch(
      /^(?:counter .*_total|(?:gauge|histogram) (?!.*_total$).*)$/,
    );
    if (String(metric.type) === 'histogram') expect(metric.name).toMatch(/_seconds$/);
  }
});

test('serves the numbers of the process beside its own, from a registry that nobody else shares', async () => {
  const first = createMetrics('1.2.3');
  const second = createMetrics('1.2.3');
  first.evictions.inc({ answer: 'accepted' });
  const text = await first.registry.metrics();
  expect(text).toContain('haulout_evictions_total{answer="accepted"} 1');
  expect(text).toContain(`haulout_build_info{version="1.2.3",node_version="${process.versions.node}"} 1`);
  expect(text).toMatch(/^haulout_leader 0$/m);
  expect(text).toMatch(/^process_resident_memory_bytes \d+/m);
  expect(text).toMatch(/^process_cpu_seconds_total /m);
  expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
  expect(await second.registry.metrics()).not.toContain('answer="accepted"');
});

test('setCounts leaves no number of a label value that is gone', async () => {
  const metrics = createMetrics('1.2.3');
  setCounts(
    metrics.blockedPods,
    new Map([
      ['EmptyDir', 2],
      ['UnmanagedPod', 1],
    ]),
  );
  setCounts(metrics.blockedPods, new Map([['UnmanagedPod', 3]]));
  const text = await metrics.registry.metrics();
  expect(text).toContain('haulout_blocked_pods{cause="UnmanagedPod"} 3');
  expect(text).not.toContain('EmptyDir');
});

test('takes what a work queue tells', async () => {
  const metrics = createMetrics('1.2.3');
  const queue = workQueueMetrics(metrics);
  queue.depth?.(4);
  queue.started?.(0.2);
  queue.finished?.(1.5, 'ok');
  queue.finished?.(0.5, 'error');
  const text = await metrics.registry.metrics();
  expect(text).toMatch(/^haulout_queue_depth 4$/m);
  expect(text).toMatch(/^haulout_queue_latency_seconds_sum 0.2$/m);
  expect(text).toMatch(/^haulout_reconcile_duration_seconds_sum 2$/m);
  expect(text).toMatch(/^haulout_reconcile_duration_seconds_count 2$/m);
  expect(text).toMatch(/^haulout_reconcile_errors_total 1$/m);
});
