/** Row 4: ten pods under one budget that refuses all of them for a minute and then lets all of them go. */
import { setTimeout as sleep } from 'node:timers/promises';
import { kubectlDrain } from '../kubectl-drain.ts';
import { type Contestant, countRequests, evictionFigures, evictionsOf } from '../requests.ts';
import { observe, type Play, type Row } from '../row.ts';
import { target } from '../stage.ts';

const PODS = 10;
const CLOSED_MS = 60_000;

export async function closedBudget({ stage, signal, log }: Play): Promise<Row> {
  const [ours, theirs] = [target(3), target(4)];
  const namespaces = { haulout: 'closed-ours', kubectl: 'closed-theirs' };
  const limits = { minAvailable: PODS };
  await stage.operate();
  await stage.place(namespaces.haulout, { name: 'web', node: ours, replicas: PODS, budget: limits });
  await stage.place(namespaces.kubectl, { name: 'web', node: theirs, replicas: PODS, budget: limits });
  log('a budget refuses for 60 s: haulout and kubectl drain, each on a node of its own, at the same time');
  const { entries, operator, machine } = await observe(stage, async (mark) => {
    const kubectl = kubectlDrain(stage, [theirs], signal);
    await stage.maintain([ours]);
    for (const who of ['haulout', 'kubectl'] as const) {
      await stage.recorded(`${who} was refused`, mark, (seen) =>
        evictionsOf(seen, who).some(({ code }) => code === 429),
      );
    }
    // The one wait for a time and not for a condition: it is what the row is about.
    await sleep(CLOSED_MS, undefined, { signal });
    await Promise.all(
      Object.values(namespaces).map(async (namespace) =>
        stage.bed.api.mergePatch(`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/web`, {
          spec: { minAvailable: 0 },
        }),
      ),
    );
    await Promise.all([stage.drained([ours]), kubectl.ended]);
  });
  const traffic = (who: Contestant) => ({
    who,
    requests: countRequests(entries, who),
    evictions: evictionFigures(entries, who, 1000),
  });
  const [haulout, kubectl] = [traffic('haulout'), traffic('kubectl')];
  await stage.clear(...Object.values(namespaces));
  const text = ({ evictions: { mostPerPod, refused } }: typeof haulout): string =>
    `${mostPerPod} attempts per pod, ${refused} refused in all`;
  const { mostPerPod, refused } = haulout.evictions;
  return {
    work: '10 pods under one budget that refuses for 60 s, then opens',
    kubectl: text(kubectl),
    haulout: text(haulout),
    goals: [
      { what: 'closed budget, attempts per pod', value: mostPerPod, unit: 'per pod', limit: 2 },
      { what: 'closed budget, probes', value: refused, unit: 'probes in all', limit: 4 },
    ],
    traffic: [haulout, kubectl],
    operator,
    machine,
  };
}
