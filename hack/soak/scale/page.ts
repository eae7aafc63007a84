/** docs/performance.md between its marks, and the plots beside it, from what was measured last. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChurnFigures } from '../../../test/soak/scale/churn.ts';
import type { Cost } from '../../../test/soak/scale/cost.ts';
import type { DrainFigures } from '../../../test/soak/scale/drain.ts';
import { filled } from '../../bench/fill.ts';
import { table } from '../../bench/markdown.ts';
import type { Cells } from '../../bench/row.ts';
import { repositoryRoot } from '../../cluster/lib/paths.ts';
import { plots } from './plots.ts';
import { DIRECTORY, type Measured, type Records } from './record.ts';
import { needOf, type Prices, pricesOf, type Size } from './sizing.ts';

const PAGE = 'docs/performance.md';

/** Returns a sentence about each file. */
export function fillPage(records: Records): string[] {
  const path = join(repositoryRoot, PAGE);
  const sections = Object.entries(sectionsOf(records));
  const text = sections.reduce(
    (page, [name, lines]) => (lines === undefined ? page : filled(page, name, lines, 'soak')),
    readFileSync(path, 'utf8'),
  );
  writeFileSync(path, text);
  const drawn = Object.entries(plots(records)).flatMap(([name, svg]) =>
    svg === undefined ? [] : [{ name, svg }],
  );
  for (const { name, svg } of drawn) writeFileSync(join(DIRECTORY, `${name}.svg`), svg);
  return [`${PAGE} is filled`, ...drawn.map(({ name }) => `docs/performance/${name}.svg is drawn`)];
}

export function sectionsOf(records: Records): Readonly<Record<string, readonly string[] | undefined>> {
  const { nodes, pods, maintenances, finished, budgets, drain, fleet, churn } = records;
  const prices = pricesOf(records);
  return {
    nodes: nodes && [
      circumstances(
        nodes,
        nodes.figures.points.map(({ idle }) => idle),
      ),
      '',
      ...costTable(
        'nodes',
        nodes.figures.points.map(({ nodes: count, inSyncSeconds, firstLists, idle }) => ({
          cells: [number(count), `${fixed(inSyncSeconds, 1)} s`, firstLists],
          idle,
        })),
        ['in sync after', 'list requests'],
      ),
    ],
    pods: pods && [
      circumstances(
        pods,
        pods.figures.points.map(({ idle }) => idle),
      ),
      '',
      ...costTable(
        'pods',
        pods.figures.points.map(({ pods: count, idle }) => ({ cells: [number(count)], idle })),
      ),
    ],
    maintenances: maintenances && [
      circumstances(
        maintenances,
        maintenances.figures.points.map(({ idle }) => idle),
      ),
      '',
      ...costTable(
        'in effect',
        [
          ...maintenances.figures.points.map(({ maintenances: count, readySeconds, idle }) => ({
            cells: [number(count), `${fixed(readySeconds, 1)} s`],
            idle,
          })),
          { cells: ['0 again', ''], idle: maintenances.figures.afterwards },
        ],
        ['the added ones, at once, Ready after'],
      ),
    ],
    finished: finished && [
      circumstances(
        finished,
        finished.figures.points.map(({ idle }) => idle),
      ),
      '',
      ...costTable(
        'finished',
        finished.figures.points.map(({ finished: count, wornMb, inSyncSeconds, scrapeMs, idle }) => ({
          cells: [
            number(count),
            `${fixed(wornMb, 0)} MB`,
            `${fixed(inSyncSeconds, 1)} s`,
            `${fixed(scrapeMs, 0)} ms`,
          ],
          idle,
        })),
        ['the process that drained all nodes', 'a new one: in sync after', 'a scrape of /metrics'],
      ),
      '',
      `One more maintenance, of an empty node, was Ready after ${fixed(finished.figures.oneMoreSeconds.alone, 1)} s without them and after`,
      `${fixed(finished.figures.oneMoreSeconds.beside, 1)} s beside them.`,
    ],
    budgets: budgets && [
      circumstances(budgets, [budgets.figures.drain]),
      '',
      ...costTable(
        `${number(budgets.figures.budgets)} budgets, ${number(budgets.figures.inNamespace)} of them in one namespace`,
        [
          { cells: ['no node is being emptied'], idle: budgets.figures.before },
          { cells: ['a node is kept empty'], idle: budgets.figures.waiting },
          { cells: ['none any more'], idle: budgets.figures.afterwards },
        ],
      ),
      '',
      `A node with ${budgets.figures.pods} pods of that namespace, each under a budget of its own, was Ready after ${fixed(budgets.figures.drain.seconds, 1)} s, the list of all`,
      `budgets included. The event loop was held up for at most ${fixed(budgets.figures.drain.loopMaxMs, 0)} ms.`,
    ],
    drain: drain && drainSection(drain),
    fleet: fleet && drainSection(fleet),
    churn: churn && [
      circumstances(churn, []),
      '',
      `${roundsOf(churn.figures)} of ${churn.figures.nodes} nodes with ${churn.figures.podsPerNode} pods each: ${number(churn.figures.perRound.at(-1)?.maintenances ?? 0)} maintenances, ${number(churn.figures.perRound.reduce((sum, one) => sum + one.evictions, 0))} evictions.`,
      `After the first ${churn.figures.warmUpRounds} rounds the heap grew by ${fixed(churn.figures.bytesPerMaintenance, 0)} bytes for each maintenance`,
      `(${fixed((churn.figures.perRound[churn.figures.warmUpRounds]?.heapBytes ?? 0) / 1e6, 1)} MB then, ${fixed((churn.figures.perRound.at(-1)?.heapBytes ?? 0) / 1e6, 1)} MB in the end, each after a full garbage collection).`,
    ],
    sizing: prices && sizing(prices),
  };
}

