/** Rows 1 and 2: nodes full of pods that take 10 s to stop, and nothing in the way. */
import { withUnit } from '../goals.ts';
import { kubectlDrain } from '../kubectl-drain.ts';
import { type Contestant, countRequests, evictionFigures } from '../requests.ts';
import { observe, type Play, type Row, type Traffic } from '../row.ts';
import { type Placed, type Stage, target, targets } from '../stage.ts';
import type { AuditEntry } from '../../../test/e2e/support/audit.ts';

const STOPS_IN_S = 10;

interface Measured {
  readonly seconds: number;
  readonly traffic: Traffic;
}

const fifty = (name: string, node: string): Placed => ({
  name,
  node,
  replicas: 50,
  stopsIn: `${STOPS_IN_S}s`,
});

export async function oneNode({ stage, signal, log }: Play): Promise<Row> {
  const [ours, theirs] = [target(1), target(2)];
  const namespace = 'fifty-pods';
  await stage.operate();
  await stage.place(namespace, fifty('ours', ours), fifty('theirs', theirs));
  log('50 pods: haulout');
  const { measured, operator, machine } = await haulout(stage, [ours]);
  log('50 pods: kubectl drain');
  const kubectl = await drainByKubectl(stage, [theirs], signal);
  await stage.clear(namespace);
  return {
    work: '1 node, 50 pods that take 10 s',
    kubectl: figures(kubectl),
    haulout: figures(measured),
    goals: goals('50 pods', measured, 11, 70),
    traffic: [measured.traffic, kubectl.traffic],
    operator,
    machine,
  };
}

export async function manyNodes({ stage, signal, quick, log }: Play): Promise<Row> {
  const nodes = targets(20);
  const pods = nodes.map((node) => ({ name: node, node, replicas: 20, stopsIn: `${STOPS_IN_S}s` }));
  await stage.operate('--max-unavailable-nodes=100%');
  await stage.place('full-nodes', ...pods);
  log('20 nodes: haulout');
  const { measured, operator, machine } = await haulout(stage, nodes);
  await stage.clear('full-nodes');
  let kubectl: Measured | undefined;
  if (!quick) {
    await stage.place('full-nodes-again', ...pods);
    log('20 nodes: kubectl drain, which takes about five minutes');
    kubectl = await drainByKubectl(stage, nodes, signal);
    await stage.clear('full-nodes-again');
  }
  return {
    work: '20 nodes with 20 pods each that take 10 s, all at once',
    kubectl: kubectl ? figures(kubectl) : 'left out of this run',
    haulout: figures(measured),
    goals: goals('20 nodes', measured, 14, 800),
    traffic: kubectl ? [measured.traffic, kubectl.traffic] : [measured.traffic],
    operator,
    machine,
  };
}

/** From the creation of the objects until all of them are seen Ready. */
async function haulout(stage: Stage, nodes: readonly string[]) {
  const { result, entries, operator, machine } = await observe(stage, async () => {
    const started = performance.now();
    await stage.maintain(nodes);
    await stage.drained(nodes);
    return (performance.now() - started) / 1000;
  });
  return { measured: { seconds: result, traffic: trafficOf(entries, 'haulout') }, operator, machine };
}

async function drainByKubectl(
  stage: Stage,
  nodes: readonly string[],
  signal: AbortSignal,
): Promise<Measured> {
  const mark = stage.audit.mark();
  const seconds = await kubectlDrain(stage, nodes, signal).ended;
  return { seconds, traffic: trafficOf(stage.audit.entries().slice(mark), 'kubectl') };
}

function trafficOf(entries: readonly AuditEntry[], who: Contestant): Traffic {
  const evictions = evictionFigures(entries, who, STOPS_IN_S * 1000);
  return { who, requests: countRequests(entries, who), evictions };
}

function figures({ seconds, traffic }: Measured): string {
  return `${withUnit(seconds, 's')}, ${withUnit(traffic.requests.counted, 'requests')}`;
}

function goals(what: string, { seconds, traffic }: Measured, limitSeconds: number, limitRequests: number) {
  return [
    { what: `${what}, wall clock`, value: seconds, unit: 's', limit: limitSeconds },
    { what: `${what}, requests`, value: traffic.requests.counted, unit: 'requests', limit: limitRequests },
  ];
}
