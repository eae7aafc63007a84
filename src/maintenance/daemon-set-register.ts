import type { Refusal } from '../kube/answer.ts';
import type { Client } from '../kube/client.ts';
import { getReferred } from '../kube/referred.ts';
import type { Store } from '../kube/store.ts';
import type { KubeObject } from '../kube/types.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';

const firstLookAgainMs = 1_000;
const longestLookAgainMs = 60_000;

export interface DaemonSetRegisterOptions {
  readonly store: Store<KubeObject>;
  readonly client: Pick<Client, 'get'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onChange: () => void;
}

/**
 * Knows which DaemonSets exist. The watch of pods may be ahead of the watch of DaemonSets, so one that is not in the
 * store counts as there until its end was seen, or a live look did not find it.
 */
export class DaemonSetRegister {
  readonly #options: DaemonSetRegisterOptions;
  readonly #gone = new Set<string>();
  /** Found by a live look: the watch will show them. */
  readonly #found = new Set<string>();
  readonly #asking = new Set<string>();
  readonly #looks = new Map<string, number>();

  constructor(options: DaemonSetRegisterOptions) {
    this.#options = options;
    options.store.index('uid', ({ metadata }) => metadata.uid);
    options.store.onChange((old, now) => {
      if (old && !now) this.#isGone(old.metadata.uid);
    });
  }

  exists(uid: string, namespace: string, name: string): boolean {
    if (this.#isShown(uid)) return true;
    if (!this.#gone.has(uid)) void this.#lookUp(uid, namespace, name);
    return !this.#gone.has(uid);
  }

  /** Whether `exists` goes by no more than what a pod says: no live look has been answered. */
  isUncertain(uid: string): boolean {
    return !this.#isShown(uid) && !this.#gone.has(uid) && !this.#found.has(uid);
  }

  #isShown(uid: string): boolean {
    return this.#options.store.byIndex('uid', uid).length > 0;
  }

  async #lookUp(uid: string, namespace: string, name: string): Promise<void> {
    if (this.#asking.has(uid)) return;
    this.#asking.add(uid);
    const { client, clock, onChange } = this.#options;
    const path = `/apis/apps/v1/namespaces/${namespace}/daemonsets`;
    const answer = await getReferred<KubeObject>(client, path, name);
    if (answer.kind === 'notFound' || (answer.kind === 'ok' && answer.object.metadata.uid !== uid)) {
      this.#asking.delete(uid);
      this.#isGone(uid);
      return;
    }
    const looks = this.#looks.get(uid) ?? 0;
    this.#looks.set(uid, looks + 1);
    if (answer.kind === 'ok') this.#found.add(uid);
    else this.#warn(`${namespace}/${name}`, answer);
    onChange();
    clock.after(Math.min(firstLookAgainMs * 2 ** looks, longestLookAgainMs), () => {
      this.#asking.delete(uid);
      onChange();
    });
  }

  #warn(daemonSet: string, { kind, message }: Refusal): void {
    this.#options.logger.warn('cannot tell whether a DaemonSet exists', {
      daemonSet,
      cause: kind,
      answer: message,
    });
  }

  #isGone(uid: string): void {
    this.#found.delete(uid);
    this.#looks.delete(uid);
    this.#gone.add(uid);
    this.#options.onChange();
  }
}
