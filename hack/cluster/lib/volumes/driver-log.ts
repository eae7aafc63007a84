/** What a driver has done, from the log that it writes: rules only. */
import { as } from '../untyped.ts';

/**
 * `asked`: an operation that was not known yet, and may have to wait for others; `started`; `ended` or `failed`.
 * `gaveUp`: a caller's time was over, the operation goes on. `refused`: not begun at all.
 */
export type DriverEvent =
  | (Operation & { readonly what: 'asked' | 'started' | 'ended' | 'failed' | 'gaveUp' })
  | Refusal;

export interface Refusal extends Operation {
  readonly what: 'refused';
  readonly reason: 'attachedElsewhere' | 'nodeIsFull';
}

export interface Operation {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly operation: 'attach' | 'detach';
  readonly volume: string;
  readonly node: string;
  /** Of an attachment: no other node may have the volume meanwhile. */
  readonly exclusive: boolean;
}

export interface DriverSummary {
  /** Nodes by volume. */
  readonly attached: ReadonlyMap<string, ReadonlySet<string>>;
  /** Operations that go on now, also those that wait for their turn. */
  readonly pending: readonly Operation[];
  /** The most operations that went on at one time, and how many of them waited for nothing. */
  readonly mostPending: number;
  readonly mostRunning: number;
  /** How often a caller did not wait until the end. */
  readonly timeouts: number;
  readonly failures: number;
  /**
   * After a detach that failed or took too long Kubernetes itself asks to attach the volume elsewhere before it is
   * detached: `attachedElsewhere` is nobody's fault then.
   */
  readonly refusals: readonly Refusal[];
  /** What must never be: attachments of an exclusive volume to a second node. */
  readonly violations: readonly Operation[];
}

/** A last line that is only half there yet does not count. Throws with what the driver said when it complains. */
export function parseDriverLog(text: string): DriverEvent[] {
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return lines.filter((line) => line !== '').map(parseLine);
}

function parseLine(line: string): DriverEvent {
  if (!line.startsWith('{')) throw new Error(`the driver says: ${line}`);
  const { time, level, msg, ...rest } = as<Record<string, string>>(JSON.parse(line));
  if (level !== 'INFO' || time === undefined) throw new Error(`the driver says: ${line}`);
  return as<DriverEvent>({ at: Date.parse(time), what: msg, ...rest });
}

export function summaryOf(events: readonly DriverEvent[]): DriverSummary {
  const attached = new Map<string, Set<string>>();
  const pending = new Map<string, Operation>();
  const running = new Set<string>();
  const count = { mostPending: 0, mostRunning: 0, timeouts: 0, failures: 0 };
  const refusals: Refusal[] = [];
  const violations: Operation[] = [];
  for (const event of events) {
    const { volume, node } = event;
    const key = `${volume} ${node}`;
    if (event.what === 'asked') pending.set(key, event);
    else if (event.what === 'started') running.add(key);
    else if (event.what === 'gaveUp') count.timeouts++;
    else if (event.what === 'refused') refusals.push(event);
    else {
      pending.delete(key);
      running.delete(key);
      const nodes = attached.get(volume) ?? new Set();
      attached.set(volume, nodes);
      if (event.what === 'failed') count.failures++;
      else if (event.operation === 'detach') nodes.delete(node);
      else if (nodes.add(node).size > 1 && event.exclusive) violations.push(event);
    }
    count.mostPending = Math.max(count.mostPending, pending.size);
    count.mostRunning = Math.max(count.mostRunning, running.size);
  }
  return { attached, pending: [...pending.values()], ...count, refusals, violations };
}
