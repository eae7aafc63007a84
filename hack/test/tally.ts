/** What a step of `make test` adds to its last line. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export function oneStep(ok: boolean): Tally {
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 };
}

/**
 * Counts the tests of a jest run from its --json report (undefined: it wrote none) and its exit code. A run that went
 * wrong in a way that no test shows, as a file that does not load or a tear-down that throws, still counts as failed.
 */
export function jestRun(report: unknown, exitCode: number): Tally {
  const passed = count(report, 'numPassedTests');
  const failed = count(report, 'numFailedTests') + count(report, 'numRuntimeErrorTestSuites');
  const skipped = count(report, 'numPendingTests') + count(report, 'numTodoTests');
  const isUnexplained = failed === 0 && (exitCode !== 0 || passed === 0);
  return { passed, failed: isUnexplained ? 1 : failed, skipped };
}

/** The last line: `N passed, N failed`, and how many were skipped when any was. */
export function summary(tallies: readonly Tally[]): string {
  const sum = (of: (tally: Tally) => number): number =>
    tallies.reduce((total, tally) => total + of(tally), 0);
  const skipped = sum((tally) => tally.skipped);
  const line = `${sum((tally) => tally.passed)} passed, ${sum((tally) => tally.failed)} failed`;
  return skipped === 0 ? line : `${line}, ${skipped} skipped`;
}

function count(report: unknown, field: string): number {
  if (typeof report !== 'object' || report === null) return 0;
  const value: unknown = Object.entries(report).find(([name]) => name === field)?.[1];
  return typeof value === 'number' ? value : 0;
}
