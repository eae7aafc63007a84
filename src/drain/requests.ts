/** What is sent to have a pod leave. */
import type { Pod } from '../kube/types.ts';
import type { Post } from './evictions.ts';

export function podPath({ metadata }: Pod): string {
  return `/api/v1/namespaces/${metadata.namespace ?? ''}/pods/${metadata.name}`;
}

export function evictionPath(pod: Pod): string {
  return `${podPath(pod)}/eviction`;
}

export function evictionBody({ pod, gracePeriodSeconds }: Pick<Post, 'pod' | 'gracePeriodSeconds'>) {
  const { name, namespace } = pod.metadata;
  return {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name, namespace },
    deleteOptions: deleteOptions(pod, gracePeriodSeconds),
  };
}

/** With the UID as precondition, a later pod of the same name is out of reach. */
export function deleteOptions({ metadata }: Pod, gracePeriodSeconds: number | undefined): object {
  return {
    preconditions: { uid: metadata.uid },
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
  };
}
