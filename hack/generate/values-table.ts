// The table of a chart's values in its README, made from the comments of its values.yaml.
import { parse } from 'yaml';
import { as } from '../cluster/lib/untyped.ts';

interface Documented {
  readonly path: readonly string[];
  readonly text: string;
}

const begin = '<!-- values -->\n';
const end = '<!-- end of values -->\n';
const longestDefault = 60;

/**
 * The README with the table between its two marks.
 * @throws if a value has no comment that begins with `--`, or the marks are not there
 */
export function generateValuesTable(readme: string, valuesYaml: string): string {
  const [head, rest] = readme.split(begin);
  const tail = rest?.split(end)[1];
  if (head === undefined || tail === undefined) throw new Error(`the README lacks ${begin}${end}`);
  const values: unknown = parse(valuesYaml);
  const documented = comments(valuesYaml);
  const bare = leaves(values, []).filter((path) => !documented.some((each) => covers(each.path, path)));
  if (bare.length > 0)
    throw new Error(`no comment says what ${bare.map((path) => path.join('.')).join(', ')} is`);
  const rows = documented.map(
    ({ path, text }) =>
      `| \`${path.join('.')}\` | ${defaultOf(valueAt(values, path))} | ${text.replaceAll('|', '\\|')} |`,
  );
  return `${head}${begin}${['| Value | Default | Description |', '|---|---|---|', ...rows].join('\n')}\n${end}${tail}`;
}

/** Every key above which a comment begins with `# --`, in the order of the file. */
function comments(yaml: string): Documented[] {
  const found: Documented[] = [];
  const parents: { readonly indent: number; readonly key: string }[] = [];
  let text: string[] | undefined;
  for (const line of yaml.split('\n')) {
    const comment = /^\s*# ?(.*)$/.exec(line)?.[1];
    if (comment !== undefined) {
      if (comment.startsWith('-- ')) text = [comment.slice(3)];
      else text?.push(comment);
      continue;
    }
    const [, spaces = '', key] = /^( *)([A-Za-z]\w*):/.exec(line) ?? [];
    if (key !== undefined) {
      while ((parents.at(-1)?.indent ?? -1) >= spaces.length) parents.pop();
      parents.push({ indent: spaces.length, key });
      if (text) found.push({ path: parents.map((each) => each.key), text: text.join(' ') });
    }
    text = undefined;
  }
  return found;
}

function leaves(value: unknown, path: readonly string[]): (readonly string[])[] {
  const entries =
    typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  return entries.length === 0 ? [path] : entries.flatMap(([key, inner]) => leaves(inner, [...path, key]));
}

function covers(documented: readonly string[], path: readonly string[]): boolean {
  return documented.every((key, index) => path[index] === key);
}

function valueAt(values: unknown, path: readonly string[]): unknown {
  return path.reduce((value, key) => as<Record<string, unknown>>(value)[key], values);
}

function defaultOf(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > longestDefault ? 'see values.yaml' : `\`${text}\``;
}
