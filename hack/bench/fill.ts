/**
 * Writes what was measured where people read it: between `<!-- bench: NAME -->` and `<!-- end of bench -->` of README.md
 * (NAME is speed; only a whole run fills it) and of docs/volumes.md (volumes). README.md has a place for idle as well,
 * which KUBELET_FILL=1 make e2e-kubelet fills.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../cluster/lib/paths.ts';
import { ACTS } from './acts.ts';
import { table } from './markdown.ts';
import type { Report } from './report.ts';

/** Returns a sentence about each of them. */
export function fillDocuments(report: Report): string[] {
  return [
    fillFile('README.md', 'speed', speed(report)),
    fillFile('docs/volumes.md', 'volumes', priceOfSettings(report)),
  ];
}

export function fillFile(file: string, name: string, lines: readonly string[] | undefined): string {
  if (!lines) return `${file} stays as it is: not all of its rows were played`;
  const path = join(repositoryRoot, file);
  writeFileSync(path, filled(readFileSync(path, 'utf8'), name, lines));
  return `${file} is filled`;
}

/** `text` with other lines between the two marks of what has measured; throws where these are not there. */
export function filled(
  text: string,
  name: string,
  lines: readonly string[],
  by: 'bench' | 'soak' = 'bench',
): string {
  const mark = `<!-- ${by}: ${name} -->`;
  const start = text.indexOf(mark);
  const end = text.indexOf(`<!-- end of ${by} -->`, start);
  if (start === -1 || end === -1) throw new Error(`there is no place for ${by}: ${name}`);
  return [text.slice(0, start) + mark, ...lines, text.slice(end)].join('\n');
}

/** Where and when, as both documents say it. */
function circumstances({ machine: { date, cores, memoryGb }, kubernetes }: Report): string {
  return `${date}, on one machine with ${cores} cores and ${memoryGb} GiB that also ran the control plane (${kubernetes}) and the fake nodes`;
}

/** undefined where it was not the whole bench. */
export function speed(report: Report): string[] | undefined {
  const { rows } = report;
  const fleet = rows.find(({ name }) => name === 'many-nodes');
  const isWhole = ACTS.every(({ name }) => rows.some((row) => row.name === name));
  if (!fleet || !isWhole || fleet.traffic.length < 2) return undefined;
  const { rssBeforeMb, rssPeakMb, cpuSeconds, loopMaxMs } = fleet.operator;
  return [
    `Measured ${circumstances(report)}:`,
    '',
    ...table(
      ['work', 'kubectl drain', 'haulout'],
      rows.map(({ work, kubectl, haulout }) => [work, kubectl, haulout]),
    ),
    '',
    'Watches with their first lists and the Lease are counted apart, and printed with it (but the price of waiting is all',
    `requests). For the 400 pods of 20 nodes the operator needed ${cpuSeconds.toFixed(1)} s of processor time and ${rssPeakMb.toFixed(0)} MB at the peak`,
    `(${rssBeforeMb.toFixed(0)} MB before), and its event loop was never held up for more than ${loopMaxMs.toFixed(0)} ms.`,
  ];
}

export function priceOfSettings(report: Report): string[] | undefined {
  const details = report.rows.find(({ name }) => name === 'volumes')?.details;
  if (!details) return undefined;
  return [`Measured ${circumstances(report)}.`, '', details.about, '', ...table(details.head, details.rows)];
}
