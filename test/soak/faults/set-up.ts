/** What the short and the long form run on. */
import { DISK_DRIVER, type VolumesOptions } from '../../../hack/cluster/lib/volumes/options.ts';
import type { OperatorProcess } from '../../e2e/support/operator-process.ts';
import type { TestBed } from '../../e2e/support/test-bed.ts';
import type { FaultProxy } from './proxy.ts';

/** So that many drains fit into an hour. */
export const QUICK_VOLUMES: VolumesOptions = {
  drivers: { [DISK_DRIVER]: { attachSeconds: 0.1, detachSeconds: 0.1 } },
  attacher: { timeoutSeconds: 2, retryMaxSeconds: 2 },
  nodeStatusSeconds: 0.2,
};

export async function startThrough(bed: TestBed, proxy: FaultProxy): Promise<OperatorProcess> {
  return bed.startOperator({
    name: 'operator-faults',
    kubeconfig: proxy.kubeconfig,
    flags: ['--max-unavailable-nodes=100%', '--eviction-qps=500', '--eviction-burst=500'],
  });
}
