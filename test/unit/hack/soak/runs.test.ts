import { expect, test } from '@jest/globals';
import { withRun } from '../../../../hack/soak/runs.ts';

const page = (...rows: readonly string[]): string =>
  [
    'before',
    '<!-- soak: runs -->',
    ...(rows.length === 0
      ? []
      : ['| `make soak` | what came of it | broken | date | haulout |', '| --- | --- | --- | --- | --- |']),
    ...rows,
    '<!-- end of soak -->',
    'after',
  ].join('\n');

test('a run gets a row, in the place of an earlier one with the same arguments', () => {
  const first = withRun(page(), ['`--seed 1 kills`', '9 kills.', 0, '2026-01-01', '0.1.0']);
  expect(first).toBe(page('| `--seed 1 kills` | 9 kills. | 0 | 2026-01-01 | 0.1.0 |'));
  const second = withRun(first, ['`--seed 2 kills`', '8 kills.', 1, '2026-01-02', '0.1.0']);
  const again = withRun(second, ['`--seed 1 kills`', '7 kills.', 0, '2026-01-03', '0.1.1']);
  expect(again).toBe(
    page(
      '| `--seed 2 kills` | 8 kills. | 1 | 2026-01-02 | 0.1.0 |',
      '| `--seed 1 kills` | 7 kills. | 0 | 2026-01-03 | 0.1.1 |',
    ),
  );
});

test('a page without the place for it is left alone', () => {
  expect(() => withRun('nothing', ['x'])).toThrow('there is no place for soak: runs');
});
