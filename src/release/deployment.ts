import { StartError } from '../cli/exit.ts';
import type { Refusal } from '../kube/answer.ts';
import type { Client } from '../kube/client.ts';

/** The operator's own Deployment, which must not put back on the nodes what is being taken off. */
export interface OwnDeployment {
  /** Scales it to nothing. @throws StartError with the API server's words where it may not be scaled */
  readonly stop: (signal: AbortSignal) => Promise<void>;
  /** For when the release fails and the installation stays. Resolves to what went wrong, as a sentence. */
  readonly bringBack: () => Promise<string | undefined>;
}

interface Scale {
  readonly spec?: { readonly replicas?: number };
}

/** @returns undefined where there is none, which runs nothing. @throws StartError where it may not be read */
export async function findDeployment(
  client: Client,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<OwnDeployment | undefined> {
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}/scale`;
  const found = await client.get<Scale>(path, { signal });
  if (found.kind === 'notFound') return undefined;
  if (found.kind !== 'ok') throw new StartError(problem(found));
  const replicas = found.object.spec?.replicas ?? 1;
  const scale = async (wanted: number, by?: AbortSignal) =>
    client.patch<Scale>(path, 'merge', { spec: { replicas: wanted } }, by ? { signal: by } : {});
  return {
    stop: async (by) => {
      const stopped = await scale(0, by);
      if (stopped.kind !== 'ok') throw new StartError(problem(stopped));
    },
    bringBack: async () => {
      const answer = await scale(replicas);
      return answer.kind === 'ok' ? undefined : problem(answer);
    },
  };

  function problem({ message }: Refusal): string {
    return `Deployment ${namespace}/${name} could not be scaled: ${message}`;
  }
}
