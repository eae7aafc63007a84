// `haulout validate FILE...`: what the API server would say about the NodeMaintenances in some files, without one.
import { readFile } from 'node:fs/promises';
import { identify } from '../api/identity.ts';
import { formatPath, type Problem } from '../api/problem.ts';
import { isObject } from '../api/schema.ts';
import { createValidator } from '../api/validation.ts';
import { escapeUnprintable } from '../runtime/plain-text.ts';
import { exitCodes } from './exit.ts';
import { type Manifest, readManifests } from './manifests.ts';

interface Sink {
  write(text: string): unknown;
}

export interface ValidateIo {
  /** Problems, one a line, and the summary. */
  readonly stdout: Sink;
  /** Notes about what was skipped, and what could not be read. */
  readonly stderr: Sink;
  /** Read for the file name `-`; the process's own if unset. */
  readonly stdin?: AsyncIterable<Uint8Array | string>;
}

/** The text of `haulout validate --help`. */
export const validateHelp = `Usage: haulout validate FILE...

Checks the NodeMaintenances in YAML or JSON files without a cluster, as an API server would. "-" reads standard
input. Objects of other kinds are skipped. Every problem is one line: FILE:LINE: FIELD: what is wrong.

Exit code: 0 all valid, 1 at least one is not, 2 a file could not be read or the command line is wrong.
`;

interface Tally {
  valid: number;
  invalid: number;
  skipped: number;
  problems: number;
}

type Check = (object: Readonly<Record<string, unknown>>) => Problem[];

/**
 * Runs the command.
 * @param args what comes after `validate`
 * @returns the exit code: 0 all valid, 1 something invalid, 2 wrong command line or a file that cannot be read. It does
 *   not reject because of what is in the files
 */
export async function validateCommand(args: readonly string[], io: ValidateIo): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    io.stdout.write(validateHelp);
    return exitCodes.ok;
  }
  const flag = args.find((arg) => arg.startsWith('-') && arg !== '-');
  if (flag !== undefined) {
    io.stderr.write(
      `haulout validate: unknown flag ${flag}: it takes file names only, and - for standard input\n`,
    );
    return exitCodes.unusable;
  }
  if (args.length === 0) {
    io.stderr.write(
      'haulout validate: no file given: write haulout validate FILE..., or - for standard input\n',
    );
    return exitCodes.unusable;
  }
  const check = createValidator();
  const tally: Tally = { valid: 0, invalid: 0, skipped: 0, problems: 0 };
  let unreadable = 0;
  for (const file of args) {
    const name = file === '-' ? '<stdin>' : oneLine(file);
    const text = await readText(file, io);
    if (text.kind === 'unreadable') {
      io.stderr.write(`haulout validate: cannot read ${name}: ${text.why}\n`);
      unreadable += 1;
      continue;
    }
    const manifests = readManifests(text.text);
    if (manifests.length === 0) io.stderr.write(`${name}: holds no objects\n`);
    for (const manifest of manifests) report(name, manifest, check, tally, io);
  }
  io.stdout.write(`${summary(tally)}\n`);
  if (unreadable > 0) return exitCodes.unusable;
  return tally.problems > 0 ? exitCodes.failed : exitCodes.ok;
}

function report(name: string, manifest: Manifest, check: Check, tally: Tally, io: ValidateIo): void {
  if (manifest.kind === 'syntax') {
    io.stdout.write(`${name}:${manifest.line}: ${oneLine(manifest.message)}\n`);
    tally.problems += 1;
    tally.invalid += 1;
    return;
  }
  const { object, lineOf } = manifest;
  const whose = identify(object);
  if (whose.kind === 'foreign') {
    io.stderr.write(
      `${name}:${lineOf([])}: skipped: ${oneLine(describe(object))} is not a NodeMaintenance\n`,
    );
    tally.skipped += 1;
    return;
  }
  const problems = whose.kind === 'ours' ? check(whose.object) : [whose.problem];
  const lines = problems.map((problem) => ({ line: lineOf(problem.path), text: sentence(problem) }));
  // In the order of the file, as one would put them right.
  for (const { line, text } of lines.toSorted((a, b) => a.line - b.line)) {
    io.stdout.write(`${name}:${line}: ${text}\n`);
  }
  tally.problems += problems.length;
  if (problems.length === 0) tally.valid += 1;
  else tally.invalid += 1;
}

/** A problem as one line, without its place. */
export function sentence({ path, message, hint }: Problem): string {
  const field = path.length === 0 ? '' : `${formatPath(path)}: `;
  return oneLine(`${field}${message}${hint === undefined ? '' : ` (${hint})`}`);
}

function oneLine(text: string): string {
  return escapeUnprintable(text.replaceAll(/\s*\n\s*/g, ' '));
}

function describe(object: unknown): string {
  if (!isObject(object)) return 'this';
  const { kind, metadata } = object;
  const name = isObject(metadata) && typeof metadata['name'] === 'string' ? ` ${metadata['name']}` : '';
  return `${typeof kind === 'string' ? kind : 'this'}${name}`;
}

function summary({ valid, invalid, skipped, problems }: Tally): string {
  const others = skipped === 0 ? '' : `, ${counted(skipped, 'other object')} skipped`;
  if (invalid === 0) {
    return valid === 0
      ? `no NodeMaintenance found${others}`
      : `${counted(valid, 'NodeMaintenance')} valid${others}`;
  }
  return `${counted(problems, 'problem')} in ${invalid} of ${counted(valid + invalid, 'object')}${others}`;
}

function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

export type FileText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'unreadable'; readonly why: string };

/** The text of a file, or of standard input for `-`. */
export async function readText(file: string, io: ValidateIo): Promise<FileText> {
  try {
    if (file !== '-') return { kind: 'text', text: await readFile(file, 'utf8') };
    const chunks: Uint8Array[] = [];
    for await (const chunk of io.stdin ?? process.stdin) chunks.push(Buffer.from(chunk));
    return { kind: 'text', text: Buffer.concat(chunks).toString('utf8') };
  } catch (error) {
    return { kind: 'unreadable', why: whyUnreadable(error) };
  }
}

function whyUnreadable(error: unknown): string {
  const { code, message } = isObject(error) ? error : {};
  const known: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such file',
    EACCES: 'permission denied',
    EISDIR: 'it is a directory: name the files in it',
  };
  return (typeof code === 'string' ? known[code] : undefined) ?? String(message ?? error);
}
