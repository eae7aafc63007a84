import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { filled } from '../../../../hack/bench/fill.ts';
import { describeMiss, isMet } from '../../../../hack/bench/goals.ts';
import { idleGoals, idleLines } from '../../../../hack/bench/idle.ts';
import { repositoryRoot } from '../../../../hack/cluster/lib/paths.ts';

const figures = {
  listensSeconds: 0.361,
  inSyncSeconds: 0.43,
  startCpuSeconds: 0.62,
  earlyMb: 95.2,
  settledMb: 97,
  cpuPercent: 0.33,
};
const machine = {
  date: '2026-11-21',
  cores: 2,
  processor: 'some',
  memoryGb: 24,
  kernel: '6',
  node: '24',
  loadBefore: 0.4,
};
const missed = (changes: Partial<typeof figures>): string[] =>
  idleGoals({ ...figures, ...changes })
    .filter((goal) => !isMet(goal))
    .map(describeMiss);

describe('what an operator costs that has nothing to do', () => {
  test('is judged by goals of its own', () => {
    expect(missed({})).toEqual([]);
    expect(missed({ inSyncSeconds: 1, settledMb: 125, cpuPercent: 0.5 })).toEqual([]);
    expect(missed({ inSyncSeconds: 1.01 })).toEqual([
      'start of the process until all caches are in sync: 1,010 ms, the goal is at most 1,000 ms',
    ]);
    expect(missed({ earlyMb: 126, settledMb: 130 })).toEqual([
      'resident memory after 3 s: 126 MB, the goal is at most 125 MB',
      'resident memory after 70 s: 130 MB, the goal is at most 125 MB',
    ]);
    expect(missed({ cpuPercent: 0.51 })).toHaveLength(1);
    expect(missed({ inSyncSeconds: Number.NaN })).toHaveLength(1);
  });

  test('is a table with both replicas, for which README.md has a place', () => {
    const lines = idleLines(machine, figures, { ...figures, inSyncSeconds: 0.32, cpuPercent: 0.28 });
    expect(lines).toEqual([
      'Measured 2026-11-21, on one machine with 2 cores and 24 GiB for all of it (load average 0.4 before):',
      '',
      '|  | leader | standby | goal |',
      '| --- | --- | --- | --- |',
      '| start of the process until all caches are in sync | 430 ms | 320 ms | at most 1,000 ms |',
      '| resident memory after 3 s | 95 MB | 95 MB | at most 125 MB |',
      '| resident memory after 70 s | 97 MB | 97 MB | at most 125 MB |',
      '| processor, over a minute | 0.33 % of a core | 0.28 % of a core | at most 0.5 % of a core |',
      '',
      'A start takes 0.6 s of processor time.',
    ]);
    const readme = readFileSync(join(repositoryRoot, 'README.md'), 'utf8');
    expect(filled(readme, 'idle', lines)).toContain(lines.join('\n'));
  });
});
