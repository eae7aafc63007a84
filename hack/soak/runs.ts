/** docs/endurance.md between its marks: the long forms that were played, each run a row. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readVersion } from '../../src/cli/version.ts';
import { filled } from '../bench/fill.ts';
import { table } from '../bench/markdown.ts';
import { thisMachine } from '../bench/report.ts';
import type { Cells } from '../bench/row.ts';
import { repositoryRoot } from '../cluster/lib/paths.ts';
import type { SoakForm } from './form.ts';

const PAGE = 'docs/endurance.md';
const NAME = 'runs';
const HEAD = ['`make soak`', 'what came of it', 'broken', 'date', 'haulout'];

/** For a form that counts: its run gets a row, in the place of an earlier one with the same arguments. */
export function fillRun(form: string): NonNullable<SoakForm['fill']> {
  return ({ summary, violations }, { seed, count }) => {
    const path = join(repositoryRoot, PAGE);
    const { date } = thisMachine();
    const asked = `\`--seed ${seed}${count === undefined ? '' : ` --count ${count}`} ${form}\``;
    const row = [asked, summary, violations.length, date, readVersion()];
    writeFileSync(path, withRun(readFileSync(path, 'utf8'), row));
    return [`${PAGE} has a row about it`];
  };
}

export function withRun(page: string, row: Cells): string {
  const others = rowsOf(page).filter(([asked]) => asked !== row[0]);
  return filled(page, NAME, table(HEAD, [...others, row]), 'soak');
}

function rowsOf(page: string): Cells[] {
  const [, after = ''] = page.split(`<!-- soak: ${NAME} -->`);
  const [between = ''] = after.split('<!-- end of soak -->');
  return between
    .trim()
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}
