/** The chart as a release of real helm, and what a kubelet would do for the Job that runs before it is uninstalled. */
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { repositoryRoot } from '../../../hack/cluster/lib/paths.ts';
import { toolPath } from '../../../hack/cluster/lib/tools.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { eventually } from './eventually.ts';
import { OPERATOR_NAMESPACE, operatorKubeconfig } from './install.ts';
import { type Output, type RunOptions, runProgram } from './kubectl.ts';
import type { OperatorProcess } from './operator-process.ts';
import type { TestBed } from './test-bed.ts';

export const CHART = join(repositoryRoot, 'charts', 'haulout');
export const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodemaintenances.haulout.dev';
export const DEPLOYMENT = `/apis/apps/v1/namespaces/${OPERATOR_NAMESPACE}/deployments/haulout`;

export interface Scaled {
  readonly spec: { readonly replicas: number };
}

export class Helm {
  readonly #bed: TestBed;
  readonly #program: string;

  constructor(bed: TestBed, version: 'helm' | 'helm3') {
    this.#bed = bed;
    this.#program = toolPath(version);
  }

  async try(args: readonly string[], options: RunOptions = {}): Promise<Output> {
    const common = [`--namespace=${OPERATOR_NAMESPACE}`, `--kubeconfig=${this.#bed.files.kubeconfig}`];
    return runProgram(this.#program, [...args, ...common], options);
  }

  /** Standard output; throws with what helm said when it fails. */
  async run(args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.try(args, options);
    if (code !== 0) throw new Error(`helm ${args.join(' ')}: exit code ${code}: ${stdout}${stderr}`);
    return stdout;
  }

  /** `helm upgrade --install --wait`, and a kubeconfig of the ServiceAccount, which may be a new one. */
  async install(values: object = {}, chart = CHART, flags: readonly string[] = []): Promise<void> {
    const args = ['--install', '--wait', '--timeout=90s', '--create-namespace', '--reset-values', ...flags];
    const stdin = JSON.stringify(values);
    await this.run(['upgrade', 'haulout', chart, ...args, '--values=-'], { stdin });
    await operatorKubeconfig(this.#bed.files);
  }

  /** `helm uninstall`, with the Job's container run as a process. Resolves to what both said. */
  async uninstall(): Promise<{ readonly helm: Output; readonly job: Output }> {
    const helm = this.try(['uninstall', 'haulout', '--wait', '--timeout=60s']);
    const [said, job] = await Promise.all([helm, playReleaseJob(this.#bed)]);
    return { helm: said, job };
  }
}

/**
 * What a kubelet does: runs the container of the Job's pod with its arguments, its environment and a token of its
 * ServiceAccount, and says how it ended. With the image it is tried on real kubelets (test/e2e-kubelet).
 */
async function playReleaseJob(bed: TestBed): Promise<Output> {
  const pod = await eventually('the pod of the Job runs', async () => {
    const pods = await bed.api.pods(OPERATOR_NAMESPACE);
    return pods.find(
      ({ metadata, status }) =>
        metadata.labels?.['app.kubernetes.io/name'] === 'haulout-release' && status?.phase === 'Running',
    );
  });
  const [container] = (pod as Pod & { spec: { containers: { args: string[] }[] } }).spec.containers;
  const args = (container?.args ?? []).map((arg) => arg.replace('$(POD_NAMESPACE)', OPERATOR_NAMESPACE));
  const output = await runProgram(join(repositoryRoot, 'bin', 'haulout'), args, {
    env: { KUBECONFIG: bed.files.operatorKubeconfig, POD_NAMESPACE: OPERATOR_NAMESPACE },
  });
  const path = `/api/v1/namespaces/${OPERATOR_NAMESPACE}/pods/${pod.metadata.name}/status`;
  await bed.api.mergePatch(path, { status: { phase: output.code === 0 ? 'Succeeded' : 'Failed' } });
  return output;
}

/** The process that stands for the pods of the Deployment: it ends with them. */
export function startStandIn(bed: TestBed, name: string): Promise<OperatorProcess> {
  return bed.startOperator({ name, flags: ['--max-unavailable-nodes=100%'] });
}

export async function stopsWithDeployment(bed: TestBed, operator: OperatorProcess): Promise<void> {
  await bed.eventually('the Deployment is scaled to nothing', async () => {
    const deployment = await bed.api.find<Scaled>(DEPLOYMENT);
    return deployment?.spec.replicas === 0;
  });
  expect(await operator.stop()).toEqual({ code: 0, signal: null });
}

/** A copy of the chart as an older version could have been: without a field of the CRD. Returns its directory. */
export function olderChart(): string {
  const directory = join(mkdtempSync(join(tmpdir(), 'haulout-chart-')), 'haulout');
  cpSync(CHART, directory, { recursive: true });
  edit(join(directory, 'Chart.yaml'), /^(version|appVersion): .*$/gm, '$1: 0.0.9');
  edit(join(directory, 'templates', 'crd.yaml'), /^ {16}suspend:\n(?: {18}.*\n)+/m, '');
  return directory;
}

function edit(file: string, what: RegExp, by: string): void {
  const text = readFileSync(file, 'utf8');
  const edited = text.replace(what, by);
  if (edited === text) throw new Error(`${file} has nothing like ${what.source}`);
  writeFileSync(file, edited);
}
