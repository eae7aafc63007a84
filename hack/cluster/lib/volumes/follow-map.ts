/** A list and watch kept in a map. */
import { follow } from '../follow.ts';
import type { KubeClient, KubeObject } from '../kube-client.ts';

export interface MapOptions<T extends KubeObject> {
  readonly keyOf: (object: T) => string;
  readonly onChange: () => void;
  readonly log: (line: string) => void;
}

/** Returns when the signal is aborted. */
export async function followMap<T extends KubeObject>(
  client: KubeClient,
  path: string,
  map: Map<string, T>,
  { keyOf, onChange, log }: MapOptions<T>,
  signal: AbortSignal,
): Promise<void> {
  const followed = {
    replace: (objects: readonly T[]) => {
      map.clear();
      for (const object of objects) map.set(keyOf(object), object);
      onChange();
    },
    changed: (object: T) => {
      map.set(keyOf(object), object);
      onChange();
    },
    removed: (object: T) => {
      map.delete(keyOf(object));
      onChange();
    },
  };
  return follow(client, path, followed, signal, log);
}
