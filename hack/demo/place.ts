/** Where the demo runs: a control plane of its own, or the cluster that CLUSTER names. */
import { openCluster, startCluster, stopCluster } from '../cluster/lib/cluster.ts';
import { startKind, useCurrent } from '../cluster/lib/foreign.ts';
import { clusterDirectory } from '../cluster/lib/paths.ts';

export interface Place {
  /** What the demo leaves there: logs, kubeconfigs. */
  readonly dir: string;
  readonly kubeconfig: string;
  readonly binDir: string;
  /** The node that goes into maintenance. */
  readonly node: string;
  /** Made for the demo, and thrown away as a whole at its end. */
  readonly isOwn: boolean;
  stop(): Promise<void>;
}

const NODES = 4;
const DIR = '.cluster-demo';

export async function openPlace(kind: string, log: (line: string) => void): Promise<Place> {
  const dir = clusterDirectory(DIR);
  const node = process.env['DEMO_NODE'];
  switch (kind) {
    case '': {
      // What is half started must not stay behind when somebody changes their mind.
      const interrupted = (): void => void stopCluster(DIR).finally(() => process.exit(130));
      process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
      const { kubeconfig, binDir } = await startCluster({ dir: DIR, nodes: NODES, log });
      process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
      return { dir, kubeconfig, binDir, node: 'worker-1', isOwn: true, stop: async () => stopCluster(DIR) };
    }
    case 'kind':
      await refuseOwn();
      return { dir, ...(await startKind(DIR, NODES, log)), node: 'worker-1', isOwn: false, stop: nothing };
    case 'current':
      // A real node would lose its pods: nobody should find that out by trying the demo.
      if (node === undefined || node === '') {
        throw new Error('CLUSTER=current drains a node of your cluster: say which one with DEMO_NODE=NAME');
      }
      await refuseOwn();
      return { dir, ...(await useCurrent(DIR, log)), node, isOwn: false, stop: nothing };
    default:
      throw new Error(
        `CLUSTER=${kind} is not known: kind, current, or nothing for a control plane without containers`,
      );
  }
}

/** The same directory must not hold two clusters. */
async function refuseOwn(): Promise<void> {
  if (await openCluster(DIR)) throw new Error(`another demo runs in ${DIR}`);
}

async function nothing(): Promise<void> {
  return Promise.resolve();
}
