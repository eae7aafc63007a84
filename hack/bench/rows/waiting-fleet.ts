/**
 * Row 7: what it costs to wait. 1,000 pods on 20 nodes under 20 budgets of which none can let anybody go: of each
 * workload one pod on another node does not start (its image cannot be pulled, say), so that the others are all needed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { barePod } from '../../../test/e2e/support/builders.ts';
import { kubectlDrain } from '../kubectl-drain.ts';
import { cpuSeconds } from '../proc.ts';
import { type Contestant, countRequests, evictionFigures, evictionsOf, type Requests } from '../requests.ts';
import { observe, type Play, type Row } from '../row.ts';
import { spares, type Stage, targets } from '../stage.ts';

const NODES = 20;
const PODS_PER_NODE = 50;
const NAMESPACE = 'waiting-fleet';
/** What a drain has to do in the beginning is not what waiting costs. */
const SETTLE_MS = 60_000;
const OURS_MS = 120_000;
const THEIRS_MS = 30_000;
const NOT_SOON = '3600s';

interface Cost {
  readonly cpuPercent: number;
  readonly requestsPerSecond: number;
}

export async function waitingFleet({ stage, signal, log }: Play): Promise<Row> {
  const nodes = targets(NODES);
  await stage.operate('--max-unavailable-nodes=100%');
  await placeFleet(stage, nodes);
  log('20 budgets refuse 1,000 pods: haulout, for three minutes');
  const begun = stage.audit.mark();
  await stage.maintain(nodes);
  await stage.recorded('haulout was refused by all budgets', begun, (seen) => refusedNodes(seen) === NODES);
  await sleep(SETTLE_MS, undefined, { signal });
  let seconds = Number.NaN;
  const { entries, operator, machine } = await observe(stage, async () => {
    const started = performance.now();
    await sleep(OURS_MS, undefined, { signal });
    seconds = (performance.now() - started) / 1000;
  });
  const ours = countRequests(entries, 'haulout');
  const haulout = costOf(operator.cpuSeconds, ours, seconds);
  await stage.clear();
  log('20 budgets refuse 1,000 pods: kubectl drain, for half a minute');
  const kubectl = await waitByKubectl(stage, nodes, signal);
  await stage.clear(NAMESPACE);
  return {
    work: '1,000 pods of 20 nodes under 20 budgets that all refuse: the price of waiting, after the first minute',
    kubectl: `${text(kubectl.cost)}, for the first node alone`,
    haulout: text(haulout),
    goals: [
      { what: 'waiting, CPU', value: haulout.cpuPercent, unit: '% of a core', limit: 5, under: true },
      {
        what: 'waiting, requests',
        value: haulout.requestsPerSecond,
        unit: 'requests/s',
        limit: 2,
        under: true,
      },
    ],
    traffic: [
      { who: 'haulout', requests: ours, evictions: evictionFigures(entries, 'haulout', 1000) },
      kubectl.traffic,
    ],
    operator,
    machine,
  };
}

/** Each node has a workload with a budget, whose 51st pod is on a spare and is never Ready. */
async function placeFleet(stage: Stage, nodes: readonly string[]): Promise<void> {
  const limits = { minAvailable: PODS_PER_NODE };
  await stage.place(
    NAMESPACE,
    ...nodes.map((node) => ({ name: node, node, replicas: PODS_PER_NODE, budget: limits })),
  );
  const { api } = stage.bed;
  await Promise.all(
    nodes.map(async (node, index) => {
      const sibling = barePod(NAMESPACE, `${node}-sibling`, {
        labels: { app: node },
        nodeSelector: { 'kubernetes.io/hostname': spares[index % spares.length] ?? '' },
        annotations: { 'pod-ready.stage.kwok.x-k8s.io/delay': NOT_SOON },
      });
      return api.create(`/api/v1/namespaces/${NAMESPACE}/pods`, sibling);
    }),
  );
  for (const node of nodes) {
    await stage.bed.eventually(`budget ${node} counts the pod that does not start`, async () => {
      const { status } = await api.budget(NAMESPACE, node);
      return status?.expectedPods === PODS_PER_NODE + 1 && status.currentHealthy === PODS_PER_NODE;
    });
  }
  await stage.quiet();
}

async function waitByKubectl(stage: Stage, nodes: readonly string[], signal: AbortSignal) {
  const begun = stage.audit.mark();
  const drain = kubectlDrain(stage, nodes, signal);
  await stage.recorded(
    'kubectl was refused',
    begun,
    (seen) => evictionsOf(seen, 'kubectl').length >= PODS_PER_NODE,
  );
  const mark = stage.audit.mark();
  const [started, cpuBefore] = [performance.now(), cpuSeconds(drain.pid)];
  await sleep(THEIRS_MS, undefined, { signal });
  const seconds = (performance.now() - started) / 1000;
  const cpu = cpuSeconds(drain.pid) - cpuBefore;
  const entries = stage.audit.entries().slice(mark);
  await drain.stop();
  const requests = countRequests(entries, 'kubectl');
  const evictions = evictionFigures(entries, 'kubectl', 1000);
  const who: Contestant = 'kubectl';
  return { cost: costOf(cpu, requests, seconds), traffic: { who, requests, evictions } };
}

/** All requests, also those that the other rows do not count. */
function costOf(cpu: number, { counted, watches, firstLists, lease }: Requests, seconds: number): Cost {
  return {
    cpuPercent: Math.round((cpu / seconds) * 1000) / 10,
    requestsPerSecond: Math.round(((counted + watches + firstLists + lease) / seconds) * 100) / 100,
  };
}

function refusedNodes(entries: Parameters<typeof evictionsOf>[0]): number {
  const refused = evictionsOf(entries, 'haulout').filter(({ code }) => code === 429);
  // The Deployment's pods are named after it, and it after its node: target-03-5d4f...
  return new Set(refused.map(({ pod }) => pod.split('-', 2).join('-'))).size;
}

const text = ({ cpuPercent, requestsPerSecond }: Cost): string =>
  `${cpuPercent} % of a core, ${requestsPerSecond} requests/s`;
