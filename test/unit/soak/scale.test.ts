import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { filled } from '../../../hack/bench/fill.ts';
import { repositoryRoot } from '../../../hack/cluster/lib/paths.ts';
import { formsNamed, FORMS } from '../../../hack/soak/forms.ts';
import { sectionsOf } from '../../../hack/soak/scale/page.ts';
import { plot, ticks } from '../../../hack/soak/scale/plot.ts';
import { plots } from '../../../hack/soak/scale/plots.ts';
import { readRecords } from '../../../hack/soak/scale/record.ts';
import { needOf } from '../../../hack/soak/scale/sizing.ts';
import { growth } from '../../soak/scale/churn.ts';
import { imageCommand } from '../../soak/scale/image-command.ts';
import { lineThrough, medianSlope, type Pair } from '../../soak/scale/trend.ts';

describe('a trend', () => {
  const line = fc.tuple(fc.integer({ min: -50, max: 50 }), fc.integer({ min: -50, max: 50 }));
  const xs = fc.uniqueArray(fc.integer({ min: 0, max: 1_000 }), { minLength: 2, maxLength: 20 });

  test('of points on a line is that line', () => {
    fc.assert(
      fc.property(line, xs, ([base, slope], all) => {
        const points = all.map((x): Pair => [x, base + slope * x]);
        expect(lineThrough(points).slope).toBeCloseTo(slope, 6);
        expect(lineThrough(points).base).toBeCloseTo(base, 3);
        expect(medianSlope(points)).toBeCloseTo(slope, 6);
      }),
    );
  });

  test('is not moved by an outlier where the median is taken', () => {
    const points = Array.from({ length: 12 }, (_, x): Pair => [x, x === 7 ? 900 : 5]);
    expect(medianSlope(points)).toBe(0);
    expect(Math.abs(lineThrough(points).slope)).toBeGreaterThan(5);
  });

  test('of the heap leaves out the first rounds, in which it fills', () => {
    const rounds = [900, 1_700, 2_000, 2_100, 2_200, 2_300].map((heapBytes, index) => ({
      maintenances: (index + 1) * 10,
      evictions: 1,
      heapBytes,
      rssMb: 1,
    }));
    expect(growth(rounds, 2)).toBe(10);
  });
});

describe('plots', () => {
  test('have axes from nothing to what is the most, at round numbers', () => {
    expect(ticks(142)).toEqual([0, 50, 100, 150]);
    expect(ticks(5_000)).toEqual([0, 2_000, 4_000, 6_000]);
    expect(ticks(0.4)).toEqual([0, 0.1, 0.2, 0.3, 0.4]);
    expect(ticks(0)).toEqual([0, 1]);
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 1e9, noNaN: true }), (most) => {
        const all = ticks(most);
        expect(all.at(-1)).toBeGreaterThanOrEqual(most * 0.99);
        expect(all.length).toBeLessThanOrEqual(6);
      }),
    );
  });

  test('are well-formed, whatever is in a label', () => {
    const svg = plot('a < b', [
      { title: 'x & y', xLabel: 'n', series: [{ name: 's', points: [[0, 1]], trend: true }] },
    ]);
    expect(svg).toContain('a &lt; b');
    expect(svg).toContain('x &amp; y');
    expect(svg).not.toContain('NaN');
  });
});

test('every section that can be filled has its place in the page, and what is there comes from the figures', () => {
  const page = readFileSync(join(repositoryRoot, 'docs', 'performance.md'), 'utf8');
  const records = readRecords();
  const sections = Object.entries(sectionsOf(records));
  expect(sections).toHaveLength(9);
  for (const [name, lines] of sections) {
    expect(filled(page, name, ['new'], 'soak')).toContain('\nnew\n');
    if (lines) expect(filled(page, name, lines, 'soak')).toBe(page);
  }
  for (const [name, svg] of Object.entries(plots(records))) {
    if (svg)
      expect(readFileSync(join(repositoryRoot, 'docs', 'performance', `${name}.svg`), 'utf8')).toBe(svg);
  }
});

test('a larger cluster takes what its parts take', () => {
  const prices = {
    baseMb: 100,
    nodeMb: 0.005,
    podMb: 0.001,
    maintenanceMb: 0.1,
    finishedMb: 0.002,
    budgetMb: 0.001,
    baseCpuPercent: 0.2,
    nodeCpuPercent: 0.0001,
    baseSyncSeconds: 0.5,
    nodeSyncSeconds: 0.001,
  };
  expect(
    needOf(prices, { nodes: 15_000, maintained: 150, podsPerNode: 30, budgets: 1_000, finished: 500 }),
  ).toEqual({
    idleMb: 176,
    busyMb: 176 + 15 + 4.5 + 1,
    idleCpuPercent: 1.7,
    syncSeconds: 15.5,
    watches: 157,
    firstListPages: 150,
    statusReportsPerSecond: 50,
  });
});

test('forms are found by their names and by the names of their groups', () => {
  expect(formsNamed([])).toBe(FORMS);
  expect(formsNamed(['scale-nodes']).map(({ name }) => name)).toEqual(['scale-nodes']);
  expect(formsNamed(['scale']).length).toBeGreaterThan(5);
  expect(() => formsNamed(['scal'])).toThrow(/^there is no form scal, but /);
});

test('the operator is started as its image starts it', () => {
  expect(imageCommand('/tmp/haulout.mjs', '/tmp/libjemalloc.so', '--inspect')).toEqual({
    program: [
      process.execPath,
      '--max-old-space-size=256',
      '--max-semi-space-size=4',
      '--inspect',
      '/tmp/haulout.mjs',
    ],
    environment: {
      NODE_ENV: 'production',
      LD_PRELOAD: '/tmp/libjemalloc.so',
      MALLOC_CONF: 'narenas:1,tcache:false,dirty_decay_ms:1000,muzzy_decay_ms:0',
    },
  });
});
