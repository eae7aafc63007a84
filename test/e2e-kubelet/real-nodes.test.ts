/** The image, installed with the chart as users install it, on real kubelets: what fake nodes cannot show. */
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { fillFile } from '../../hack/bench/fill.ts';
import { describeMiss, isMet } from '../../hack/bench/goals.ts';
import { idleGoals, idleLines } from '../../hack/bench/idle.ts';
import { thisMachine } from '../../hack/bench/report.ts';
import { MADE_FOR } from '../../hack/cluster/lib/made-for.ts';
import type { NodeMaintenance } from '../../src/api/types.generated.ts';
import type { Pod } from '../../src/kube/types.ts';
import { deployment } from '../e2e/support/builders.ts';
import { Helm } from '../e2e/support/helm.ts';
import { OPERATOR_NAMESPACE } from '../e2e/support/install.ts';
import { isReady, said } from '../e2e/support/status.ts';
import { ended, keepWhenStopped, letGo } from './support/ended-pods.ts';
import { mappedFiles } from './support/figures.ts';
import { idleFigures, pidOf } from './support/idle.ts';
import { REAL_NODES, type RealTestBed, realTestBed } from './support/real-test-bed.ts';
import { Evidence } from './support/workload.ts';

const here = realTestBed('kubelet');
/** The goals are less: a busy machine takes longer, and memory does not depend on that. */
const LIMITS = { residentMb: 125, startSeconds: 10, cpuPercent: 3 };
/** The goals count, and README.md is filled: for a machine that has nothing else to do. */
const isJudged = ['1', 'true', 'yes'].includes(process.env['KUBELET_FILL'] ?? '');

test('the operator runs on two real nodes, and one of them leads', async () => {
  const real = here();
  const pods = await real.bed.eventually('two replicas are Ready', async () => {
    const ready = await real.operatorPods();
    return ready.length === 2 && ready;
  });
  const nodes = pods.map((pod) => pod.spec.nodeName);
  expect(new Set(nodes).size).toBe(2);
  for (const node of nodes) expect(REAL_NODES).toContain(node);
  await real.bed.eventually('one of them leads', async () => {
    const leader = await real.leader();
    return pods.some(({ metadata }) => metadata.name === leader);
  });
});

test('it starts quickly, and costs little while there is nothing to do', async () => {
  const real = here();
  const machine = thisMachine();
  const [second] = await standbyPods(real);
  if (!second) throw new Error('no replica stands by');
  const [leader, standby] = await Promise.all([
    idleFigures(real, await leaderPod(real)),
    idleFigures(real, second),
  ]);
  for (const line of idleLines(machine, leader, standby)) print(line);
  for (const figures of [leader, standby]) {
    expect(figures.inSyncSeconds).toBeLessThan(LIMITS.startSeconds);
    expect(figures.settledMb).toBeLessThan(LIMITS.residentMb);
    expect(figures.cpuPercent).toBeLessThan(LIMITS.cpuPercent);
  }
  if (!isJudged) return;
  print(fillFile('README.md', 'idle', idleLines(machine, leader, standby)));
  const goals = [leader, standby].flatMap(idleGoals);
  expect(goals.filter((goal) => !isMet(goal)).map(describeMiss)).toEqual([]);
});

test('the image has its own allocator', async () => {
  const real = here();
  expect(mappedFiles(pidOf(real, await leaderPod(real)))).toContain('/usr/lib/libjemalloc.so.2');
});

test('it drains a fake node from there', async () => {
  const { bed } = here();
  const ns = 'fake';
  await bed.namespace(ns);
  const before = await bed.snapshot('worker-1');
  await bed.kubectl.apply(
    deployment(ns, 'web', { replicas: 6, nodeSelector: { [MADE_FOR]: 'test' }, stopsIn: '1s' }),
  );
  await allReady(ns, 6);
  await bed.maintain('worker-1');
  await bed.untilSaid('worker-1', 'Drained', 'True/Drained');
  expect((await bed.api.podsOnNode('worker-1')).length).toBe(0);
  await allReady(ns, 6);
  await bed.endMaintenance('worker-1');
  expect(await bed.snapshot('worker-1')).toEqual(before);
});

