import { evictionBody, evictionPath } from '../drain/requests.ts';
import { obstacleOf, type Obstacle } from '../drain/obstacles.ts';
import type { Answer } from '../kube/answer.ts';
import { cannotBeRehearsed } from '../kube/classify.ts';
import type { Client } from '../kube/client.ts';
import { InFlight } from '../kube/in-flight.ts';
import { withQuery } from '../kube/paths.ts';
import type { Leaver } from './outlook.ts';

/** What the API server says to the eviction of one pod. */
export type Rehearsal =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'refused'; readonly obstacle: Obstacle }
  /** It left while we were looking. */
  | { readonly kind: 'gone' }
  /** A webhook that is asked about real evictions only: they may well be allowed. */
  | { readonly kind: 'unknown'; readonly message: string }
  /** We may not ask. */
  | { readonly kind: 'notPermitted'; readonly message: string }
  /** No answer that says anything about the pod. */
  | { readonly kind: 'failed'; readonly message: string };

const atOnce = 10;
// The server itself retries for 10 s when evictions under one budget collide.
const timeoutMs = 60_000;

/** Asks for the eviction of every pod as a dry run: nothing is evicted, and no disruption is counted. By UID. */
export async function rehearse(
  client: Client,
  leavers: readonly Leaver[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Rehearsal>> {
  const wire = new InFlight(atOnce);
  const ask = async (leaver: Leaver): Promise<[string, Rehearsal]> => {
    await wire.enter(signal);
    try {
      const answer = await client.create(dryRunPath(leaver), dryRunBody(leaver), { signal, timeoutMs });
      return [leaver.pod.metadata.uid, read(answer)];
    } finally {
      wire.leave();
    }
  };
  return new Map(await Promise.all(leavers.map(ask)));
}

// Said twice: webhooks are told by what the query says, and no proxy that drops a query makes it a real eviction.
function dryRunPath({ pod }: Leaver): string {
  return withQuery(evictionPath(pod), { dryRun: 'All' });
}

function dryRunBody({ pod, gracePeriodSeconds }: Leaver): object {
  const body = evictionBody({ pod, gracePeriodSeconds });
  return { ...body, deleteOptions: { ...body.deleteOptions, dryRun: ['All'] } };
}

function read(answer: Answer): Rehearsal {
  switch (answer.kind) {
    case 'ok':
      return { kind: 'allowed' };
    case 'notFound':
    case 'conflict':
      return { kind: 'gone' };
    case 'admission':
      if (cannotBeRehearsed(answer)) return { kind: 'unknown', message: answer.message };
      return { kind: 'refused', obstacle: obstacleOf(answer) };
    case 'budget':
    case 'budgetStale':
    case 'multipleBudgets':
    case 'namespaceTerminating':
      return { kind: 'refused', obstacle: obstacleOf(answer) };
    case 'forbidden':
      return { kind: 'notPermitted', message: answer.message };
    case 'throttled':
    case 'expired':
    case 'invalid':
    case 'notServed':
    case 'serverError':
    case 'network':
      return { kind: 'failed', message: answer.message };
  }
}
