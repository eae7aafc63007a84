/** Row 6: ten nodes that cannot be emptied; none of them may keep the others waiting. */
import type { AuditEntry } from '../../../test/e2e/support/audit.ts';
import { withUnit } from '../goals.ts';
import { kubectlDrain } from '../kubectl-drain.ts';
import { type Contestant, countRequests, evictionFigures, evictionsOf } from '../requests.ts';
import { observe, type Play, type Row } from '../row.ts';
import { targets } from '../stage.ts';

const NODES = 10;
const NAMESPACE = 'blocked-nodes';

export async function blockedNodes({ stage, signal, log }: Play): Promise<Row> {
  const nodes = targets(NODES);
  await stage.operate('--max-unavailable-nodes=100%');
  const limits = { minAvailable: 1 };
  const pods = nodes.map((node) => ({ name: node, node, replicas: 1, budget: limits }));
  await stage.place(NAMESPACE, ...pods);
  log('10 blocked nodes: haulout');
  const { entries, operator, machine } = await observe(stage, async (mark) => {
    await stage.maintain(nodes);
    await stage.recorded(
      'haulout has tried all nodes',
      mark,
      (seen) => tried(seen, 'haulout').size === NODES,
    );
  });
  const begun = Math.min(
    ...entries.filter(isCreation).map((entry) => Date.parse(entry.requestReceivedTimestamp)),
  );
  const last = (Math.max(...tried(entries, 'haulout').values()) - begun) / 1000;
  await stage.clear();
  log('10 blocked nodes: kubectl drain');
  const mark = stage.audit.mark();
  const kubectl = kubectlDrain(stage, nodes, signal);
  // It would not end. When it asks for the same pod again, it is clear that it does not go on to the next one.
  await stage.recorded('kubectl comes back to the same node', mark, (seen) =>
    repeats(evictionsOf(seen, 'kubectl').map(({ pod }) => pod)),
  );
  await kubectl.stop();
  const theirs = stage.audit.entries().slice(mark);
  await stage.clear(NAMESPACE);
  return {
    work: '10 nodes all blocked: until the last one has been tried',
    kubectl: `never: waits at the first node (${tried(theirs, 'kubectl').size} of ${NODES} tried when it asks again)`,
    haulout: withUnit(last, 's'),
    goals: [{ what: 'blocked nodes, the last one tried', value: last, unit: 's', limit: 3, under: true }],
    traffic: [
      {
        who: 'haulout',
        requests: countRequests(entries, 'haulout'),
        evictions: evictionFigures(entries, 'haulout', 1000),
      },
    ],
    operator,
    machine,
  };
}

/** Pod (there is one for each node) to the time of its first eviction request. */
function tried(entries: readonly AuditEntry[], who: Contestant): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  for (const { namespace, pod, askedAt } of evictionsOf(entries, who)) {
    if (namespace === NAMESPACE && !first.has(pod)) first.set(pod, askedAt);
  }
  return first;
}

function isCreation({ verb, objectRef }: AuditEntry): boolean {
  return verb === 'create' && objectRef?.resource === 'nodemaintenances';
}

function repeats(values: readonly string[]): boolean {
  return new Set(values).size < values.length;
}
