/** What the API says now about the node's pods and its maintenance, followed by watches. */
import { as } from '../cluster/lib/untyped.ts';
import type { Kubectl } from './kubectl.ts';
import type { Maintenance, Pod } from './types.ts';

export interface State {
  readonly maintenance: Maintenance | undefined;
  /** On the node now, by UID. */
  readonly pods: ReadonlyMap<string, Pod>;
  /** Every pod that was on the node since the watch began, as it was last seen. */
  readonly seen: ReadonlyMap<string, Pod>;
}

export class Live implements State {
  maintenance: Maintenance | undefined;
  readonly pods = new Map<string, Pod>();
  readonly seen = new Map<string, Pod>();
  readonly #listeners = new Set<() => void>();
  readonly #ended = new AbortController();
  readonly #signal: AbortSignal;
  readonly #watches: Promise<void>[];

  constructor(kubectl: Kubectl, nodeName: string, maintenanceName: string, interrupted: AbortSignal) {
    this.#signal = AbortSignal.any([interrupted, this.#ended.signal]);
    const pods = ['pods', '--all-namespaces', '--field-selector', `spec.nodeName=${nodeName}`];
    const maintenances = [
      'nodemaintenances.haulout.dev',
      '--field-selector',
      `metadata.name=${maintenanceName}`,
    ];
    this.#watches = [
      kubectl.watch(pods, ({ type, object }) => this.#podEvent(type, as<Pod>(object)), this.#signal),
      kubectl.watch(
        maintenances,
        ({ type, object }) => {
          this.maintenance = type === 'DELETED' ? undefined : as<Maintenance>(object);
          this.#tell();
        },
        this.#signal,
      ),
    ];
    // A watch that breaks is reported by whoever waits for something.
    for (const watch of this.#watches) watch.catch(() => undefined);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves as soon as `test` holds; an error that says what did not happen after `seconds`. */
  async until(what: string, seconds: number, test: () => boolean): Promise<void> {
    if (test()) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stopListening = this.onChange(() => {
      if (test()) resolve();
    });
    const timer = setTimeout(() => reject(new Error(`not within ${seconds} s: ${what}`)), seconds * 1000);
    const aborted = (): void => reject(new Error('interrupted'));
    this.#signal.addEventListener('abort', aborted);
    for (const watch of this.#watches) watch.catch(reject);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      stopListening();
      this.#signal.removeEventListener('abort', aborted);
    }
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await Promise.allSettled(this.#watches);
  }

  #podEvent(type: string, pod: Pod): void {
    const { uid } = pod.metadata;
    this.seen.set(uid, pod);
    if (type === 'DELETED') this.pods.delete(uid);
    else this.pods.set(uid, pod);
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
