import { StartError } from '../cli/exit.ts';
import type { Refusal } from '../kube/answer.ts';
import type { Client } from '../kube/client.ts';

/** The operator's own Deployment, which must not put back on the nodes what is being taken off. */
export interface OwnDeployment {
  readonly namespace: string;
  readonly name: string;
}

interface Scale {
  readonly spec?: { readonly replicas?: number };
}

/**
 * Scales it to nothing. Returns what brings the operator back, for when the release fails and the installation stays; it
 * resolves to what went wrong, as a sentence. A Deployment that does not exist runs nothing.
 * @throws StartError with the API server's words where it may not be scaled
 */
export async function stopDeployment(
  client: Client,
  { namespace, name }: OwnDeployment,
  signal: AbortSignal,
): Promise<() => Promise<string | undefined>> {
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}/scale`;
  const found = await client.get<Scale>(path, { signal });
  if (found.kind === 'notFound') return async () => undefined;
  if (found.kind !== 'ok') throw new StartError(problem(found));
  const replicas = found.object.spec?.replicas ?? 1;
  const scale = async (wanted: number, by?: AbortSignal) =>
    client.patch<Scale>(path, 'merge', { spec: { replicas: wanted } }, by ? { signal: by } : {});
  const stopped = await scale(0, signal);
  if (stopped.kind !== 'ok') throw new StartError(problem(stopped));
  return async () => {
    const answer = await scale(replicas);
    return answer.kind === 'ok' ? undefined : problem(answer);
  };

  function problem({ message }: Refusal): string {
    return `Deployment ${namespace}/${name} could not be scaled: ${message}`;
  }
}
