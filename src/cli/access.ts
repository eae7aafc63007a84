import type { Client } from '../kube/client.ts';
import { type LoadedKubeConfig, loadKubeConfig } from '../kube/kubeconfig.ts';
import { StartError } from './exit.ts';

const firstContactMs = 10_000;

/** How the cluster is reached. Throws a StartError where that cannot be found out. */
export function loadAccess(options: {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}): LoadedKubeConfig {
  const { kubeconfig, context } = options;
  try {
    return loadKubeConfig({
      ...(kubeconfig === undefined ? {} : { kubeconfig }),
      ...(context === undefined ? {} : { context }),
    });
  } catch (error) {
    throw asStartError(error);
  }
}

export function asStartError(error: unknown): StartError {
  return new StartError(error instanceof Error ? error.message : String(error), { cause: error });
}

/** A cluster that cannot be reached, or that does not know us, is told at once (StartError) and not retried for ever. */
export async function firstContact(client: Client, signal: AbortSignal): Promise<void> {
  const answer = await client.get('/version', { timeoutMs: firstContactMs, signal });
  if (answer.kind === 'ok') return;
  throw new StartError(`the API server cannot be used: ${answer.message}; check --kubeconfig and --context`);
}
