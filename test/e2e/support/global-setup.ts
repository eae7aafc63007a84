/** Once before all test files: the shared cluster, the chart, and the operator as a process. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openCluster, startCluster } from '../../../hack/cluster/lib/cluster.ts';
import { ProcessTable } from '../../../hack/cluster/lib/processes.ts';
import { CLUSTER_VARIABLE, STATE_VARIABLE } from './variables.ts';
import { installChart, operatorKubeconfig } from './install.ts';
import { OperatorProcess } from './operator-process.ts';
import type { BedFiles } from './test-bed.ts';
import { shared } from './shared.ts';

const NAME = 'operator-shared';

export default async function setUp(): Promise<void> {
  try {
    await start();
  } catch (error) {
    // jest tears down only what has been set up.
    await shared.operator?.kill();
    await shared.startedCluster?.stop();
    throw error;
  }
}

async function start(): Promise<void> {
  const dir = process.env[CLUSTER_VARIABLE];
  let cluster = await openCluster(dir);
  if (!cluster) {
    cluster = await startCluster({ ...(dir === undefined ? {} : { dir }), log: say });
    shared.startedCluster = cluster;
  }
  // What an earlier run has left behind when it was killed.
  await new ProcessTable(cluster.dir).stop(NAME);
  await installChart(cluster);
  const kubeconfig = await operatorKubeconfig(cluster);
  const operator = new OperatorProcess({
    dir: cluster.dir,
    name: NAME,
    kubeconfig,
    flags: ['--max-unavailable-nodes=100%'],
  });
  shared.operator = operator;
  await operator.ready();
  const files: BedFiles = {
    dir: cluster.dir,
    kubeconfig: cluster.kubeconfig,
    binDir: cluster.binDir,
    operatorKubeconfig: kubeconfig,
    operatorLog: operator.logFile,
  };
  const state = join(cluster.dir, 'e2e.json');
  writeFileSync(state, JSON.stringify(files, undefined, 2));
  process.env[STATE_VARIABLE] = state;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
