import type { Client } from '../kube/client.ts';
import type { Pod } from '../kube/types.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { type OwnPodDecision, decideOwnPod } from './own-pod-look.ts';
import { type OwnPodFate, fateLastsMs } from './order.ts';

export interface OwnPodKeeperOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly isHeld: (nodeName: string) => boolean;
  /** Stops leading so that another replica can; undefined where that is not possible, or was of no use. */
  readonly handOver: (() => void) | undefined;
  readonly fateOf: (nodeName: string) => OwnPodFate | undefined;
  readonly onFate: (nodeName: string, fate: OwnPodFate) => void;
}

/** After the API server did not answer. */
const lookAgainMs = 10_000;

/** Finds out what is to become of the operator's own pod, when that is the last one that a drain waits for. */
export class OwnPodKeeper {
  readonly #options: OwnPodKeeperOptions;
  readonly #stopping = new AbortController();
  #looking: Promise<void> | undefined;

  constructor(options: OwnPodKeeperOptions) {
    this.#options = options;
  }

  /** Returns at once; what comes of it is told to `onFate`, or another replica goes on. */
  decide(nodeName: string, pod: Pod): void {
    this.#looking ??= this.#look(nodeName, pod)
      .catch((error: unknown) => {
        if (!this.#stopping.signal.aborted)
          this.#options.logger.error('looking for a place for the own pod failed', { error });
      })
      .finally(() => (this.#looking = undefined));
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('not leading any more'));
    await this.#looking;
  }

  async #look(nodeName: string, pod: Pod): Promise<void> {
    const { client, clock, isHeld, handOver, fateOf, onFate } = this.#options;
    const { signal } = this.#stopping;
    const decision = await decideOwnPod(pod, { client, signal, isHeld, mayHandOver: handOver !== undefined });
    signal.throwIfAborted();
    this.#log(nodeName, pod, decision);
    const at = clock.monotonic();
    if (decision.kind === 'handOver') handOver?.();
    else if (decision.kind === 'unknown') {
      // What was known before holds until it is known better.
      onFate(nodeName, { kind: fateOf(nodeName)?.kind ?? 'unknown', at: at - fateLastsMs + lookAgainMs });
    } else onFate(nodeName, { kind: decision.kind, at });
  }

  #log(node: string, { metadata }: Pod, decision: OwnPodDecision): void {
    const { logger } = this.#options;
    const fields = { node, pod: `${metadata.namespace ?? ''}/${metadata.name}` };
    switch (decision.kind) {
      case 'handOver':
        return logger.info('the own pod has to leave: handing over', { ...fields, to: decision.to });
      case 'leaves':
        return logger.info('the own pod has to leave, and another node can take it', {
          ...fields,
          to: decision.to,
        });
      case 'stays':
        return logger.warn('the own pod stays, as no other node can take it', {
          ...fields,
          why: decision.why,
        });
      case 'unknown':
        return logger.warn('cannot look for a place for the own pod', {
          ...fields,
          error: decision.refusal.message,
        });
    }
  }
}
