import type { Answer, Refusal } from './answer.ts';
import type { KubeObject } from './types.ts';

export interface RequestOptions {
  /** Ends the request: its promise rejects with the signal's reason. Whether a write took effect is then not known. */
  readonly signal?: AbortSignal;
  /** Milliseconds until the answer must be complete, queueing and connecting included. Default 30,000. */
  readonly timeoutMs?: number;
  /** The Accept header. Default `application/json`. */
  readonly accept?: string;
  /** Asked at the moment in which the request goes out: the promise rejects with an Error that it answers, nothing sent. */
  readonly beforeSending?: () => Error | undefined;
}

/** One page of a list, as the API server sends it. */
export interface ListPage<T> {
  readonly metadata: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly T[];
}

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** Only its resourceVersion counts: everything up to it was sent. */
  | { readonly type: 'BOOKMARK'; readonly object: KubeObject };

export interface WatchOptions<T> {
  /** Ends the watch: its promise rejects with the signal's reason, and no event follows. */
  readonly signal?: AbortSignal;
  /** The Accept header. Default `application/json`. */
  readonly accept?: string;
  /** Milliseconds until the server must have accepted the watch. Default 30,000. */
  readonly openTimeoutMs?: number;
  /** Milliseconds without a byte after which the watch ends as `network`. Bookmarks come about once a minute. Default 90,000. */
  readonly idleTimeoutMs?: number;
  /** The server accepted the watch. */
  readonly onOpen?: () => void;
  /** Called synchronously, in the server's order. What it throws ends the watch and is thrown by `watch`. */
  readonly onEvent: (event: WatchEvent<T>) => void;
}

/** `ended`: the server closed the watch in good order (it does so after `timeoutSeconds`, and when it stops). */
export type WatchEnd = { readonly kind: 'ended' } | Refusal;

/**
 * The API server. Nothing that it or the network does is an exception: every call resolves to an Answer. Only the
 * caller's own signal (with its reason) and his own `beforeSending` reject.
 *
 * `path` is absolute (`/api/v1/namespaces/x/pods/y`) and may carry a query; its names must be URL-safe, which names of
 * Kubernetes objects are.
 */
export interface Client {
  get<T>(path: string, options?: RequestOptions): Promise<Answer<T>>;
  /** POST. */
  create<T>(path: string, body: object, options?: RequestOptions): Promise<Answer<T>>;
  /** PATCH. Custom resources know `merge` only, which replaces whole lists: send metadata.resourceVersion with it. */
  patch<T>(
    path: string,
    type: 'merge' | 'strategic',
    body: object,
    options?: RequestOptions,
  ): Promise<Answer<T>>;
  /** PUT. */
  update<T>(path: string, body: object, options?: RequestOptions): Promise<Answer<T>>;
  /** DELETE with DeleteOptions as the body. */
  delete<T>(path: string, body: object, options?: RequestOptions): Promise<Answer<T>>;
  /** One page of a list; the caller sets `limit` and `continue`. */
  list<T>(
    path: string,
    query: Readonly<Record<string, string>>,
    options?: RequestOptions,
  ): Promise<Answer<ListPage<T>>>;
  /** Watches until the stream ends; resolves to why. `watch: 'true'` is added to the query. */
  watch<T>(
    path: string,
    query: Readonly<Record<string, string>>,
    options: WatchOptions<T>,
  ): Promise<WatchEnd>;
}