test('it drains the real node under itself: containers stop in good order, the standby finishes, the node comes back', async () => {
  const real = here();
  const { bed } = real;
  const ns = 'real';
  await bed.namespace(ns);
  const evidence = new Evidence(join(real.cluster.dir, 'evidence'));
  const first = await leaderPod(real);
  const node = first.spec.nodeName ?? '';
  const others = REAL_NODES.filter((one) => one !== node);
  const [standby] = await standbyPods(real);

  await Promise.all(others.map(async (other) => bed.cordon(other)));
  await bed.kubectl.apply(
    evidence.deployment(ns, 'polite', {
      replicas: 2,
      gracePeriodSeconds: 20,
      preStopMs: 2000,
      stopsInMs: 3000,
    }),
    evidence.deployment(ns, 'stubborn', { gracePeriodSeconds: 5 }),
  );
  const workload = await allReady(ns, 3);
  expect(workload.map((pod) => pod.spec.nodeName)).toEqual([node, node, node]);
  await Promise.all(others.map(async (other) => bed.uncordon(other)));
  const before = await bed.snapshot(node);
  await keepWhenStopped(bed, first);

  await bed.maintain(node);
  expect((await ended(bed, first)).exitCode).toBe(0); // by SIGTERM, and in good order
  await letGo(bed, first);
  await bed.untilSaid(node, 'Drained', 'True/Drained');

  for (const pod of workload) {
    const { name } = pod.metadata;
    const [eviction] = bed.audit.accepted(ns).filter((one) => one.pod === name);
    const happened = evidence.of(name);
    const when = (what: string): number => happened.find((one) => one.what === what)?.at ?? Number.NaN;
    const gone = goneAt(real, ns, name);
    if (name.startsWith('polite')) {
      expect(happened.map(({ what }) => what)).toEqual([
        'start',
        'preStop',
        'preStop done',
        'SIGTERM',
        'exit',
      ]);
      expect(when('SIGTERM')).toBeGreaterThanOrEqual(when('preStop done'));
      expect(when('exit') - when('SIGTERM')).toBeGreaterThanOrEqual(2990);
      expect(gone - when('exit')).toBeLessThan(10_000); // and not at the end of its grace period
    } else {
      expect(happened.map(({ what }) => what)).toEqual(['start', 'SIGTERM']);
      expect(gone - when('SIGTERM')).toBeGreaterThanOrEqual(4900); // its grace period, and then SIGKILL
    }
    print(
      `${name}: evicted, and gone after ${((gone - (eviction?.askedAt ?? Number.NaN)) / 1000).toFixed(1)} s`,
    );
  }

  const second = await leaderPod(real);
  expect(second.metadata.uid).toBe(standby?.metadata.uid);
  const own = bed.audit.accepted(OPERATOR_NAMESPACE);
  expect(own.map(({ uid }) => uid)).toEqual([first.metadata.uid]); // the last one of the node, and only once
  expect(own[0]?.askedAt).toBeGreaterThan(Math.max(...bed.audit.accepted(ns).map(({ askedAt }) => askedAt)));
  expect(real.operatorLog(second).map(({ message }) => message)).toContain('eviction accepted');
  const pods = await bed.eventually('there are two replicas again', async () => {
    const ready = await real.operatorPods();
    return ready.length === 2 && ready;
  });
  expect(new Set(pods.map((pod) => pod.spec.nodeName))).toEqual(new Set(others));

  await bed.endMaintenance(node);
  expect(await bed.snapshot(node)).toEqual(before);
  await Promise.all(others.map(async (other) => bed.cordon(other)));
  await bed.kubectl.run(['scale', 'deployment/polite', `--namespace=${ns}`, '--replicas=3']);
  await bed.eventually('a pod runs on the node again', async () =>
    (await bed.api.podsOnNode(node)).some((pod) => pod.metadata.namespace === ns && isReady(pod)),
  );
  await Promise.all(others.map(async (other) => bed.uncordon(other)));
});

