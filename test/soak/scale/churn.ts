/** Drains and restores without end: what a process keeps of each of them is what it will run out of memory by. */
import { deployment } from '../../e2e/support/builders.ts';
import { createAll } from '../bulk.ts';
import { Heap, INSPECTED } from './heap.ts';
import { numbered } from './manifests.ts';
import { ALL, FAST, PATIENCE_MS, type Play } from './play.ts';
import { rssMb } from '../../../hack/bench/proc.ts';
import { medianSlope, type Pair } from './trend.ts';

export interface ChurnSize {
  /** Drained and put back together; as many others take their pods meanwhile. */
  readonly nodes: number;
  readonly podsPerNode: number;
  readonly rounds: number;
  /** At first: code is compiled, and what is remembered for a limited time fills up. */
  readonly warmUpRounds: number;
}

export interface ChurnRound {
  readonly maintenances: number;
  readonly evictions: number;
  /** After a full garbage collection. */
  readonly heapBytes: number;
  readonly rssMb: number;
}

export interface ChurnFigures extends ChurnSize {
  readonly rounds: number;
  readonly perRound: readonly ChurnRound[];
  /** The median of the slopes between all pairs of rounds after the first ones. */
  readonly bytesPerMaintenance: number;
}

const NAMESPACE = 'churn';
/** Nodes of other scenes take none of its pods. */
const POOL = { 'scale.haulout.dev/churn': '' };

export async function churn(play: Play, size: ChurnSize): Promise<ChurnFigures> {
  const { fleet, signal, log } = play;
  const names = numbered('churn', size.nodes * 2);
  await fleet.addNodes(names, POOL);
  const { operator } = await fleet.operate([ALL, ...FAST], [INSPECTED]);
  await fleet.bed.namespace(NAMESPACE);
  const pods = size.nodes * size.podsPerNode;
  await createAll(fleet.client, `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`, [
    deployment(NAMESPACE, 'web', { replicas: pods, stopsIn: '1s', nodeSelector: POOL }),
  ]);
  await fleet.podsReady(NAMESPACE, pods, PATIENCE_MS);
  const heap = await Heap.of(operator);
  const perRound: ChurnRound[] = [];
  try {
    for (let round = 1; round <= size.rounds && !signal.aborted; round++) {
      // One half, then the other: pods go to and fro.
      const half = round % 2 === 0 ? names.slice(size.nodes) : names.slice(0, size.nodes);
      await fleet.maintain(half);
      await fleet.drained(half, PATIENCE_MS);
      await fleet.bed.checkInvariants({ timeoutMs: PATIENCE_MS });
      await fleet.endMaintenances(half, PATIENCE_MS);
      await fleet.podsReady(NAMESPACE, pods, PATIENCE_MS);
      await fleet.bed.checkInvariants({ timeoutMs: PATIENCE_MS });
      fleet.bed.forgetAuditLog();
      const evictions = fleet.traffic.evictionsSince(0).length;
      fleet.traffic.forget();
      const heapBytes = await heap.usedAfterCollection();
      perRound.push({ maintenances: round * size.nodes, evictions, heapBytes, rssMb: rssMb(operator.pid) });
      log(
        `round ${round}: ${(heapBytes / 1e6).toFixed(2)} MB of heap, ${rssMb(operator.pid).toFixed(0)} MB in all`,
      );
    }
  } finally {
    heap.close();
  }
  return {
    ...size,
    rounds: perRound.length,
    perRound,
    bytesPerMaintenance: growth(perRound, size.warmUpRounds),
  };
}

export function growth(rounds: readonly ChurnRound[], warmUpRounds: number): number {
  return medianSlope(
    rounds.slice(warmUpRounds).map(({ maintenances, heapBytes }): Pair => [maintenances, heapBytes]),
  );
}
