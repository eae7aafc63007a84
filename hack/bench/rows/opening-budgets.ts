/** Row 5: how soon after a budget opens the eviction that it held up is accepted. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEntry } from '../../../test/e2e/support/audit.ts';
import { seconds } from '../goals.ts';
import { kubectlDrain } from '../kubectl-drain.ts';
import { type Contestant, countRequests, evictionFigures, evictionsOf, spread } from '../requests.ts';
import { observe, type Play, type Row } from '../row.ts';
import { type Stage, target } from '../stage.ts';

const SAMPLES = 10;
/** kubectl asks again every 5 s: evenly spread over that time, the openings meet every moment of its pause once. */
const BETWEEN_MS = 500;
const NAMESPACES = { haulout: 'opening-ours', kubectl: 'opening-theirs' } as const;

interface Sample {
  /** Seconds from the API server's answer to the edit, the disruption controller's work included. */
  readonly sinceEdit: number;
  /** Seconds from the disruption controller's write that lets the pod go. */
  readonly sinceOpen: number;
}

export async function openingBudgets({ stage, signal, log }: Play): Promise<Row> {
  const [ours, theirs] = [target(5), target(6)];
  await stage.operate();
  for (const [namespace, node] of [
    [NAMESPACES.haulout, ours],
    [NAMESPACES.kubectl, theirs],
  ] as const) {
    const names = Array.from({ length: SAMPLES }, (_, index) => budgetName(index));
    const limits = { minAvailable: 1 };
    await stage.place(namespace, ...names.map((name) => ({ name, node, replicas: 1, budget: limits })));
  }
  log('10 budgets open one after another: haulout and kubectl drain at the same time');
  const { entries, operator, machine } = await observe(stage, async (mark) => {
    const kubectl = kubectlDrain(stage, [theirs], signal);
    await stage.maintain([ours]);
    for (const who of ['haulout', 'kubectl'] as const) {
      await stage.recorded(`${who} has tried all pods`, mark, (seen) => {
        const refused = evictionsOf(seen, who).filter(({ code }) => code === 429);
        return new Set(refused.map(({ pod }) => pod)).size === SAMPLES;
      });
    }
    for (let index = 0; index < SAMPLES; index++) {
      await open(stage, index);
      await sleep(BETWEEN_MS, undefined, { signal });
    }
    await Promise.all([stage.drained([ours]), kubectl.ended]);
  });
  const haulout = samplesOf(entries, 'haulout');
  const kubectl = samplesOf(entries, 'kubectl');
  await stage.clear(...Object.values(NAMESPACES));
  const worst = spread(haulout.map(({ sinceEdit }) => sinceEdit)).most;
  return {
    work: 'a budget opens: until the eviction is accepted',
    kubectl: text(kubectl),
    haulout: text(haulout),
    goals: [{ what: 'opening budget, longest wait', value: worst, unit: 's', limit: 1, under: true }],
    traffic: (['haulout', 'kubectl'] as const).map((who) => ({
      who,
      requests: countRequests(entries, who),
      evictions: evictionFigures(entries, who, 1000),
    })),
    operator,
    machine,
    samples: {
      hauloutSinceEdit: haulout.map(({ sinceEdit }) => sinceEdit),
      hauloutSinceOpen: haulout.map(({ sinceOpen }) => sinceOpen),
      kubectlSinceEdit: kubectl.map(({ sinceEdit }) => sinceEdit),
    },
  };
}

const budgetName = (index: number): string => `web-${index}`;

async function open(stage: Stage, index: number): Promise<void> {
  await Promise.all(
    Object.values(NAMESPACES).map(async (namespace) => {
      const path = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/${budgetName(index)}`;
      await stage.bed.api.mergePatch(path, { spec: { minAvailable: 0 } });
    }),
  );
}

/** From the audit log alone, so that both are measured by the same clock and not by whoever waits for them. */
function samplesOf(entries: readonly AuditEntry[], who: Contestant): readonly Sample[] {
  const namespace = NAMESPACES[who];
  const accepted = evictionsOf(entries, who).filter((one) => one.accepted && one.namespace === namespace);
  return Array.from({ length: SAMPLES }, (_, index) => {
    const name = budgetName(index);
    const writes = entries.filter(
      ({ objectRef }) =>
        objectRef?.resource === 'poddisruptionbudgets' &&
        objectRef.namespace === namespace &&
        objectRef.name === name,
    );
    const edited = timeOf(writes.find(({ verb, objectRef }) => verb === 'patch' && !objectRef?.subresource));
    const opened = timeOf(
      writes.find(
        (entry) => entry.objectRef?.subresource === 'status' && timeOf(entry) > edited && isDone(entry),
      ),
    );
    // The Deployment's pods are named after it: web-3-5d4f...
    const eviction = accepted.find(({ pod }) => pod.startsWith(`${name}-`));
    const at = eviction?.answeredAt ?? Number.NaN;
    return { sinceEdit: (at - edited) / 1000, sinceOpen: (at - opened) / 1000 };
  });
}

function timeOf(entry: AuditEntry | undefined): number {
  return Date.parse(entry?.stageTimestamp ?? '');
}

function isDone({ responseStatus }: AuditEntry): boolean {
  return responseStatus?.code === 200;
}

function text(samples: readonly Sample[]): string {
  const { median, most } = spread(samples.map(({ sinceEdit }) => sinceEdit));
  return `median ${seconds(median)} s, at most ${seconds(most)} s`;
}
