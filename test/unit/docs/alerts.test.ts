/** The alerts, their pages and the metrics that they ask for belong together. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { createMetrics } from '../../../src/runtime/metrics.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, '../../..');

function alerts(): readonly Rule[] {
  const { groups } = parse(readFileSync(join(root, 'charts/haulout/files/alerts.yaml'), 'utf8')) as {
    groups: { rules: Rule[] }[];
  };
  return groups.flatMap(({ rules }) => rules);
}

test('each alert has a page, and each page an alert', () => {
  const pages = readdirSync(join(root, 'docs/alerts')).toSorted();
  expect(
    alerts()
      .map(({ alert }) => `${alert}.md`)
      .toSorted(),
  ).toEqual(pages);
  for (const { alert, annotations } of alerts()) {
    expect(annotations['runbook_url']).toBe(`docs/alerts/${alert}.md`);
    const page = readFileSync(join(root, 'docs/alerts', `${alert}.md`), 'utf8');
    expect(page.split('\n')[0]).toBe(`# ${alert}`);
    for (const part of ['**Says:**', '**Matters because**', '**What to do**']) expect(page).toContain(part);
  }
});

test('each alert says how bad it is, and what it is about', () => {
  for (const { labels, annotations } of alerts()) {
    expect(labels['severity']).toMatch(/^(?:warning|critical)$/);
    expect(annotations['summary']).toMatch(/\.$/);
    expect(annotations['description']).toMatch(/\.$/);
  }
});

test('alerts ask only for metrics that there are, and for no pod', () => {
  const { registry } = createMetrics('1.2.3');
  for (const { expr } of alerts()) {
    const names = expr.match(/haulout_\w+/g) ?? [];
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) expect(registry.getSingleMetric(name)).toBeDefined();
    expect(expr).not.toContain('pod=');
  }
});
