/** The volumes that one node's kubelet has, or wants to have, mounted: rules only, times in milliseconds. */

/** From the end of the last pod until the volume is unmounted. */
export const UNMOUNT_MS = 300;

export class NodeVolumes {
  /** When it is unmounted; undefined while a pod needs it. */
  readonly #held = new Map<string, number | undefined>();

  /** `reported`: what the node's status says when the kubelet starts. */
  constructor(reported: readonly string[] = []) {
    for (const volume of reported) this.#held.set(volume, undefined);
  }

  /** `wanted`: the volumes of all pods that are on the node now. Returns when the next one is unmounted, if any is. */
  update(wanted: ReadonlySet<string>, now: number): number {
    for (const volume of wanted) this.#held.set(volume, undefined);
    let next = Infinity;
    for (const [volume, until] of this.#held) {
      if (wanted.has(volume)) continue;
      const end = until ?? now + UNMOUNT_MS;
      if (end <= now) this.#held.delete(volume);
      else {
        this.#held.set(volume, end);
        next = Math.min(next, end);
      }
    }
    return next;
  }

  inUse(): string[] {
    return [...this.#held.keys()].toSorted();
  }
}
