/** Once before all test files: the shared cluster, the chart, and the operator as a process. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openCluster, startCluster } from '../../../hack/cluster/lib/cluster.ts';
import { openForeign } from '../../../hack/cluster/lib/foreign.ts';
import { moveIn, moveOut } from '../../../hack/cluster/lib/guest.ts';
import { clusterDirectory } from '../../../hack/cluster/lib/paths.ts';
import { ProcessTable } from '../../../hack/cluster/lib/processes.ts';
import {
  CLUSTER_TOOLS,
  ensureTools,
  GITOPS_TOOLS,
  MONITORING_TOOLS,
  VOLUME_TOOLS,
} from '../../../hack/cluster/lib/tools.ts';
import { type ClusterKind, clusterKind } from '../../../hack/cluster/lib/which-cluster.ts';
import { monitoringCrds } from '../../../hack/monitoring-schemas.ts';
import { eventually } from './eventually.ts';
import { gitopsCrds } from './gitops.ts';
import { type BedFiles, type ClusterFiles, installChart, operatorKubeconfig } from './install.ts';
import { OperatorProcess } from './operator-process.ts';
import { forgetUse } from './rbac.ts';
import { shared } from './shared.ts';
import { CLUSTER_VARIABLE, STATE_VARIABLE } from './variables.ts';

const NAME = 'operator-shared';
/** All nodes: tests run side by side. */
const LIMIT = '100%';

export default async function setUp(): Promise<void> {
  try {
    await start();
  } catch (error) {
    // jest tears down only what has been set up.
    await shared.operator?.kill();
    await shared.moveOut?.();
    await shared.startedCluster?.stop();
    throw error;
  }
}

async function start(): Promise<void> {
  const kind = clusterKind();
  await ensureTools([...VOLUME_TOOLS, ...GITOPS_TOOLS, ...MONITORING_TOOLS], say); // no file's hook has the time to build them
  await ensureTools(['helm3'], say);
  monitoringCrds(); // so that the modules are there
  gitopsCrds();
  const cluster = await findCluster(kind, process.env[CLUSTER_VARIABLE]);
  // What an earlier run has left behind when it was killed.
  await new ProcessTable(cluster.dir).stop(NAME);
  await installChart(cluster);
  const kubeconfig = await operatorKubeconfig(cluster);
  const operator = new OperatorProcess({
    dir: cluster.dir,
    name: NAME,
    kubeconfig,
    flags: [`--max-unavailable-nodes=${LIMIT}`],
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
    nodesLimit: LIMIT,
    ...(kind === 'own' ? { auditLog: join(cluster.dir, 'audit.log') } : {}),
  };
  const state = join(cluster.dir, 'e2e.json');
  writeFileSync(state, JSON.stringify(files, undefined, 2));
  process.env[STATE_VARIABLE] = state;
  forgetUse(state);
  if (kind === 'own') shared.rules = { state, helm: join(cluster.binDir, 'helm') };
}

/** The one that runs there already, of whatever kind, or a new one. */
async function findCluster(kind: ClusterKind, given: string | undefined): Promise<ClusterFiles> {
  const dir = clusterDirectory(given);
  if (kind !== 'own') return moveInto(kind, dir);
  const running = await openCluster(dir);
  if (running) return running;
  shared.startedCluster = await startCluster({ dir, log: say });
  return shared.startedCluster;
}

async function moveInto(kind: Exclude<ClusterKind, 'own'>, dir: string): Promise<ClusterFiles> {
  await moveOut(dir, say);
  const cluster = await openForeign(kind, dir, say);
  shared.moveOut = async () => moveOut(dir, say);
  await moveIn(cluster, { purpose: 'test', log: say });
  say('This cluster has no audit log: tests that ask it count as skipped.');
  await ensureTools(CLUSTER_TOOLS, say); // some files start a control plane of their own
  return cluster;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