function roundsOf({ rounds, plannedRounds }: ChurnFigures): string {
  return plannedRounds === undefined
    ? `${number(rounds)} rounds`
    : `${number(rounds)} rounds (it was interrupted; ${number(plannedRounds)} were meant)`;
}

function drainSection(measured: Measured<DrainFigures>): string[] {
  const { figures } = measured;
  const { nodes, spares, pods, maintained, evictionQps, evictions, refused } = figures;
  const ratio = figures.readySeconds / figures.leastSeconds;
  return [
    circumstances(measured, [figures.drain]),
    '',
    `${number(nodes + spares)} nodes, ${number(pods)} pods on ${number(nodes)} of them; ${number(maintained)} nodes at once, with \`--eviction-qps=${evictionQps}\`:`,
    '',
    ...table(
      [
        'evictions',
        'refused',
        'at the configured rate',
        'first to last',
        'until all are Ready',
        'ratio',
        'put back in',
      ],
      [
        [
          number(evictions),
          refused,
          duration(figures.leastSeconds),
          duration(figures.evictingSeconds),
          duration(figures.readySeconds),
          fixed(ratio, 2),
          duration(figures.restoreSeconds),
        ],
      ],
    ),
    '',
    ...costTable('', [
      { cells: ['before'], idle: figures.before },
      { cells: ['while they drain'], idle: figures.drain },
      { cells: ['all are Ready'], idle: figures.ready },
      { cells: ['all are put back'], idle: figures.afterwards },
    ]),
    '',
    'Requests while they drained:',
    '',
    ...table(
      ['kind', 'requests'],
      [
        ...Object.entries(figures.drain.requests.kinds).map(([kind, count]): Cells => [kind, number(count)]),
        ['watch', number(figures.drain.requests.watches)],
        ['first lists of watches', number(figures.drain.requests.firstLists)],
        ['Lease', number(figures.drain.requests.lease)],
      ],
    ),
  ];
}

