/** What a process costs, from /proc. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const TICKS_PER_SECOND = 100; // of all Linux that Node.js runs on

export interface Usage {
  readonly residentMb: number;
  readonly cpuSeconds: number;
}

export function usageOf(pid: number): Usage {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kilobytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
  const fields = statOf(pid);
  return {
    residentMb: (kilobytes * 1024) / 1e6,
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
  };
}

/** In milliseconds since the epoch, to a hundredth of a second. */
export function startedAt(pid: number): number {
  const uptime = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
  const age = uptime - Number(statOf(pid)[19]) / TICKS_PER_SECOND;
  return Date.now() - age * 1000;
}

/** Waits until the process is so old: memory at a moment and processor time over a while are what is measured. */
export async function untilAge(pid: number, seconds: number): Promise<void> {
  const left = startedAt(pid) + seconds * 1000 - Date.now();
  if (left > 0) await sleep(left);
}

export function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
}

/** The libraries and programs that are in its memory, by their paths. */
export function mappedFiles(pid: number): string[] {
  const lines = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n');
  return [...new Set(lines.map((line) => line.slice(73)).filter((path) => path.startsWith('/')))];
}

/** After the name of the command, which may hold spaces. */
function statOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}