test('uninstalled while nodes are in maintenance, it puts them back from a pod of its own; installed again, it takes them up', async () => {
  const real = here();
  const { bed } = real;
  const helm = new Helm(bed, 'helm');
  const values = { maxUnavailableNodes: '100%' };
  await helm.install(values);
  const leader = await bed.eventually('one of the new replicas leads', async () => leaderPod(real));
  const nodes = ['worker-2', leader.spec.nodeName ?? ''];
  const before = await Promise.all(nodes.map(async (node) => bed.snapshot(node)));
  const drained = async () =>
    Promise.all(nodes.map(async (node) => bed.untilSaid(node, 'Ready', 'True/Drained')));
  await Promise.all(nodes.map(async (node) => bed.maintain(node)));
  const held = await drained();

  const [, job] = await Promise.all([
    helm.run(['uninstall', 'haulout', '--wait', '--timeout=120s']),
    releaseJob(real),
  ]);
  expect(job.exitCode).toBe(0);
  expect(nodes).not.toContain(job.pod.spec.nodeName);
  for (const node of nodes) {
    expect(job.log).toContain(`node ${node} is as it was before`);
    expect(job.log).toContain(`maintenance ${node} is released`);
  }
  expect(job.log).toContain('nothing of haulout is left on the nodes');
  expect(await Promise.all(nodes.map(async (node) => bed.snapshot(node)))).toEqual(before);
  const released = await Promise.all(nodes.map(async (node) => bed.maintenance(node)));
  for (const one of released)
    expect([one.metadata.finalizers, said(one, 'Ready')]).toEqual([undefined, 'False/Released']);
  const kinds = 'deployments,jobs,pods,roles,rolebindings,poddisruptionbudgets';
  await bed.eventually('nothing of the release is left in its namespace', async () => {
    expect(await bed.kubectl.run(['get', kinds, `--namespace=${OPERATOR_NAMESPACE}`, '--output=name'])).toBe(
      '',
    );
    return true;
  });

  await helm.install(values);
  expect((await drained()).map(uidOf)).toEqual(held.map(uidOf));
  for (const node of nodes) await bed.endMaintenance(node);
  expect(await Promise.all(nodes.map(async (node) => bed.snapshot(node)))).toEqual(before);
});

test('uninstalled while every node is in maintenance, the pod that puts them back is let be where it has to run', async () => {
  const { bed } = here();
  const helm = new Helm(bed, 'helm');
  const before = await Promise.all(REAL_NODES.map(async (node) => bed.snapshot(node)));
  await Promise.all(REAL_NODES.map(async (node) => bed.maintain(node)));
  for (const node of REAL_NODES) await bed.untilSaid(node, 'Cordoned', 'True/Cordoned');
  await helm.run(['uninstall', 'haulout', '--wait', '--timeout=120s']);
  expect(await Promise.all(REAL_NODES.map(async (node) => bed.snapshot(node)))).toEqual(before);
});

const uidOf = ({ metadata }: NodeMaintenance) => metadata.uid;

/** The pod of the Job before the uninstallation: it goes with the Job as soon as that has succeeded. */
async function releaseJob(real: RealTestBed): Promise<{ pod: Pod; exitCode: number; log: string }> {
  const { bed } = real;
  const pod = await bed.eventually('the pod of the Job has a node', async () => {
    const pods = await bed.api.pods(OPERATOR_NAMESPACE);
    return pods.find(
      ({ metadata, spec }) =>
        metadata.labels?.['app.kubernetes.io/name'] === 'haulout-release' && spec.nodeName !== undefined,
    );
  });
  await keepWhenStopped(bed, pod);
  const { exitCode } = await ended(bed, pod);
  const log = real.containerLog(pod, 'release-all');
  await letGo(bed, pod);
  return { pod, exitCode, log };
}

async function allReady(ns: string, count: number): Promise<readonly Pod[]> {
  const { bed } = here();
  return bed.eventually(`${count} pods are Ready in ${ns}`, async () => {
    const pods = (await bed.api.pods(ns)).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return pods.length === count && pods.every((pod) => isReady(pod)) && pods;
  });
}

async function leaderPod(real: RealTestBed): Promise<Pod> {
  const leader = await real.leader();
  const pod = (await real.operatorPods()).find(({ metadata }) => metadata.name === leader);
  if (!pod) throw new Error(`${leader} leads and is no pod that is Ready`);
  return pod;
}

async function standbyPods(real: RealTestBed): Promise<readonly Pod[]> {
  const leader = await real.leader();
  return (await real.operatorPods()).filter(({ metadata }) => metadata.name !== leader);
}

/** When its kubelet has taken the object away: all of its containers have stopped. */
function goneAt({ bed }: RealTestBed, ns: string, name: string): number {
  const deletions = bed.audit.entries({
    verb: 'delete',
    resource: 'pods',
    subresource: '',
    namespace: ns,
    name,
  });
  const last = deletions.findLast((entry) => entry.userAgent?.startsWith('kubelet/') ?? false);
  return Date.parse(last?.stageTimestamp ?? '');
}

function print(line: string): void {
  process.stdout.write(`  ${line}\n`);
}