interface CostRow {
  readonly cells: Cells;
  readonly idle: Cost;
}

function costTable(what: string, rows: readonly CostRow[], more: Cells = []): string[] {
  const head = ['memory', 'peak', 'processor', 'event loop p99, longest', 'watches', 'requests a minute'];
  return table(
    [what, ...more, ...head],
    rows.map(({ cells, idle }) => [
      ...cells,
      `${fixed(idle.rssAfterMb, 0)} MB`,
      `${fixed(idle.rssPeakMb, 0)} MB`,
      `${fixed(idle.cpuPercent, 2)} %`,
      `${fixed(idle.loopP99Ms, 0)}, ${fixed(idle.loopMaxMs, 0)} ms`,
      idle.watches,
      fixed((allRequests(idle) / idle.seconds) * 60, 0),
    ]),
  );
}

function allRequests({ requests: { counted, watches, firstLists, lease } }: Cost): number {
  return counted + watches + firstLists + lease;
}

function circumstances({ machine, kubernetes, haulout }: Measured<unknown>, costs: readonly Cost[]): string {
  const { date, cores, memoryGb, loadBefore } = machine;
  const others = Math.max(0, ...costs.map((cost) => cost.others));
  const load = `load average ${fixed(loadBefore, 1)} before`;
  const disturbed =
    others > 0.1
      ? ` Up to ${fixed(others * 100, 0)} % of the processors did other things meanwhile (${load}): times and processor shares are worth little.`
      : '';
  return `Measured ${date} with haulout ${haulout} on one machine with ${cores} cores and ${memoryGb} GiB that also ran the control plane (${kubernetes}) and the fake nodes.${disturbed}`;
}

const SIZES: readonly (Size & { readonly what: string })[] = [5_000, 15_000, 65_000].map((nodes) => ({
  what: `${number(nodes)} nodes`,
  nodes,
  maintained: Math.round(nodes / 100),
  podsPerNode: 30,
  budgets: nodes,
  finished: Math.round(nodes / 10),
}));

function sizing(prices: Prices): string[] {
  const kilobytes = (mb: number): string => `${fixed(Math.max(0, mb) * 1024, 1)} kB`;
  return [
    ...table(
      ['one more', 'resident memory'],
      [
        ['node', kilobytes(prices.nodeMb)],
        ['pod of a node that is being emptied', kilobytes(prices.podMb)],
        ['maintenance in effect, with its watch', kilobytes(prices.maintenanceMb)],
        ['finished maintenance', kilobytes(prices.finishedMb)],
        ['budget, while a node is being emptied', kilobytes(prices.budgetMb)],
      ],
    ),
    '',
    `On top of ${fixed(prices.baseMb, 0)} MB. With one node of a hundred in maintenance at a time, 30 pods on each, as many budgets as nodes, and`,
    'finished maintenances for a tenth of the nodes:',
    '',
    ...table(
      [
        '',
        'memory idle',
        'memory in maintenance',
        'processor idle',
        'in sync after',
        'watches',
        'pages of the list of nodes',
        'status reports/s',
      ],
      SIZES.map((size) => {
        const need = needOf(prices, size);
        return [
          size.what,
          `${fixed(need.idleMb, 0)} MB`,
          `${fixed(need.busyMb, 0)} MB`,
          `${fixed(need.idleCpuPercent, 1)} %`,
          `${fixed(need.syncSeconds, 0)} s`,
          number(need.watches),
          number(need.firstListPages),
          fixed(need.statusReportsPerSecond, 0),
        ];
      }),
    ),
  ];
}

function duration(seconds: number): string {
  if (seconds < 120) return `${fixed(seconds, 0)} s`;
  return `${Math.floor(seconds / 60)} min ${fixed(seconds % 60, 0)} s`;
}

function fixed(value: number, digits: number): string {
  return value.toFixed(digits);
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}
