/** Thousands of requests, a few at a time. */
import type { KubeClient } from '../../../hack/cluster/lib/kube-client.ts';
import type { Manifest } from '../../e2e/support/builders.ts';

/** More at once make a control plane on few cores no faster. */
const AT_ONCE = 24;

/** The first failure ends it. */
export async function forAll<T>(items: Iterable<T>, work: (item: T) => Promise<unknown>): Promise<void> {
  const rest = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

export async function createAll(
  client: KubeClient,
  collection: string,
  manifests: Iterable<Manifest>,
): Promise<void> {
  await forAll(manifests, async (body) => client.must('POST', collection, { body }));
}
