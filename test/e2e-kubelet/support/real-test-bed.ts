/** A cluster with fake nodes and real ones, with the chart installed as a user would install it. */
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { type Cluster, startCluster } from '../../../hack/cluster/lib/cluster.ts';
import { withLock } from '../../../hack/cluster/lib/lock.ts';
import { clusterDirectory, repositoryRoot } from '../../../hack/cluster/lib/paths.ts';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import { MACHINE_LOCK, type RealNode, startRealNodes } from '../../../hack/kubelet/real-node.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { enforceRestrictedPods, OPERATOR_NAMESPACE } from '../../e2e/support/install.ts';
import { runProgram } from '../../e2e/support/kubectl.ts';
import { NotHere } from '../../e2e/support/not-here.ts';
import { isReady } from '../../e2e/support/status.ts';
import { TestBed } from '../../e2e/support/test-bed.ts';
import { CLUSTER_VARIABLE } from '../../e2e/support/variables.ts';
import { IMAGES_VARIABLE, REASON_VARIABLE } from './variables.ts';

/** Three, so that a replica whose node is emptied has another node to go to. */
export const REAL_NODES = ['real-1', 'real-2', 'real-3'] as const;
export const REAL_LABEL = 'test.haulout.dev/real';
/** As clusters have it: heartbeats of real kubelets come every ten seconds. */
const GRACE_SECONDS = 40;
const HOOK_MS = 300_000;

export class RealTestBed {
  readonly bed: TestBed;
  readonly cluster: Cluster;
  readonly nodes: readonly RealNode[];

  constructor(bed: TestBed, cluster: Cluster, nodes: readonly RealNode[]) {
    this.bed = bed;
    this.cluster = cluster;
    this.nodes = nodes;
  }

  node(name: string | undefined): RealNode {
    const found = this.nodes.find((one) => one.name === name);
    if (!found) throw new Error(`${name} is not a real node`);
    return found;
  }

  /** The operator's, those that are Ready and not about to stop. */
  async operatorPods(): Promise<readonly Pod[]> {
    const pods = await this.bed.api.pods(OPERATOR_NAMESPACE);
    return pods.filter((pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined);
  }

  async leader(): Promise<string> {
    const lease = await this.bed.api.get<{ spec: { holderIdentity?: string } }>(
      `/apis/coordination.k8s.io/v1/namespaces/${OPERATOR_NAMESPACE}/leases/haulout`,
    );
    return lease.spec.holderIdentity ?? '';
  }

  containerLog(pod: Pod, container: string): string {
    const { namespace = '', name, uid } = pod.metadata;
    return this.node(pod.spec.nodeName).containerLog({ namespace, name, uid }, container);
  }

  /** What the pod's process has written, as JSON lines. */
  operatorLog(pod: Pod): readonly { readonly timestamp: string; readonly message: string }[] {
    return this.containerLog(pod, 'haulout')
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => as<{ timestamp: string; message: string }>(JSON.parse(line)));
  }
}

/** Call it at the top of a file; the function that it returns is for tests, and skips them where no real node can be. */
export function realTestBed(name: string): () => RealTestBed {
  let real: RealTestBed | undefined;
  const closing: (() => Promise<unknown> | void)[] = [];
  beforeAll(async () => {
    if (process.env[REASON_VARIABLE] !== undefined) return;
    closing.push(await lockMachine());
    const cluster = await startCluster({
      dir: `${clusterDirectory(process.env[CLUSTER_VARIABLE])}-${name}`,
      nodes: 3,
      madeFor: 'test',
      nodeMonitorGraceSeconds: GRACE_SECONDS,
    });
    closing.push(async () => cluster.stop());
    const nodes = await startRealNodes(cluster, {
      names: REAL_NODES,
      images: as<string[]>(JSON.parse(process.env[IMAGES_VARIABLE] ?? '[]')),
      labels: { [REAL_LABEL]: 'true' },
      log: () => undefined,
    });
    closing.push(...nodes.map((node) => async () => node.stop()));
    const { dir, kubeconfig, binDir } = cluster;
    const bed = new TestBed(name, { dir, kubeconfig, binDir, operatorKubeconfig: kubeconfig }, cluster);
    closing.push(async () => bed.cleanUp());
    await enforceRestrictedPods(bed.kubectl);
    await helmInstall(cluster);
    real = new RealTestBed(bed, cluster, nodes);
  }, HOOK_MS);
  afterEach(() => real?.bed.checkAuditLog());
  afterAll(async () => {
    for (const close of closing.toReversed()) await close();
  }, HOOK_MS);
  return () => {
    const reason = process.env[REASON_VARIABLE];
    if (reason !== undefined) throw new NotHere(`there can be no real node here: ${reason}`);
    if (!real) throw new Error('the real nodes have not been started');
    return real;
  };
}

/** With no value set: what README and NOTES tell. */
async function helmInstall(cluster: Cluster): Promise<void> {
  const { code, stderr } = await runProgram(join(cluster.binDir, 'helm'), [
    'upgrade',
    '--install',
    'haulout',
    join(repositoryRoot, 'charts', 'haulout'),
    `--namespace=${OPERATOR_NAMESPACE}`,
    '--create-namespace',
    `--kubeconfig=${cluster.kubeconfig}`,
  ]);
  if (code !== 0) throw new Error(`helm upgrade --install: exit code ${code}: ${stderr.trim()}`);
}

/** Held until the function that it resolves to is called. */
async function lockMachine(): Promise<() => void> {
  const released = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  withLock(
    MACHINE_LOCK,
    () => process.stderr.write('waiting for another run with real nodes on this machine\n'),
    async () => {
      held.resolve();
      await released.promise;
    },
  ).catch(held.reject);
  await held.promise;
  return released.resolve;
}
