/** The results as people read them: Markdown. */
import { cpus, loadavg, release, totalmem } from 'node:os';
import { describeGoal, isMet } from './goals.ts';
import { table } from './markdown.ts';
import type { NamedRow } from './row.ts';

export interface Machine {
  readonly date: string;
  readonly cores: number;
  readonly processor: string;
  readonly memoryGb: number;
  readonly kernel: string;
  readonly node: string;
  /** Of one minute, before the bench began. */
  readonly loadBefore: number;
}

export interface Report {
  readonly machine: Machine;
  /** Of the control plane and of kubectl. */
  readonly kubernetes: string;
  readonly haulout: string;
  /** Seconds, the cluster's start and end included. */
  readonly took: number;
  readonly rows: readonly NamedRow[];
}

export function thisMachine(): Machine {
  const processors = cpus();
  return {
    date: new Date().toISOString().slice(0, 10),
    cores: processors.length,
    processor: processors[0]?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.versions.node,
    loadBefore: loadavg()[0] ?? 0,
  };
}

export function markdown({ machine, kubernetes, haulout, took, rows }: Report): string {
  const { date, cores, processor, memoryGb, kernel, node, loadBefore } = machine;
  return [
    `haulout ${haulout} on Node.js ${node}, kubectl and control plane ${kubernetes}, ${date}.`,
    `One machine for all of it: ${cores} cores (${processor}), ${memoryGb} GiB, Linux ${kernel}, load ${loadBefore.toFixed(2)} before; ${took.toFixed(0)} s in all.`,
    '',
    ...table(
      ['work', 'kubectl drain', 'haulout', 'goal', 'met'],
      rows.map(({ work, kubectl, haulout: ours, goals }) => [
        work,
        kubectl,
        ours,
        goals.map(describeGoal).join(', '),
        goals.every(isMet) ? 'yes' : '**no**',
      ]),
    ),
    '',
    ...rows.flatMap(({ details }) =>
      details ? [details.about, '', ...table(details.head, details.rows), ''] : [],
    ),
    "Requests, from the API server's audit log; watches, the lists that they begin with, and the Lease are not counted in the table above:",
    '',
    ...table(
      ['work', 'who', 'counted', 'of which', 'watches', 'first lists', 'Lease'],
      rows.flatMap(({ work, traffic }) =>
        traffic.map(({ who, requests }) => [
          work,
          who,
          requests.counted,
          Object.entries(requests.kinds)
            .map(([kind, count]) => `${count} ${kind}`)
            .join(', '),
          requests.watches,
          requests.firstLists,
          requests.lease,
        ]),
      ),
    ),
    '',
    "The operator's process. The event loop is measured by a timer of 25 ms, which an idle loop shows as 25 ms:",
    '',
    ...table(
      ['work', 'RSS before', 'peak', 'after', 'CPU', 'event loop p99', 'longest'],
      rows.map(({ work, operator }) => [
        work,
        `${operator.rssBeforeMb.toFixed(0)} MB`,
        `${operator.rssPeakMb.toFixed(0)} MB`,
        `${operator.rssAfterMb.toFixed(0)} MB`,
        `${operator.cpuSeconds.toFixed(2)} s`,
        `${operator.loopP99Ms.toFixed(0)} ms`,
        `${operator.loopMaxMs.toFixed(0)} ms`,
      ]),
    ),
    '',
    'What the test bed took (median / longest): answers to evictions, and pods that were gone later than they should be:',
    '',
    ...table(
      ['work', 'who', 'accepted', 'refused', 'all accepted within', 'answer', 'pods gone late'],
      rows.flatMap(({ work, traffic }) =>
        traffic.map(
          ({ who, evictions: { accepted, refused, acceptedWithinMs, answerMs, stoppedLateMs } }) => [
            work,
            who,
            accepted,
            refused,
            `${(acceptedWithinMs / 1000).toFixed(2)} s`,
            `${answerMs.median.toFixed(0)} / ${answerMs.most.toFixed(0)} ms`,
            `${stoppedLateMs.median.toFixed(0)} / ${stoppedLateMs.most.toFixed(0)} ms`,
          ],
        ),
      ),
    ),
    '',
    'The processors while haulout drained. Where others used a good part of them, or they were busy all the time, the row was held up by the machine:',
    '',
    ...table(
      ['work', 'busy', 'with other things', 'CPU seconds of the cluster'],
      rows.map(({ work, machine: { busy, others, cluster } }) => [
        work,
        percent(busy),
        percent(others),
        Object.entries(cluster)
          .filter(([, used]) => used >= 0.05)
          .toSorted(([, a], [, b]) => b - a)
          .map(([name, used]) => `${name} ${used.toFixed(1)}`)
          .join(', '),
      ]),
    ),
    '',
  ].join('\n');
}

const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;
