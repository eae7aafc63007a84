import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ACTS, actsNamed } from '../../../../hack/bench/acts.ts';
import { filled, priceOfSettings, speed } from '../../../../hack/bench/fill.ts';
import type { Report } from '../../../../hack/bench/report.ts';
import { repositoryRoot } from '../../../../hack/cluster/lib/paths.ts';

const row: Report['rows'][number] = {
  name: 'volumes',
  work: 'this',
  kubectl: '2 s',
  haulout: '1 s',
  goals: [],
  traffic: [],
  details: { about: 'Volumes:', head: ['a', 'b'], rows: [['x', 1]] },
  operator: {
    rssBeforeMb: 160,
    rssPeakMb: 216.4,
    rssAfterMb: 1,
    cpuSeconds: 1.42,
    loopP99Ms: 1,
    loopMaxMs: 49,
  },
  machine: { cluster: {}, busy: 0.5, others: 0 },
};
const traffic = (['haulout', 'kubectl'] as const).map((who) => ({
  who,
  requests: { counted: 1, kinds: {}, watches: 0, firstLists: 0, lease: 0 },
  evictions: {
    accepted: 1,
    refused: 0,
    mostPerPod: 1,
    answerMs: { median: 1, most: 1 },
    acceptedWithinMs: 1,
    stoppedLateMs: { median: 1, most: 1 },
  },
}));

function report(rows: Report['rows']): Report {
  const machine = {
    date: '2026-11-21',
    cores: 2,
    processor: 'some',
    memoryGb: 24,
    kernel: '6',
    node: '24',
    loadBefore: 0,
  };
  return { machine, kubernetes: 'v1.36.3', haulout: '0.1.0', took: 1, rows };
}

describe('what a run of the bench fills', () => {
  test('lines between the two marks, and nothing else', () => {
    const text = 'before\n<!-- bench: x -->\nold\nold\n<!-- end of bench -->\nafter <!-- bench: y -->\n';
    expect(filled(text, 'x', ['new'])).toBe(
      'before\n<!-- bench: x -->\nnew\n<!-- end of bench -->\nafter <!-- bench: y -->\n',
    );
    expect(() => filled(text, 'y', ['new'])).toThrow('there is no place for bench: y');
  });

  test.each([
    ['README.md', 'speed'],
    ['docs/volumes.md', 'volumes'],
  ])('%s has a place for %s', (file, name) => {
    const text = readFileSync(join(repositoryRoot, file), 'utf8');
    expect(filled(text, name, ['new'])).toContain('\nnew\n');
  });

  test('the price of the settings, where they were played', () => {
    expect(priceOfSettings(report([row]))).toEqual([
      'Measured 2026-11-21, on one machine with 2 cores and 24 GiB that also ran the control plane (v1.36.3) and the fake nodes.',
      '',
      'Volumes:',
      '',
      '| a | b |',
      '| --- | --- |',
      '| x | 1 |',
    ]);
    expect(priceOfSettings(report([{ ...row, name: 'one-node' }]))).toBeUndefined();
  });

  test('the table of the README, only of a whole run', () => {
    expect(speed(report([row]))).toBeUndefined();
    const whole = ACTS.map(({ name }) => ({ ...row, name, traffic }));
    const lines = speed(report(whole))?.join('\n');
    expect(lines).toContain('| this | 2 s | 1 s |\n');
    expect(lines).toContain('1.4 s of processor time and 216 MB at the peak');
    const quick = whole.map((one) => ({ ...one, traffic: traffic.slice(0, 1) }));
    expect(speed(report(quick))).toBeUndefined();
  });
});

describe('rows by their names', () => {
  test('all where none is named, and those that are in the order of the table', () => {
    expect(actsNamed([])).toEqual(ACTS);
    expect(actsNamed(['volumes', 'one-node']).map(({ name }) => name)).toEqual(['one-node', 'volumes']);
  });

  test('what is not there is said', () => {
    expect(() => actsNamed(['volume'])).toThrow(/^there is no row volume, but one-node, /);
  });
});
