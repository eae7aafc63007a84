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
  const check = () => {
    if (!mayWrite()) throw new NotLeading();
  };
  return {
    get: (path, options) => client.get(path, options),
    list: (path, query, options) => client.list(path, query, options),
    watch: (path, query, options) => client.watch(path, query, options),
    create: async (path, body, options) => {
      check();
      return client.create(path, body, options);
    },
    patch: async (path, type, body, options) => {
      check();
      return client.patch(path, type, body, options);
    },
    update: async (path, body, options) => {
      check();
      return client.update(path, body, options);
    },
    delete: async (path, body, options) => {
      check();
      return client.delete(path, body, options);
    },
  };
}
