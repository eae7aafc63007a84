/**
 * Who a process is: a pid alone may have been given to another process since it was written down, a pid with its
 * start time may not. Linux only, because that is read from /proc.
 */
import { readFileSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot. */
  readonly startTicks: number;
  readonly bootId: string;
}

interface Stat {
  readonly pid: number;
  readonly state: string;
  readonly threads: number;
  readonly startTicks: number;
}

/** What /proc/PID/stat says that matters here; undefined where it is not such a line. */
export function parseStat(text: string): Stat | undefined {
  // The second field is the command in parentheses and may itself hold spaces and parentheses.
  const close = text.lastIndexOf(')');
  const pid = Number.parseInt(text, 10);
  const fields = text
    .slice(close + 1)
    .trim()
    .split(/\s+/);
  const startTicks = Number(fields[19]);
  const threads = Number(fields[17]);
  const state = fields[0];
  if (close < 0 || !Number.isInteger(pid) || pid <= 0 || !state || !Number.isInteger(startTicks))
    return undefined;
  return { pid, state, threads, startTicks };
}

export function currentBootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

/**
 * A pid file holds the process's own /proc/PID/stat line and the boot's id, written by the process itself before it
 * becomes the program it is to run (exec keeps pid and start time), so that there is no moment without a record.
 */
export function parsePidFile(text: string): ProcessIdentity | undefined {
  const lines = text.trimEnd().split('\n');
  const bootId = lines.pop()?.trim() ?? '';
  const stat = parseStat(lines.join('\n'));
  if (!stat || !/^[0-9a-f-]{36}$/.test(bootId)) return undefined;
  return { pid: stat.pid, startTicks: stat.startTicks, bootId };
}

export function identityOf(pid: number): ProcessIdentity | undefined {
  const stat = readStat(pid);
  return stat && { pid, startTicks: stat.startTicks, bootId: currentBootId() };
}

/**
 * A zombie counts as gone, because where nobody reaps it stays for ever; but not while other threads of it are still
 * about to end: until they have, its ports and files are in use.
 */
export function isRunning(identity: ProcessIdentity): boolean {
  const stat = readStat(identity.pid);
  return (
    stat !== undefined &&
    (stat.state !== 'Z' || stat.threads > 1) &&
    stat.state !== 'X' &&
    stat.startTicks === identity.startTicks &&
    identity.bootId === currentBootId()
  );
}

function readStat(pid: number): Stat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return undefined;
  }
}
