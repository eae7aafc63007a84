import type { Client, RequestOptions } from './client.ts';

/** A write was asked for by a process that does not hold the Lease (any more). Nothing was sent. */
export class NotLeading extends Error {
  override readonly name = 'NotLeading';

  constructor() {
    super('the Lease is not held: nothing is written');
  }
}

/** Whether the work ended because this process does not lead any more, which is told by whoever sees the Lease lost. */
export const isEndOfTerm = (error: unknown, signal: AbortSignal): boolean =>
  signal.aborted || error instanceof NotLeading;

/**
 * The same client, which sends a write only while `mayWrite` says so: it is asked at once and again when the write goes
 * out, as it may have waited for credentials and a connection, or the process may have been stopped. Reads pass.
 */
export function guardWrites(client: Client, mayWrite: () => boolean): Client {
  const beforeSending = () => (mayWrite() ? undefined : new NotLeading());
  const guarded = (options: RequestOptions | undefined): RequestOptions => {
    const refusal = beforeSending();
    if (refusal !== undefined) throw refusal;
    return { ...options, beforeSending };
  };
  return {
    get: (path, options) => client.get(path, options),
    list: (path, query, options) => client.list(path, query, options),
    watch: (path, query, options) => client.watch(path, query, options),
    create: async (path, body, options) => client.create(path, body, guarded(options)),
    patch: async (path, type, body, options) => client.patch(path, type, body, guarded(options)),
    update: async (path, body, options) => client.update(path, body, guarded(options)),
    delete: async (path, body, options) => client.delete(path, body, guarded(options)),
  };
}
