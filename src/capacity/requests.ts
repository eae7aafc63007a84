import { type Nano, parseQuantity } from './quantity.ts';
import type { Container, ResourceList, RoomyPod } from './types.ts';

export type Amounts = ReadonlyMap<string, Nano>;

// A pod is compared with every node.
const known = new WeakMap<RoomyPod, Amounts>();

/**
 * What a pod takes of a node, as the scheduler counts it: the sum of its containers and sidecars, or the most that an
 * init container needs beside the sidecars started before it, whichever is more; and the overhead of its sandbox.
 */
export function requestsOf(pod: RoomyPod): Amounts {
  const amounts = known.get(pod) ?? sumUp(pod);
  known.set(pod, amounts);
  return amounts;
}

function sumUp({ spec }: RoomyPod): Amounts {
  const sidecars = new Map<string, Nano>();
  const peak = new Map<string, Nano>();
  for (const container of spec.initContainers ?? []) {
    const own = ofContainer(container);
    if (container.restartPolicy === 'Always') {
      add(sidecars, own);
      raise(peak, sidecars);
    } else {
      const beside = new Map(own);
      add(beside, sidecars);
      raise(peak, beside);
    }
  }
  const total = new Map(sidecars);
  for (const container of spec.containers ?? []) add(total, ofContainer(container));
  raise(total, peak);
  for (const [name, amount] of read(spec.resources?.requests)) total.set(name, amount);
  add(total, read(spec.overhead));
  return total;
}

/** Adds `more` to `sum` in place. */
export function add(sum: Map<string, Nano>, more: Amounts): void {
  for (const [name, amount] of more) sum.set(name, (sum.get(name) ?? 0n) + amount);
}

export function read(list: ResourceList | undefined): Amounts {
  return new Map(Object.entries(list ?? {}).map(([name, text]) => [name, parseQuantity(text)]));
}

function ofContainer({ resources }: Container): Amounts {
  return read(resources?.requests);
}

function raise(highest: Map<string, Nano>, other: Amounts): void {
  for (const [name, amount] of other) {
    if (amount > (highest.get(name) ?? 0n)) highest.set(name, amount);
  }
}
