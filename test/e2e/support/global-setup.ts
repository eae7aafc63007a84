/** Once before all test files: the shared cluster, the chart, and the operator as a process. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openCluster, startCluster } from '../../../hack/cluster/lib/cluster.ts';
import { clusterDirectory } from '../../../hack/cluster/lib/paths.ts';
import { ProcessTable } from '../../../hack/cluster/lib/processes.ts';
import { eventually } from './eventually.ts';
import { type ClusterFiles, installChart, operatorKubeconfig } from './install.ts';
import { OperatorProcess } from './operator-process.ts';
import { shared } from './shared.ts';
import type { BedFiles } from './test-bed.ts';
import { CLUSTER_VARIABLE, STATE_VARIABLE } from './variables.ts';

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
  const cluster = await findCluster(process.env[CLUSTER_VARIABLE]);
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
  await eventually('the operator leads', () => operator.log().some(({ message }) => message === 'leading'), {
    explain: () => `does another one run on this cluster?\n${operator.tail()}`,
  });
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

/** The one that runs there already, of whatever kind, or a new one. */
async function findCluster(given: string | undefined): Promise<ClusterFiles> {
  const dir = clusterDirectory(given);
  if (isForeign()) {
    if (!existsSync(join(dir, 'audit.log'))) {
      throw new Error(
        `the end-to-end tests read what the API server was asked from ${join(dir, 'audit.log')}, and this cluster writes none there: run them without CLUSTER`,
      );
    }
    return { dir, kubeconfig: join(dir, 'kubeconfig'), binDir: join(dir, 'bin') };
  }
  const running = await openCluster(dir);
  if (running) return running;
  shared.startedCluster = await startCluster({ dir, log: say });
  return shared.startedCluster;
}

/** As `make cluster` knows them: kind, or the current context of kubectl. */
function isForeign(): boolean {
  return ['kind', 'current'].includes(process.env['CLUSTER'] ?? '');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
