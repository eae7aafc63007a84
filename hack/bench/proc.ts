/** Numbers from /proc. */
import { readFileSync } from 'node:fs';

/** sysconf(_SC_CLK_TCK) on every Linux. */
const TICKS_PER_SECOND = 100;

export function rssMb(pid: number): number {
  const kb = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kb) / 1024;
}

/** What a process has used so far; zero where there is none (any more). */
export function cpuSeconds(pid: number | 'self'): number {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return 0;
  }
  // The name of the program stands in parentheses and may hold anything; utime and stime are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** CPU seconds of the whole machine since it started, and how many of them were of use to anybody. */
export function machineCpuSeconds(): { readonly total: number; readonly busy: number } {
  const line = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0] ?? '';
  // user nice system idle iowait irq softirq steal; what guests used is part of user.
  const ticks = line.split(/\s+/).slice(1, 9).map(Number);
  const total = ticks.reduce((sum, value) => sum + value, 0);
  const idle = (ticks[3] ?? 0) + (ticks[4] ?? 0);
  return { total: total / TICKS_PER_SECOND, busy: (total - idle) / TICKS_PER_SECOND };
}
