/** Row 3: a node with as many pods as it can have, which all want to leave at once. */
import { withUnit } from '../goals.ts';
import { kubectlDrain } from '../kubectl-drain.ts';
import { PodWatch } from '../pod-watch.ts';
import { type Contestant, countRequests, evictionFigures } from '../requests.ts';
import { observe, type Play, type Row, type Traffic } from '../row.ts';
import { type Stage, target } from '../stage.ts';
import type { AuditEntry } from '../../../test/e2e/support/audit.ts';

const PODS = 250;
const STOPS_IN_S = 5;
const NAMESPACE = 'full-node';
const TIMEOUT_MS = 300_000;

const full = (name: string, node: string) => ({
  name,
  node,
  replicas: PODS,
  stopsIn: `${STOPS_IN_S}s`,
});

export async function fullNode({ stage, signal, log }: Play): Promise<Row> {
  const [ours, theirs] = [target(7), target(8)];
  await stage.operate();
  await stage.place(NAMESPACE, full('ours', ours), full('theirs', theirs));
  log('250 pods: haulout');
  const { result, entries, operator, machine } = await observe(stage, async () =>
    emptied(stage, ours, async () => {
      await stage.maintain([ours]);
      await stage.drained([ours]);
    }),
  );
  log('250 pods: kubectl drain');
  const mark = stage.audit.mark();
  const kubectl = await emptied(stage, theirs, async () => kubectlDrain(stage, [theirs], signal).ended);
  const traffic = [trafficOf(entries, 'haulout'), trafficOf(stage.audit.entries().slice(mark), 'kubectl')];
  await stage.clear(NAMESPACE);
  return {
    work: '1 node, 250 pods that take 5 s: until it is empty',
    kubectl: withUnit(kubectl.empty, 's'),
    haulout: withUnit(result.empty, 's'),
    goals: [{ what: '250 pods, node empty', value: result.empty, unit: 's', limit: 7 }],
    traffic,
    operator,
    machine,
    samples: { hauloutDrained: [result.ended], kubectlEnded: [kubectl.ended] },
  };
}

/** Seconds from the beginning of the drain until the watch shows no pod on the node any more, and until its end. */
async function emptied(stage: Stage, node: string, drain: () => Promise<unknown>) {
  const watch = new PodWatch(stage.cluster, node);
  try {
    await watch.until(`${PODS} pods on ${node}`, () => watch.countOn(node) === PODS, TIMEOUT_MS);
    const started = performance.now();
    const since = (): number => (performance.now() - started) / 1000;
    const [empty, ended] = await Promise.all([
      watch.until(`no pods on ${node}`, () => watch.countOn(node) === 0, TIMEOUT_MS).then(since),
      drain().then(since),
    ]);
    return { empty, ended };
  } finally {
    await watch.close();
  }
}

function trafficOf(entries: readonly AuditEntry[], who: Contestant): Traffic {
  return {
    who,
    requests: countRequests(entries, who),
    evictions: evictionFigures(entries, who, STOPS_IN_S * 1000),
  };
}
