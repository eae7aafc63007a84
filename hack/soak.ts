/**
 * `make soak`: the long forms of the tests of endurance, one after the other, each on clusters of its own.
 *   make soak ARGS='[--seed N] [--count N] [--json FILE] [--fill] [FORM...]'
 *   make soak ARGS='--only SCENARIO:WRITE:MOMENT kills'
 * Runs all forms, or those that are named (soak/forms.ts; scale: all whose name begins with scale-). A run prints its
 * seed first; the same seed makes the same schedules. --only plays one kill again, such as drain:3:after. --fill writes
 * what was measured into docs/performance.md and docs/endurance.md. Exit code 1 if something happened that must never
 * happen, or a goal is missed.
 */
import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { describeMiss, isMet } from './bench/goals.ts';
import { thisMachine } from './bench/report.ts';
import { commandLine } from './cluster/lib/command-line.ts';
import { errorMessage } from './cluster/lib/untyped.ts';
import type { SoakForm, SoakResult } from './soak/form.ts';
import { formsNamed } from './soak/forms.ts';

const { values, positionals } = commandLine(
  `make soak ARGS='[--seed N] [--count N] [--only SCENARIO:WRITE:MOMENT] [--json FILE] [--fill] [FORM...]'`,
  {
    allowPositionals: true,
    options: {
      seed: { type: 'string' },
      count: { type: 'string' },
      only: { type: 'string' },
      json: { type: 'string' },
      fill: { type: 'boolean', default: false },
    },
  },
);

// A few cores play a whole control plane: a fifth of their time would go into garbage, with memory left over.
process.env['GOGC'] ??= '400';

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
const { signal } = interrupted;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) throw new Error(`--${name}=${text} is not a whole number`);
  return Number(text);
}

interface Played extends SoakResult {
  readonly name: string;
  readonly seconds: number;
}

/** The others go on, unless all are to end. */
function failed(message: string): SoakResult {
  if (signal.aborted) throw new Error(message);
  return { summary: 'did not come to an end.', goals: [], violations: [message] };
}

async function play(form: SoakForm, seed: number, count: number | undefined): Promise<Played> {
  say(`${form.name}: ${form.title} (--seed ${seed})`);
  const started = performance.now();
  const result = await form
    .run({ seed, count, only: values.only, signal, log: (line) => say(`  ${line}`) })
    .catch((error: unknown) => failed(errorMessage(error)));
  const seconds = Math.round((performance.now() - started) / 1000);
  say(`${form.name}: ${result.summary} In ${seconds} s.`);
  for (const violation of result.violations) say(`  broken: ${violation}`);
  for (const goal of result.goals.filter((one) => !isMet(one))) say(`  missed: ${describeMiss(goal)}`);
  if (values.fill && result.figures !== undefined)
    for (const line of form.fill?.(result, { seed, count }) ?? []) say(`  ${line}`);
  return { name: form.name, seconds, ...result };
}

async function soak(): Promise<number> {
  const forms = formsNamed(positionals);
  const seed = wholeNumber('seed', values.seed) ?? randomInt(2 ** 32);
  const count = wholeNumber('count', values.count);
  const played: Played[] = [];
  if (values.fill && count !== undefined && forms.some(({ name }) => name.startsWith('scale-')))
    throw new Error(
      '--fill writes down what was measured at full size: leave out --count, or the forms of scale',
    );
  if (values.only !== undefined && (values.fill || forms.some(({ name }) => name !== 'kills')))
    throw new Error('--only is for kills, and is not written down');
  for (const form of forms) {
    if (!signal.aborted) played.push(await play(form, seed, count));
  }
  if (values.json !== undefined)
    writeFileSync(values.json, `${JSON.stringify({ machine: thisMachine(), seed, played }, undefined, 2)}\n`);
  signal.throwIfAborted();
  const isGood = played.every(({ goals, violations }) => violations.length === 0 && goals.every(isMet));
  return isGood ? 0 : 1;
}

try {
  process.exit(await soak());
} catch (error) {
  say(signal.aborted ? 'the soak was interrupted' : `the soak failed: ${errorMessage(error)}`);
  process.exit(signal.aborted ? 130 : 1);
}
