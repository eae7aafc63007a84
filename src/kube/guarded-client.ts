import type { Client } from './client.ts';

/** A write was asked for by a process that does not hold the Lease (any more). Nothing was sent. */
export class NotLeading extends Error {
  override readonly name = 'NotLeading';

  constructor() {
    super('the Lease is not held: nothing is written');
  }
}

/** The same client, which sends a write only while `mayWrite` says so at that moment. Reads pass. */
export function guardWrites(client: Client, mayWrite: () => boolean): Client {
  const guarded = <A extends unknown[], R>(send: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      if (!mayWrite()) throw new NotLeading();
      return send(...args);
    };
  };
  return {
    get: (path, options) => client.get(path, options),
    list: (path, query, options) => client.list(path, query, options),
    watch: (path, query, options) => client.watch(path, query, options),
    create: guarded((path, body, options) => client.create(path, body, options)) as Client['create'],
    patch: guarded((path, type, body, options) => client.patch(path, type, body, options)) as Client['patch'],
    update: guarded((path, body, options) => client.update(path, body, options)) as Client['update'],
    delete: guarded((path, body, options) => client.delete(path, body, options)) as Client['delete'],
  };
}
