import { expect, test } from '@jest/globals';
import { generateValuesTable } from '../../../../hack/generate/values-table.ts';

const readme = (table: string) => `# x\n<!-- values -->\n${table}<!-- end of values -->\nmore\n`;

test('every comment becomes a row, with the default of its value', () => {
  const values = `
# About the file.

# -- How many
# of them | at least.
count: 2
image:
  # -- Which one.
  tag: ""
# -- As in a pod.
resources:
  requests: {cpu: 50m}
  limits: {memory: a-very-long-value-that-does-not-fit-into-the-table-at-all}
`;
  const rows = [
    '| Value | Default | Description |',
    '|---|---|---|',
    '| `count` | `2` | How many of them \\| at least. |',
    '| `image.tag` | `""` | Which one. |',
    '| `resources` | see values.yaml | As in a pod. |',
  ];
  expect(generateValuesTable(readme('old\n'), values)).toBe(readme(`${rows.join('\n')}\n`));
});

test('a value without a comment is an error', () => {
  expect(() => generateValuesTable(readme(''), 'image:\n  tag: ""\n# no words\ncount: 2\n')).toThrow(
    'no comment says what image.tag, count is',
  );
});

test('a README without marks is an error', () => {
  expect(() => generateValuesTable('# x\n', '# -- X.\na: 1\n')).toThrow('the README lacks');
});
