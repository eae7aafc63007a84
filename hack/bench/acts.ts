/** The rows of the table, in their order, by the names that the command line knows. */
import type { VolumesOptions } from '../cluster/lib/volumes/options.ts';
import type { Play, Row } from './row.ts';
import { blockedNodes } from './rows/blocked-nodes.ts';
import { closedBudget } from './rows/closed-budget.ts';
import { fullNode } from './rows/full-node.ts';
import { openingBudgets } from './rows/opening-budgets.ts';
import { volumes } from './rows/volumes.ts';
import { waitingFleet } from './rows/waiting-fleet.ts';
import { manyNodes, oneNode } from './rows/whole-nodes.ts';
import { VOLUMES } from './volumes/settings.ts';

export interface Act {
  readonly name: string;
  /** Played on a cluster with such volumes, without nodes: the processes for them must not disturb other rows. */
  readonly volumes?: VolumesOptions;
  readonly play: (play: Play) => Promise<Row>;
}

export const ACTS: readonly Act[] = [
  { name: 'one-node', play: oneNode },
  { name: 'many-nodes', play: manyNodes },
  { name: 'full-node', play: fullNode },
  { name: 'closed-budget', play: closedBudget },
  { name: 'opening-budgets', play: openingBudgets },
  { name: 'blocked-nodes', play: blockedNodes },
  { name: 'waiting-fleet', play: waitingFleet },
  { name: 'volumes', volumes: VOLUMES, play: volumes },
];

/** Those with these names, all where none is given; throws where there is none of a name. */
export function actsNamed(names: readonly string[], acts: readonly Act[] = ACTS): readonly Act[] {
  const unknown = names.find((name) => !acts.some((act) => act.name === name));
  if (unknown !== undefined)
    throw new Error(`there is no row ${unknown}, but ${acts.map(({ name }) => name).join(', ')}`);
  return names.length === 0 ? acts : acts.filter(({ name }) => names.includes(name));
}
