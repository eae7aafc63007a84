import { type ChangeListener, Listeners, type ListenersOptions } from './listeners.ts';
import { compareResourceVersions } from './resource-version.ts';
import type { KubeObject } from './types.ts';

export interface StoreOptions<T extends KubeObject> extends ListenersOptions {
  /** Picks what is kept of an object (called for every object that comes in, however it comes). Default: all. */
  readonly trim?: (object: T) => T;
}

/** `namespace/name`, or `name` for cluster-scoped objects. */
export function keyOf(object: KubeObject): string {
  return objectKey(object.metadata.namespace, object.metadata.name);
}

/** The key of an object that is known by name only. */
export function objectKey(namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

/**
 * The objects of one list-and-watch, by key and by named indices, with listeners for changes. One reflector writes it
 * (a second one would delete the first one's objects at every relist); `observe` adds our own writes at once.
 */
export class Store<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #indices = new Map<string, Index<T>>();
  readonly #listeners: Listeners<T>;
  readonly #options: StoreOptions<T>;
  // Keys written through while a list is on its way: only for these may the store be newer than the list.
  #observedDuringList: Set<string> | undefined;

  constructor(options: StoreOptions<T> = {}) {
    this.#options = options;
    this.#listeners = new Listeners(options, (key) => this.#objects.get(key));
  }

  get size(): number {
    return this.#objects.size;
  }

  /** The object with this key (`keyOf`), as last seen. */
  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  /**
   * Defines an index and fills it from what is there. `valueOf` gives the value (or values) under which an object is
   * found, undefined for none; it must be pure. Throws when the name is taken.
   */
  index(name: string, valueOf: (object: T) => string | readonly string[] | undefined): this {
    if (this.#indices.has(name)) {
      throw new Error(`index ${name} is already defined`);
    }
    const index = new Index<T>(valueOf);
    for (const [key, object] of this.#objects) {
      index.change(key, undefined, object);
    }
    this.#indices.set(name, index);
    return this;
  }

  /** The objects whose index `name` has `value`, in no particular order. Throws for an index that was not defined. */
  byIndex(name: string, value: string): T[] {
    const index = this.#indices.get(name);
    if (index === undefined) {
      throw new Error(`index ${name} is not defined`);
    }
    const found: T[] = [];
    for (const key of index.keys(value)) {
      const object = this.#objects.get(key);
      if (object !== undefined) {
        found.push(object);
      }
    }
    return found;
  }

  /** Calls `listener` synchronously after every change; the returned function ends that. */
  onChange(listener: ChangeListener<T>): () => void {
    return this.#listeners.add(listener);
  }

  /** To be called when nobody writes this store any more: a listener that threw is left alone from now on. */
  forgetMissed(): void {
    this.#listeners.forgetMissed();
  }

  /**
   * Takes in the object that one of our own writes answered with, so that the next plan sees it before the watch does.
   * Only an object that is present with the same UID and an older resourceVersion is replaced: an absent one may be
   * deleted already, or be outside of this store's selector.
   */
  observe(object: T): void {
    const key = keyOf(object);
    const stored = this.#objects.get(key);
    if (stored === undefined || stored.metadata.uid !== object.metadata.uid || !isNewer(object, stored)) {
      return;
    }
    this.#observedDuringList?.add(key);
    this.#set(key, stored, this.#trim(object));
  }

  /** A watch event ADDED or MODIFIED. One that is not newer than what is stored (our own write) changes nothing. */
  put(object: T): void {
    const key = keyOf(object);
    const stored = this.#objects.get(key);
    if (stored === undefined || isNewer(object, stored)) {
      this.#set(key, stored, this.#trim(object));
    }
  }

  /** A watch event DELETED. An old event about an earlier object of the same name changes nothing. */
  remove(object: T): void {
    const key = keyOf(object);
    const stored = this.#objects.get(key);
    if (stored !== undefined && (stored.metadata.uid === object.metadata.uid || isNewer(object, stored))) {
      this.#set(key, stored, undefined);
    }
  }

  /** To be called before the list that `replace` will get is requested. */
  beginList(): void {
    this.#observedDuringList = new Set();
  }

  /** What `replace` needs of a listed object; the pages of a large list are kept in this form. */
  trim(object: T): T {
    return this.#trim(object);
  }

  /**
   * Makes the store equal to a list (objects already trimmed). What is missing is delivered as deleted, unchanged
   * objects (same UID and resourceVersion) give no event. The list is right even where it is older than the store
   * (etcd restored from a backup), except for objects that we wrote while it was on its way.
   */
  replace(objects: readonly T[]): void {
    const observed = this.#observedDuringList ?? new Set<string>();
    this.#observedDuringList = undefined;
    const listed = new Set(objects.map(keyOf));
    for (const [key, stored] of this.#objects) {
      if (!listed.has(key)) {
        this.#set(key, stored, undefined);
      }
    }
    for (const object of objects) {
      const key = keyOf(object);
      const stored = this.#objects.get(key);
      const sameUid = stored?.metadata.uid === object.metadata.uid;
      const unchanged = sameUid && stored?.metadata.resourceVersion === object.metadata.resourceVersion;
      const ourWrite = sameUid && observed.has(key) && stored !== undefined && isNewer(stored, object);
      if (!unchanged && !ourWrite) {
        this.#set(key, stored, object);
      }
    }
  }

  #trim(object: T): T {
    return this.#options.trim === undefined ? object : this.#options.trim(object);
  }

  #set(key: string, old: T | undefined, now: T | undefined): void {
    if (old !== undefined && now !== undefined && old.metadata.uid !== now.metadata.uid) {
      // Another object under the same name, whose predecessor's end was missed: listeners hear of both.
      this.#set(key, old, undefined);
      this.#set(key, undefined, now);
      return;
    }
    if (now === undefined) {
      this.#objects.delete(key);
    } else {
      this.#objects.set(key, now);
    }
    for (const index of this.#indices.values()) {
      index.change(key, old, now);
    }
    this.#listeners.tell(key, old, now);
  }
}

class Index<T> {
  readonly #keysByValue = new Map<string, Set<string>>();
  readonly #valueOf: (object: T) => string | readonly string[] | undefined;

  constructor(valueOf: (object: T) => string | readonly string[] | undefined) {
    this.#valueOf = valueOf;
  }

  keys(value: string): Iterable<string> {
    return this.#keysByValue.get(value) ?? [];
  }

  change(key: string, old: T | undefined, now: T | undefined): void {
    for (const value of this.#values(old)) {
      const keys = this.#keysByValue.get(value);
      keys?.delete(key);
      if (keys?.size === 0) {
        this.#keysByValue.delete(value);
      }
    }
    for (const value of this.#values(now)) {
      const keys = this.#keysByValue.get(value) ?? new Set();
      keys.add(key);
      this.#keysByValue.set(value, keys);
    }
  }

  #values(object: T | undefined): readonly string[] {
    const value = object === undefined ? undefined : this.#valueOf(object);
    return value === undefined ? [] : typeof value === 'string' ? [value] : value;
  }
}

function isNewer(a: KubeObject, b: KubeObject): boolean {
  return compareResourceVersions(a.metadata.resourceVersion, b.metadata.resourceVersion) > 0;
}
