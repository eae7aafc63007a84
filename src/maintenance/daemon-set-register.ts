import type { Client } from '../kube/client.ts';
import type { Store } from '../kube/store.ts';
import type { KubeObject } from '../kube/types.ts';
import type { Clock } from '../runtime/clock.ts';

const lookAgainMs = 1_000;

/**
 * Knows which DaemonSets exist. The watch of pods may be ahead of the watch of DaemonSets, so one that is not in the
 * store counts as there until its end was seen, or a live look did not find it.
 */
export class DaemonSetRegister {
  readonly #store: Store<KubeObject>;
  readonly #client: Client;
  readonly #onChange: () => void;
  readonly #clock: Clock;
  readonly #gone = new Set<string>();
  readonly #asking = new Set<string>();

  constructor(store: Store<KubeObject>, client: Client, clock: Clock, onChange: () => void) {
    this.#store = store.index('uid', ({ metadata }) => metadata.uid);
    this.#client = client;
    this.#clock = clock;
    this.#onChange = onChange;
    store.onChange((old, now) => {
      if (old && !now) this.#isGone(old.metadata.uid);
    });
  }

  exists(uid: string, namespace: string, name: string): boolean {
    if (this.#store.byIndex('uid', uid).length > 0) return true;
    if (!this.#gone.has(uid)) void this.#lookUp(uid, namespace, name);
    return !this.#gone.has(uid);
  }

  /** Live looks are under way: the next answer may be another. */
  get isAsking(): boolean {
    return this.#asking.size > 0;
  }

  async #lookUp(uid: string, namespace: string, name: string): Promise<void> {
    if (this.#asking.has(uid)) return;
    this.#asking.add(uid);
    const answer = await this.#client.get<KubeObject>(
      `/apis/apps/v1/namespaces/${namespace}/daemonsets/${name}`,
    );
    const gone = answer.kind === 'notFound' || (answer.kind === 'ok' && answer.object.metadata.uid !== uid);
    if (gone) this.#gone.add(uid);
    // It is there and the watch will show it, or nobody answered: in both cases it is looked at once more.
    this.#clock.after(gone ? 0 : lookAgainMs, () => {
      this.#asking.delete(uid);
      this.#onChange();
    });
  }

  #isGone(uid: string): void {
    this.#gone.add(uid);
    this.#onChange();
  }
}
