// Whether pods find room on other nodes: requests against what the nodes have free. Of the scheduler's rules it knows
// cordons, taints, nodeSelector, required node affinity and resources; it does not know affinity between pods, topology
// spread, host ports, or where volumes can be attached.
import { isFinished } from '../drain/filters.ts';
import { compareText } from '../runtime/compare.ts';
import { whyNotPlaced } from './placement.ts';
import { type Nano, formatQuantity } from './quantity.ts';
import { type Amounts, add, read, requestsOf } from './requests.ts';
import type { RoomyNode, RoomyPod } from './types.ts';

/**
 * Why `pod` cannot run on `node` beside `podsThere`, as a phrase about the node ("it is cordoned"); undefined: it can.
 */
export function whyNot(node: RoomyNode, podsThere: readonly RoomyPod[], pod: RoomyPod): string | undefined {
  return new Room(node, podsThere).whyNot(pod);
}

/** What a node has free. */
export class Room {
  readonly node: RoomyNode;
  readonly #allocatable: Amounts;
  readonly #used = new Map<string, Nano>();
  #pods = 0n;

  constructor(node: RoomyNode, podsThere: readonly RoomyPod[]) {
    this.node = node;
    this.#allocatable = read(node.status?.allocatable);
    for (const pod of podsThere) this.take(pod);
  }

  /** Counts a pod as running there. Finished pods take nothing. */
  take(pod: RoomyPod): void {
    if (isFinished(pod)) return;
    add(this.#used, requestsOf(pod));
    this.#pods += 1n;
  }

  whyNot(pod: RoomyPod): string | undefined {
    return whyNotPlaced(this.node, pod) ?? this.#lack(pod);
  }

  /** How much of the node the pod would take: the greatest share of any resource. Above 1: never fits. */
  share(pod: RoomyPod): number {
    const shares = [...requestsOf(pod)].map(([name, amount]) =>
      amount <= 0n ? 0 : Number(amount) / Number(this.#allocatable.get(name) ?? 0n),
    );
    return Math.max(0, ...shares);
  }

  #lack(pod: RoomyPod): string | undefined {
    const places = (this.#allocatable.get('pods') ?? 0n) / 1_000_000_000n;
    if (this.#pods >= places) return `it is full (${this.#pods} of ${places} pods)`;
    const lacking = [...requestsOf(pod)].flatMap(([name, amount]) => {
      const free = (this.#allocatable.get(name) ?? 0n) - (this.#used.get(name) ?? 0n);
      if (amount <= 0n || amount <= free) return [];
      const left = formatQuantity(name, free > 0n ? free : 0n);
      return [`${name} (${formatQuantity(name, amount)} asked for, ${left} free)`];
    });
    return lacking.length === 0 ? undefined : `it lacks ${lacking.toSorted(compareText).join(', ')}`;
  }
}

/** A pod for which no place was found. */
export interface Homeless {
  readonly pod: RoomyPod;
  /** It would have had room if the others had not been placed first: another order may find it a place. */
  readonly fitsAlone: boolean;
  /** Why not, and on how many nodes for that reason; the most frequent first. */
  readonly reasons: readonly { readonly why: string; readonly nodes: number }[];
}

export interface Placement {
  /** Node names by the UIDs of the pods that found a place. */
  readonly placed: ReadonlyMap<string, string>;
  readonly homeless: readonly Homeless[];
}

/**
 * Looks for a place for all of `pods` together: those with the fewest nodes to choose from first, then the largest
 * first, each on the first node with room (first fit decreasing). That finds a place in nearly all cases in which there
 * is one, but it is no proof that there is none.
 */
export function findPlaces(
  pods: readonly RoomyPod[],
  nodes: readonly RoomyNode[],
  podsOn: (nodeName: string) => readonly RoomyPod[],
): Placement {
  const rooms = nodes
    .toSorted((a, b) => compareText(a.metadata.name, b.metadata.name))
    .map((node) => new Room(node, podsOn(node.metadata.name)));
  const order = pods
    .map((pod) => {
      const open = rooms.filter((room) => room.whyNot(pod) === undefined);
      return { pod, choices: open.length, share: Math.min(...open.map((room) => room.share(pod))) };
    })
    .toSorted(
      (a, b) =>
        a.choices - b.choices ||
        (b.choices === 0 ? 0 : b.share - a.share) ||
        compareText(a.pod.metadata.uid, b.pod.metadata.uid),
    );
  const placed = new Map<string, string>();
  const homeless: Homeless[] = [];
  for (const { pod, choices } of order) {
    const room = rooms.find((one) => one.whyNot(pod) === undefined);
    if (room) {
      room.take(pod);
      placed.set(pod.metadata.uid, room.node.metadata.name);
    } else homeless.push({ pod, fitsAlone: choices > 0, reasons: countReasons(rooms, pod) });
  }
  return { placed, homeless };
}

function countReasons(rooms: readonly Room[], pod: RoomyPod): Homeless['reasons'] {
  const counts = new Map<string, number>();
  for (const room of rooms) {
    const why = room.whyNot(pod);
    if (why !== undefined) counts.set(why, (counts.get(why) ?? 0) + 1);
  }
  return [...counts]
    .map(([why, count]) => ({ why, nodes: count }))
    .toSorted((a, b) => b.nodes - a.nodes || compareText(a.why, b.why));
}
