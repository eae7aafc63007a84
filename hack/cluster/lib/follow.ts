/** List and watch, for ever: what a test process needs to survive restarts of the API server. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeClient, KubeObject, WatchEvent } from './kube-client.ts';
import { as, errorMessage } from './untyped.ts';

export interface Followed<T extends KubeObject> {
  /** All that exist now: whatever is not among them is gone. */
  replace(objects: readonly T[]): void;
  changed(object: T): void;
  removed(object: T): void;
}

interface List<T> {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly T[];
}

const RETRY_MS = 250;

/** Returns when the signal is aborted. Every new failure is logged, and each answered with a new list. */
export async function follow<T extends KubeObject>(
  client: KubeClient,
  path: string,
  followed: Followed<T>,
  signal: AbortSignal,
  log: (line: string) => void,
): Promise<void> {
  let lastProblem = '';
  while (!signal.aborted) {
    try {
      const timeout = AbortSignal.any([signal, AbortSignal.timeout(10_000)]);
      const list = as<List<T>>(await client.must('GET', path, { signal: timeout }));
      followed.replace(list.items);
      lastProblem = '';
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
      const problem = errorMessage(error);
      if (problem !== lastProblem) log(`${path}: ${problem}; listing again until it works`);
      lastProblem = problem;
      await sleep(RETRY_MS);
    }
  }
}

function deliver<T extends KubeObject>(event: WatchEvent, followed: Followed<T>): void {
  if (event.type === 'DELETED') followed.removed(as<T>(event.object));
  else if (event.type !== 'BOOKMARK') followed.changed(as<T>(event.object));
}
