import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { failures } from '../../../hack/test/failures.ts';

const passed = { fullName: 'adds up', status: 'passed', failureMessages: [] };

test('a failed test is told with its file, its name and the first lines of why, without colours', () => {
  const why = `\u001B[31mExpected: 1\u001B[39m\nReceived: 2\n${'    at somewhere\n'.repeat(100)}`;
  const report = {
    testResults: [
      { name: resolve('test/a.test.ts'), message: '', assertionResults: [passed] },
      {
        name: resolve('test/b.test.ts'),
        message: 'all of it',
        assertionResults: [
          passed,
          { fullName: 'lanes take turns', status: 'failed', failureMessages: [why] },
        ],
      },
    ],
  };
  const [only, ...others] = failures(report);
  expect(others).toEqual([]);
  expect(only?.split('\n').slice(0, 3)).toEqual([
    'test/b.test.ts: lanes take turns',
    '  Expected: 1',
    '  Received: 2',
  ]);
  expect(only?.split('\n')).toHaveLength(26);
});

test('a file that did not load is told with what jest said of it', () => {
  const report = {
    testResults: [{ name: resolve('test/c.test.ts'), message: 'Cannot find module', assertionResults: [] }],
  };
  expect(failures(report)).toEqual(['test/c.test.ts\n  Cannot find module']);
});

test('nothing is told of a run without failures, nor of a report that is none', () => {
  expect(failures({ testResults: [{ name: '/a', message: '', assertionResults: [passed] }] })).toEqual([]);
  expect(failures({})).toEqual([]);
});
