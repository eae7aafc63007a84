import type { Client } from '../kube/client.ts';
import { Reflector } from '../kube/reflector.ts';
import { Store } from '../kube/store.ts';
import type { KubeObject } from '../kube/types.ts';
import type { ReflectorContext } from './caches.ts';

/** A part of a collection that somebody wants to be watched. */
export interface Wish<T extends KubeObject = KubeObject> {
  /** For logs and metrics. */
  readonly resource: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly trim: (object: T) => T;
  /** It is wanted because of a change that has to come. */
  readonly isChangeDue?: boolean;
}

interface PooledWatch {
  readonly store: Store<KubeObject>;
  readonly reflector: Reflector<KubeObject>;
  readonly users: Set<string>;
}

/** Watches that last as long as somebody wants them; those with the same path and query are one. */
export class WatchPool {
  readonly #client: Client;
  readonly #context: ReflectorContext;
  readonly #onChange: (user: string) => void;
  readonly #watches = new Map<string, PooledWatch>();

  constructor(client: Client, context: ReflectorContext, onChange: (user: string) => void) {
    this.#client = client;
    this.#context = context;
    this.#onChange = onChange;
  }

  /** From now on `user` wants exactly these. */
  want(user: string, wishes: readonly Wish[]): void {
    const wanted = new Map(wishes.map((wish) => [keyOf(wish), wish]));
    for (const [key, wish] of wanted) {
      const watch = this.#watches.get(key) ?? this.#start(key, wish);
      watch.users.add(user);
    }
    for (const [key, watch] of this.#watches) {
      if (wanted.has(key) || !watch.users.delete(user) || watch.users.size > 0) continue;
      this.#watches.delete(key);
      void watch.reflector.stop();
    }
  }

  /** The objects of a watch; `undefined` as long as they are not known. */
  objects<T extends KubeObject>(wish: Wish<T>): readonly T[] | undefined {
    const watch = this.#watches.get(keyOf(wish));
    if (!watch?.reflector.hasSynced) return undefined;
    // The store was made for this very wish.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return [...watch.store.values()] as unknown as T[];
  }

  async stop(): Promise<void> {
    const watches = [...this.#watches.values()];
    this.#watches.clear();
    await Promise.all(watches.map(({ reflector }) => reflector.stop()));
  }

  #start(key: string, { resource, path, query, trim, isChangeDue = false }: Wish): PooledWatch {
    const store = new Store<KubeObject>({ trim, ...this.#context.store });
    const reflector = new Reflector({
      ...this.#context.reflector(resource),
      client: this.#client,
      store,
      path,
      query,
      isChangeDue: () => isChangeDue,
    });
    const watch: PooledWatch = { store, reflector, users: new Set() };
    const tell = () => watch.users.forEach((user) => this.#onChange(user));
    store.onChange(tell);
    this.#watches.set(key, watch);
    reflector.start();
    void reflector.synced.then(tell, () => undefined);
    return watch;
  }
}

function keyOf({ path, query }: Pick<Wish, 'path' | 'query'>): string {
  return `${path}?${new URLSearchParams(query).toString()}`;
}
