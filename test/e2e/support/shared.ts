/** What the global set-up leaves for the global tear-down, which runs in the same process. */
import type { Cluster } from '../../../hack/cluster/lib/cluster.ts';
import type { OperatorProcess } from './operator-process.ts';

interface Shared {
  /** Only where the set-up has started it; a cluster that ran before goes on. */
  startedCluster?: Cluster;
  operator?: OperatorProcess;
  /** Where there is an audit log to compare the chart's rules with. */
  rules?: { readonly state: string; readonly helm: string };
  /** Takes away what was made on a cluster that is not ours. */
  moveOut?: () => Promise<void>;
}

export const shared: Shared = {};
