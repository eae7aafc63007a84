/** Taking away what a test file has made on a cluster that others use too. */
import { evacuateFinalizer, nodeMaintenancePath, nodeMaintenancesPath } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/types.generated.ts';
import type { Node } from '../../../src/kube/types.ts';
import type { Api } from './api.ts';
import { eventually } from './eventually.ts';

/** Maintenances first: their nodes are put back while they still exist. */
export async function cleanUp(
  api: Api,
  nodes: ReadonlySet<string>,
  namespaces: ReadonlySet<string>,
): Promise<void> {
  const maintenances = await api.list<NodeMaintenance>(nodeMaintenancesPath);
  const own = maintenances.filter(({ spec }) => nodes.has(spec.nodeName));
  await Promise.all(own.map(async ({ metadata }) => removeMaintenance(api, metadata.name)));
  await Promise.all([...namespaces].map(async (name) => removeNamespace(api, name)));
  await Promise.all([...nodes].map(async (name) => removeNode(api, name)));
}

async function removeMaintenance(api: Api, name: string): Promise<void> {
  const path = nodeMaintenancePath(name);
  await api.remove(path);
  try {
    await eventually(`${name} is gone`, async () => (await api.find(path)) === undefined, {
      timeoutMs: 15_000,
    });
  } catch {
    // A bug that keeps the object must not keep the tests of other files from running.
    await api.mergePatch(path, { metadata: { finalizers: null } }).catch(() => undefined);
  }
}

async function removeNamespace(api: Api, namespace: string): Promise<void> {
  for (const { metadata } of await api.pods(namespace)) {
    if (metadata.finalizers === undefined) continue;
    const path = `/api/v1/namespaces/${namespace}/pods/${metadata.name}`;
    await api.mergePatch(path, { metadata: { finalizers: null } });
  }
  await api.remove(`/api/v1/namespaces/${namespace}`);
}

async function removeNode(api: Api, name: string): Promise<void> {
  const path = `/api/v1/nodes/${name}`;
  const node = await api.find<Node>(path);
  if (node?.metadata.finalizers?.includes(evacuateFinalizer) === true)
    await api.mergePatch(path, { metadata: { finalizers: null } });
  await api.remove(path);
}
