import { describe, expect, test } from '@jest/globals';
import { runCommand } from '../../../hack/test/command.ts';
import { chosenSteps, steps } from '../../../hack/test/steps.ts';
import { jestRun, oneStep, summary } from '../../../hack/test/tally.ts';

const clean = {
  numPassedTests: 5,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  numRuntimeErrorTestSuites: 0,
};

describe('jestRun', () => {
  test.each([
    ['all is well', clean, 0, { passed: 5, failed: 0, skipped: 0 }],
    ['a test failed', { ...clean, numFailedTests: 2 }, 1, { passed: 5, failed: 2, skipped: 0 }],
    [
      'a file did not load',
      { ...clean, numRuntimeErrorTestSuites: 1 },
      1,
      { passed: 5, failed: 1, skipped: 0 },
    ],
    [
      'tests were skipped',
      { ...clean, numPendingTests: 1, numTodoTests: 2 },
      0,
      { passed: 5, failed: 0, skipped: 3 },
    ],
    ['the tear-down threw', clean, 1, { passed: 5, failed: 1, skipped: 0 }],
    ['no test was found', { ...clean, numPassedTests: 0 }, 0, { passed: 0, failed: 1, skipped: 0 }],
    ['no report was written', undefined, 0, { passed: 0, failed: 1, skipped: 0 }],
  ])('when %s', (_, report, exitCode, expected) => {
    expect(jestRun(report, exitCode)).toEqual(expected);
  });
});

test('the summary adds up and mentions skipped tests only when there are some', () => {
  expect(summary([oneStep(true), oneStep(false), jestRun(clean, 0)])).toBe('6 passed, 1 failed');
  expect(summary([jestRun({ ...clean, numPendingTests: 2 }, 0)])).toBe('5 passed, 0 failed, 2 skipped');
});

test('ONLY takes the names of steps, and says which there are', () => {
  expect(chosenSteps('')).toBe(steps);
  expect(chosenSteps('unit,types').map(({ name }) => name)).toEqual(['types', 'unit']);
  expect(() => chosenSteps('units')).toThrow(/^ONLY=units is not a step: write one or more of format,lint,/);
});

describe('runCommand', () => {
  const program = process.execPath;
  const never = new AbortController().signal;

  test('gives the exit code and all output, and every line as it comes', async () => {
    const lines: string[] = [];
    const script = 'process.stdout.write("a\\nb"); process.stderr.write("c\\n"); process.exitCode = 3';
    const onLine = (line: string): void => void lines.push(line);
    const ended = await runCommand({ program, args: ['-e', script], limitSeconds: 60, onLine }, never);
    expect(ended.exitCode).toBe(3);
    expect(ended.output).toHaveLength('a\nbc\n'.length);
    expect(lines.join('\n')).toContain('a');
  });

  test('stops what takes too long', async () => {
    const args = ['-e', 'setInterval(() => {}, 1000)'];
    const ended = await runCommand({ program, args, limitSeconds: 0.3 }, never);
    expect(ended.exitCode).not.toBe(0);
    expect(ended.output).toContain('stopped: it took longer than 0.3 s');
  });

  test('stops when it is told to', async () => {
    const stop = new AbortController();
    const running = runCommand(
      { program, args: ['-e', 'setInterval(() => {}, 1000)'], limitSeconds: 60 },
      stop.signal,
    );
    stop.abort();
    expect((await running).exitCode).not.toBe(0);
  });

  test('a program that is not there has failed', async () => {
    const ended = await runCommand({ program: '/nonexistent', args: [], limitSeconds: 60 }, never);
    expect(ended).toMatchObject({ exitCode: 127, output: expect.stringContaining('ENOENT') });
  });
});
