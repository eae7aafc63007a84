import type { NodeMaintenance } from '../api/types.generated.ts';
import type { Store } from '../kube/store.ts';
import type { Node } from '../kube/types.ts';
import { held, isReadable } from './caches.ts';
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
    return this.#granted.has(nodeName) || this.#heldNodes().has(nodeName);
  }

  #refresh(): void {
    if (!this.#stale) return;
    this.#stale = false;
    const { nodes, maintenances, limit, onTurn } = this.#options;
    const waiting = [...maintenances.values()].filter(
      (maintenance) =>
        isReadable(maintenance) &&
        wantsTurn(maintenance) &&
        nodes.get(maintenance.spec.nodeName) !== undefined,
    );
    const heldNodes = this.#heldNodes();
    const wanted = new Set(waiting.map(({ spec }) => spec.nodeName));
    for (const name of this.#granted) {
      if (heldNodes.has(name) || !wanted.has(name)) this.#granted.delete(name);
    }
    const outOfService = new Set([...heldNodes, ...this.#granted]);
    for (const name of nextTurns({ limit: nodesAllowed(limit, nodes.size), held: outOfService, waiting })) {
      this.#granted.add(name);
      onTurn(name);
    }
  }

  #heldNodes(): Set<string> {
    return new Set(this.#options.nodes.byIndex('held', held).map(({ metadata }) => metadata.name));
  }
}
