/** A cluster of its own for a test file or a long form of it, without an operator. */
import { startCluster } from '../../../hack/cluster/lib/cluster.ts';
import type { HeartbeatSettings } from '../../../hack/cluster/lib/heartbeats.ts';
import { clusterDirectory } from '../../../hack/cluster/lib/paths.ts';
import type { VolumesOptions } from '../../../hack/cluster/lib/volumes/options.ts';
import { installChart, operatorKubeconfig } from './install.ts';
import { TestBed } from './test-bed.ts';
import { CLUSTER_VARIABLE } from './variables.ts';

export interface OwnBedOptions {
  /** Fake nodes worker-1, worker-2, ... beside those that tests add; none unless given. */
  readonly nodes?: number;
  readonly nodeMonitorGraceSeconds?: number;
  /** Of the fake nodes, where there are many. */
  readonly heartbeats?: HeartbeatSettings;
  /** Volumes are attached and detached for real; `bed.cluster.volumeDriver()` says how. Not played unless given. */
  readonly volumes?: VolumesOptions;
  /** Values of the chart besides replicaCount=0. */
  readonly chartValues?: Readonly<Record<string, string>>;
  /** Aborted when the run is interrupted. */
  readonly signal?: AbortSignal;
  readonly log?: (line: string) => void;
}

/** Ready in some ten seconds, in `.cluster-NAME`; `bed.cluster.stop()` ends it. */
export async function startOwnBed(
  name: string,
  prefix: string,
  options: OwnBedOptions = {},
): Promise<TestBed> {
  const { chartValues, nodes = 0, ...rest } = options;
  const dir = `${clusterDirectory(process.env[CLUSTER_VARIABLE])}-${name}`;
  const cluster = await startCluster({ ...rest, dir, nodes });
  try {
    await installChart(cluster, chartValues);
    const { kubeconfig, binDir } = cluster;
    const files = {
      dir: cluster.dir,
      kubeconfig,
      binDir,
      operatorKubeconfig: await operatorKubeconfig(cluster),
    };
    return new TestBed(prefix, files, cluster);
  } catch (error) {
    // Nobody else knows of it yet.
    await cluster.stop();
    throw error;
  }
}
