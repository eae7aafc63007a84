import type { Answer, Refusal } from './answer.ts';
import type { Client } from './client.ts';

export interface ListAllOptions<T> {
  readonly query: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly accept?: string;
  /** Objects asked for at once; 500 unless given. What a page holds is in memory twice for a moment, as text and parsed. */
  readonly pageSize?: number;
  /** Called for every object, page by page: what it returns is kept, so that a page can be dropped at once. */
  readonly map: (object: T) => T;
}

export interface FullList<T> {
  readonly items: readonly T[];
  /** Where a watch continues. */
  readonly resourceVersion: string;
}

const usualPageSize = 500;
const timeoutMs = 60_000;

/**
 * Lists a whole collection in pages, as of one consistent resourceVersion.
 *
 * It asks for the newest state (no resourceVersion), not for `resourceVersion=0` as client-go's first list does: that
 * may be answered from a cache that lags, and a node would look empty although a pod was bound to it. Supported API
 * servers (1.31 and newer) answer the consistent list from their watch cache too, so it costs them little more.
 *
 * When the continue token expires between two pages, the list begins again in one piece, which cannot expire.
 */
export async function listAll<T>(
  client: Client,
  path: string,
  options: ListAllOptions<T>,
): Promise<Answer<FullList<T>>> {
  const { pageSize = usualPageSize } = options;
  const paged = await pages(client, path, options, { limit: String(pageSize) });
  return paged.kind === 'restart' ? withoutRestart(await pages(client, path, options, {})) : paged;
}

type Restart = { readonly kind: 'restart'; readonly refusal: Refusal };

function withoutRestart<T>(result: Answer<T> | Restart): Answer<T> {
  return result.kind === 'restart' ? result.refusal : result;
}

async function pages<T>(
  client: Client,
  path: string,
  { query, signal, accept, map }: ListAllOptions<T>,
  paging: Readonly<Record<string, string>>,
): Promise<Answer<FullList<T>> | Restart> {
  const items: T[] = [];
  let token = '';
  for (;;) {
    const answer = await client.list<T>(
      path,
      { ...query, ...paging, ...(token === '' ? {} : { continue: token }) },
      { signal, timeoutMs, ...(accept === undefined ? {} : { accept }) },
    );
    signal.throwIfAborted();
    if (answer.kind !== 'ok') {
      const tokenRefused = token !== '' && (answer.kind === 'expired' || answer.kind === 'invalid');
      return tokenRefused ? { kind: 'restart', refusal: answer } : answer;
    }
    const { metadata, items: page } = answer.object;
    // Some servers send null for an empty list.
    for (const object of page ?? []) {
      items.push(map(object));
    }
    token = metadata.continue ?? '';
    if (token === '') {
      const { resourceVersion } = metadata;
      return resourceVersion === undefined
        ? { kind: 'invalid', message: `the list of ${path} has no resourceVersion` }
        : { kind: 'ok', object: { items, resourceVersion } };
    }
  }
}
