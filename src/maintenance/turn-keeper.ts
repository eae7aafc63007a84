import type { NodeMaintenance } from '../api/types.generated.ts';
import type { Store } from '../kube/store.ts';
import type { Node } from '../kube/types.ts';
import { held, isHeld, isReadable } from './caches.ts';
import { type NodeLimit, nextTurns, nodesAllowed, wantsTurn } from './turns.ts';

export interface TurnKeeperOptions {
  readonly nodes: Store<Node>;
  readonly maintenances: Store<NodeMaintenance>;
  readonly limit: NodeLimit;
  /** It is this node's turn now. */
  readonly onTurn: (nodeName: string) => void;
}

/** Knows which nodes may be out of service now; see docs/sharing.md. */
export class TurnKeeper {
  readonly #options: TurnKeeperOptions;
  /** Let through, and not seen to be held yet. */
  readonly #granted = new Set<string>();
  /** Gave their place to others, because the API server refuses to have them cordoned. */
  readonly #refused = new Set<string>();
  #stale = true;

  constructor(options: TurnKeeperOptions) {
    this.#options = options;
  }

  /** To be called for every change of a node or a maintenance that may matter. */
  changed(): void {
    if (this.#stale) return;
    this.#stale = true;
    // Once for a burst of changes, and even if no waiting node is planned meanwhile.
    queueMicrotask(() => {
      this.#refresh();
    });
  }

  admits(nodeName: string): boolean {
    this.#refresh();
    return this.#granted.has(nodeName) || this.isHeld(nodeName);
  }

  /** Out of service already. */
  isHeld(nodeName: string): boolean {
    const node = this.#options.nodes.get(nodeName);
    return node !== undefined && isHeld(node);
  }

  /**
   * The API server has refused to have this node cordoned, for certain and not for want of an answer, or a bug keeps it
   * from being planned. Its place goes to
   * one that has not been refused; where there is none it keeps it, and tries again as often as it may.
   */
  refused(nodeName: string): void {
    if (!this.#granted.has(nodeName)) return;
    const others = this.#waiting(this.#heldNodes()).map(({ spec }) => spec.nodeName);
    const taken = new Set([nodeName, ...this.#granted, ...this.#refused]);
    if (!others.some((name) => !taken.has(name))) return;
    this.#granted.delete(nodeName);
    this.#refused.add(nodeName);
    this.changed();
  }

  #refresh(): void {
    if (!this.#stale) return;
    this.#stale = false;
    const { nodes, limit, onTurn } = this.#options;
    const heldNodes = this.#heldNodes();
    const waiting = this.#waiting(heldNodes);
    const wanted = new Set(waiting.map(({ spec }) => spec.nodeName));
    for (const name of this.#granted) {
      if (heldNodes.has(name) || !wanted.has(name)) this.#granted.delete(name);
    }
    for (const name of this.#refused) {
      if (heldNodes.has(name) || !wanted.has(name)) this.#refused.delete(name);
    }
    const outOfService = new Set([...heldNodes, ...this.#granted]);
    const allowed = nodesAllowed(limit, nodes.size);
    const refused = this.#refused;
    for (const name of nextTurns({ limit: allowed, held: outOfService, waiting, refused })) {
      this.#granted.add(name);
      onTurn(name);
    }
  }

  /** What costs least comes first: thousands may have had their turn, or their nodes are gone. */
  #waiting(heldNodes: ReadonlySet<string>): NodeMaintenance[] {
    const { nodes, maintenances } = this.#options;
    return [...maintenances.values()].filter(
      (maintenance) =>
        isReadable(maintenance) &&
        !heldNodes.has(maintenance.spec.nodeName) &&
        nodes.get(maintenance.spec.nodeName) !== undefined &&
        wantsTurn(maintenance),
    );
  }

  #heldNodes(): Set<string> {
    return new Set(this.#options.nodes.byIndex('held', held).map(({ metadata }) => metadata.name));
  }
}
