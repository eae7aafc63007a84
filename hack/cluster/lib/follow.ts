/** List and watch, for ever: what a test process needs to survive restarts of the API server. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeClient, KubeObject, WatchEvent } from './kube-client.ts';

export interface Followed<T extends KubeObject> {
  /** All that exist now: whatever is not among them is gone. */
  replace(objects: readonly T[]): void;
  changed(object: T): void;
  removed(object: T): void;
}

const RETRY_MS = 250;

/** Returns when the signal is aborted. Every failure is logged and answered with a new list. */
export async function follow<T extends KubeObject>(
  client: KubeClient,
  path: string,
  followed: Followed<T>,
  signal: AbortSignal,
  log: (line: string) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const timeout = AbortSignal.any([signal, AbortSignal.timeout(10_000)]);
      const list = (await client.must('GET', path, { signal: timeout })) as {
        metadata: { resourceVersion: string };
        items: T[];
      };
      followed.replace(list.items);
      let version = list.metadata.resourceVersion;
      for (;;) {
        for await (const event of client.watch(path, version, signal)) {
          if (event.type === 'ERROR') throw new Error(`watch ${path} ended: ${JSON.stringify(event.object)}`);
          version = event.object.metadata.resourceVersion ?? version;
          deliver(event, followed);
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      log(`${path}: ${error instanceof Error ? error.message : String(error)}; listing again`);
      await sleep(RETRY_MS);
    }
  }
}

function deliver<T extends KubeObject>(event: WatchEvent, followed: Followed<T>): void {
  if (event.type === 'DELETED') followed.removed(event.object as T);
  else if (event.type !== 'BOOKMARK') followed.changed(event.object as T);
}
