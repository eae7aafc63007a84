// Reading command lines. A reader of our own instead of node:util's parseArgs: that one has no switch with a value
// (--leader-elect=false) and its errors are neither one line nor advice.
import type { Permissions } from '../drain/permissions.ts';
import { closest } from '../runtime/closest.ts';
import { UsageError } from './exit.ts';

export interface Flag {
  readonly name: string;
  /** A letter that does as well: `-f`. */
  readonly short?: string;
  /** What stands for the value in the help; undefined for a switch. */
  readonly value: string | undefined;
  readonly help: string;
}

/** Values by the flag's name; undefined for a switch without one. */
export type GivenFlags<Name extends string = string> = ReadonlyMap<Name, string | undefined>;

export interface CommandLine<Name extends string> {
  /** As in `haulout COMMAND`. */
  readonly command: string;
  readonly flags: readonly (Flag & { readonly name: Name })[];
  /** What the command is about besides its flags, as in the help (`NODE`); at most one. None unless given. */
  readonly operand?: string;
}

/** Reads the arguments after the command; the last of several counts. Throws a UsageError that says what to write instead. */
export function readFlags<Name extends string>(
  args: readonly string[],
  line: CommandLine<Name>,
): { readonly given: GivenFlags<Name>; readonly operand: string | undefined } {
  const given = new Map<Name, string | undefined>();
  let operand: string | undefined;
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (!arg.startsWith('-') || arg === '-') {
      if (line.operand === undefined || operand !== undefined)
        throw new UsageError(unexpected(arg, given, line));
      operand = arg;
      continue;
    }
    const { flag, written, value: attached } = recognize(arg, line);
    if (flag === undefined) throw new UsageError(unknownFlag(arg, written, line));
    let value = attached;
    if (flag.value !== undefined && value === undefined) {
      value = rest.shift();
      if (value === undefined || value.startsWith('--')) {
        throw new UsageError(`--${flag.name} needs a value: write ${flagUsage(flag)}`);
      }
    }
    given.set(flag.name, value);
  }
  return { given, operand };
}

/** `--flag`, `--flag=true` or `--flag=false`. */
export function readSwitch<Name extends string>(
  given: Pick<GivenFlags<Name>, 'has' | 'get'>,
  name: Name,
  otherwise: boolean,
): boolean {
  if (!given.has(name)) return otherwise;
  const value = given.get(name) ?? 'true';
  if (value !== 'true' && value !== 'false')
    throw new UsageError(`--${name} ${quote(value)} cannot be used: write --${name}=true or --${name}=false`);
  return value === 'true';
}

/** What whoever installed the operator lets it do. */
export function readPermissions(
  given: Pick<GivenFlags<'allow-pod-deletion' | 'allow-deployment-restart'>, 'has' | 'get'>,
): Permissions {
  return {
    podDeletion: readSwitch(given, 'allow-pod-deletion', true),
    deploymentRestart: readSwitch(given, 'allow-deployment-restart', true),
  };
}

/** The lines of a help text that list the flags. */
export function flagTable(flags: readonly Flag[]): string {
  const rows = [
    ...flags.map((flag) => [flagUsage(flag), flag.help] as const),
    ['--help', 'this text'] as const,
  ];
  const width = 2 + Math.max(...rows.map(([usage]) => usage.length));
  return rows.map(([usage, help]) => `  ${usage.padEnd(width)}${help}`).join('\n');
}

/** What somebody wrote, cut to a length that fits a line. */
export function quote(value: string): string {
  return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}...` : value);
}

function flagUsage(flag: Flag): string {
  const names = flag.short === undefined ? `--${flag.name}` : `-${flag.short}, --${flag.name}`;
  return flag.value === undefined ? names : `${names} ${flag.value}`;
}

function recognize<Name extends string>(arg: string, { flags }: CommandLine<Name>) {
  const [, written = '', value] = /^--?([^=]*)(?:=([^]*))?$/.exec(arg) ?? [];
  if (arg.startsWith('--')) return { flag: flags.find(({ name }) => name === written), written, value };
  // -oVALUE, -o=VALUE and -o VALUE, as kubectl takes them; of `-output` the long name is meant.
  const short = flags.find((flag) => flag.short !== undefined && flag.short === written[0]);
  const meansLong = flags.some(({ name }) => written.length > 2 && name.startsWith(written));
  if (short === undefined || meansLong) return { flag: undefined, written, value };
  const attached = arg.slice(2).replace(/^=/, '');
  return { flag: short, written, value: attached === '' ? undefined : attached };
}

function unexpected(arg: string, given: GivenFlags, { command, operand }: CommandLine<string>): string {
  const last = [...given].at(-1);
  if (last !== undefined && last[1] === undefined)
    return `write --${last[0]}=${arg}, not --${last[0]} ${arg}`;
  const takes = operand === undefined ? 'takes flags only' : `takes one ${operand}`;
  return `unexpected argument ${quote(arg)}: haulout ${command} ${takes}, see haulout ${command} --help`;
}

function unknownFlag(arg: string, written: string, { command, flags }: CommandLine<string>): string {
  const match = closest(written, [...flags.map((flag) => flag.name), 'help']);
  const advice = match === undefined ? `see haulout ${command} --help` : `did you mean --${match}?`;
  return `unknown flag ${quote(arg.split('=')[0] ?? arg)}: ${advice}`;
}
