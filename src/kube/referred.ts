import { subdomainProblem } from '../api/syntax.ts';
import type { Answer } from './answer.ts';
import type { Client, RequestOptions } from './client.ts';

/**
 * Whether an object can have this name. The API server takes owner references, claims and volume names that nothing can
 * be called, such as `../secrets/x`: they lead nowhere, and are for no path, query or label.
 */
export const canBeName = (name: string): boolean => subdomainProblem(name) === undefined;

/** Reads an object by a name that stands in another one. `collection` is its path without the name. */
export async function getReferred<T>(
  client: Pick<Client, 'get'>,
  collection: string,
  name: string,
  options?: RequestOptions,
): Promise<Answer<T>> {
  if (canBeName(name)) return client.get<T>(`${collection}/${name}`, options);
  return { kind: 'notFound', message: 'no object can have the name that it is referred to by' };
}
