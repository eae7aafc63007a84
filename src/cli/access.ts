import type { Client } from '../kube/client.ts';
import { type LoadedKubeConfig, loadKubeConfig } from '../kube/kubeconfig.ts';
import { ownRights } from '../kube/own-rights.ts';
import type { Logger } from '../runtime/logger.ts';
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

/**
 * Refuses to begin with rights that the operator never needs and that are worth taking it over for (StartError), unless
 * that is what is wanted. Where the API server does not tell, it begins.
 */
export async function refuseExcessRights(
  client: Client,
  options: { readonly namespace: string; readonly allowExcessRights: boolean },
  signal: AbortSignal,
  logger: Logger,
): Promise<void> {
  const rights = await ownRights(client, options.namespace, signal);
  if (rights.kind === 'unknown') {
    logger.warn('cannot tell whether this account has more rights than needed', { cause: rights.why });
    return;
  }
  const { excess } = rights;
  if (excess.length === 0) return;
  if (options.allowExcessRights) {
    logger.warn('this account has rights that are never needed', { excess });
    return;
  }
  const shown = excess.slice(0, 3).join(', ');
  const more = excess.length > 3 ? ` and ${excess.length - 3} more` : '';
  throw new StartError(
    `this account has more rights than the operator needs (${shown}${more}), and so would whoever takes the operator over: ` +
      'bind its ServiceAccount to nothing but the roles of the chart, or, to try it out with the kubeconfig of an ' +
      'administrator, add --allow-excess-rights',
  );
}
