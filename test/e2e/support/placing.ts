/** Workloads that begin on the node of an island that is to be maintained. */
import type { Pod } from '../../../src/kube/types.ts';
import type { Manifest } from './builders.ts';
import type { Island } from './island.ts';
import { isDone, isReady } from './status.ts';
import type { TestBed } from './test-bed.ts';

/** Applies the manifests while only `island.node` takes pods; returns its pods when all pods of the island are Ready. */
export async function place(
  bed: TestBed,
  island: Island,
  manifests: readonly Manifest[],
): Promise<readonly Pod[]> {
  await Promise.all(island.spares.map(async (spare) => bed.cordon(spare)));
  const others = (await bed.api.pods(island.namespace)).length;
  await bed.kubectl.apply(...manifests);
  const expected = others + podsExpected(manifests, island.nodes.length);
  await bed.eventually(`${expected} pods are Ready in ${island.namespace}`, async () => {
    const pods = await bed.api.pods(island.namespace);
    return pods.length >= expected && pods.every((pod) => isReady(pod) || isDone(pod));
  });
  for (const { kind, metadata } of manifests) {
    if (kind === 'PodDisruptionBudget') await bed.budgetSettled(island.namespace, metadata.name);
  }
  await Promise.all(island.spares.map(async (spare) => bed.uncordon(spare)));
  const pods = await bed.api.podsOnNode(island.node);
  return pods.filter((pod) => pod.metadata.namespace === island.namespace);
}

/** How many pods the manifests ask for on an island of so many nodes. */
export function podsExpected(manifests: readonly Manifest[], nodes: number): number {
  let pods = 0;
  for (const { kind, spec } of manifests) {
    const { replicas = 1, parallelism = 1 } = (spec ?? {}) as { replicas?: number; parallelism?: number };
    if (kind === 'Pod') pods += 1;
    else if (kind === 'Deployment' || kind === 'StatefulSet') pods += replicas;
    else if (kind === 'Job') pods += parallelism;
    else if (kind === 'DaemonSet') pods += nodes;
  }
  return pods;
}
