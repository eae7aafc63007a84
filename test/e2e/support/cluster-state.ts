/** The whole state that the invariants look at, as lists of the API server show it. */
import { nodeMaintenancesPath } from '../../../src/api/names.ts';
import type { ClusterState } from '../../invariants/state.ts';
import type { Api } from './api.ts';

export async function clusterState(api: Api): Promise<ClusterState> {
  const [nodes, maintenances, pods, budgets, attachments, claims, namespaces] = await Promise.all([
    api.list<ClusterState['nodes'][number]>('/api/v1/nodes'),
    api.list<ClusterState['maintenances'][number]>(nodeMaintenancesPath),
    api.list<ClusterState['pods'][number]>('/api/v1/pods'),
    api.list<ClusterState['budgets'][number]>('/apis/policy/v1/poddisruptionbudgets'),
    api.list<ClusterState['attachments'][number]>('/apis/storage.k8s.io/v1/volumeattachments'),
    api.list<ClusterState['claims'][number]>('/api/v1/persistentvolumeclaims'),
    api.list<ClusterState['namespaces'][number]>('/api/v1/namespaces'),
  ]);
  return { nodes, maintenances, pods, budgets, attachments, claims, namespaces };
}
