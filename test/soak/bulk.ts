/** Thousands of requests, a few at a time. */
import type { KubeClient } from '../../hack/cluster/lib/kube-client.ts';
import type { Manifest } from '../e2e/support/builders.ts';

/** More at once make a control plane on few cores no faster. */
const AT_ONCE = 24;

/** The results in the order of the items. The first failure ends it. */
export async function forAll<T, R>(items: Iterable<T>, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const rest = [...items].entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of rest) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}

export async function createAll(
  client: KubeClient,
  collection: string,
  manifests: Iterable<Manifest>,
): Promise<void> {
  await forAll(manifests, async (body) => client.must('POST', collection, { body }));
}
