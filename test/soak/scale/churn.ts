/** Drains and restores without end: what a process keeps of each of them is what it will run out of memory by. */
import { rssMb } from '../../../hack/bench/proc.ts';
import { unlessAborted } from '../../../hack/cluster/lib/unless-aborted.ts';
import { deployment } from '../../e2e/support/builders.ts';
import { createAll } from '../bulk.ts';
import type { Fleet } from './fleet.ts';
import { Heap, INSPECTED } from './heap.ts';
import { numbered } from './manifests.ts';
import { ALL, FAST, PATIENCE_MS, type Play } from './play.ts';
import { medianSlope, type Pair } from './trend.ts';
import { arrive, depart, departed, installDriver, letGo } from './visit.ts';

export interface ChurnSize {
  /** Drained and put back together; as many others take their pods meanwhile. At least 3. */
  readonly nodes: number;
  readonly podsPerNode: number;
  readonly rounds: number;
  /** At first: code is compiled, and what is remembered for a limited time fills up. */
  readonly warmUpRounds: number;
  /** Of Node.js, beside those of the image. */
  readonly nodeFlags?: readonly string[];
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
  /** How many were meant, where it was interrupted. */
  readonly plannedRounds?: number;
  readonly perRound: readonly ChurnRound[];
  /** The median of the slopes between all pairs of rounds after the first ones. */
  readonly bytesPerMaintenance: number;
}

const NAMESPACE = 'churn';
/**
 * What V8 compiles of a process, and learns of it, grows for as long as it gets busier, by more than what a short run
 * could tell apart from a leak. With these it is all there after the first rounds.
 */
export const SOON_WARM = [
  '--no-opt',
  '--no-maglev',
  '--no-sparkplug',
  '--no-lazy-feedback-allocation',
  '--no-flush-bytecode',
];

/** Nodes of other scenes take none of its pods. */
const POOL = { 'scale.haulout.dev/churn': '' };
const HALVES = ['a', 'b'] as const;

type Half = (typeof HALVES)[number];

const visitOf = (round: number): string => `${NAMESPACE}-${round}`;
const labelOf = (half: Half): Record<string, string> => ({ 'scale.haulout.dev/half': half });

export async function churn(play: Play, size: ChurnSize): Promise<ChurnFigures> {
  const { fleet, signal, log } = play;
  const pods = size.nodes * size.podsPerNode;
  const halves = { a: numbered('churn-a', size.nodes), b: numbered('churn-b', size.nodes) };
  for (const half of HALVES) await fleet.addNodes(halves[half], { ...POOL, ...labelOf(half) });
  const { operator } = await fleet.operate([ALL, ...FAST], [INSPECTED, ...(size.nodeFlags ?? [])]);
  await installDriver(fleet);
  await fleet.bed.namespace(NAMESPACE);
  await createAll(fleet.client, `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`, [
    deployment(NAMESPACE, 'web', { replicas: pods, stopsIn: '1s', nodeSelector: POOL }),
  ]);
  await fleet.podsReady(NAMESPACE, pods, PATIENCE_MS);
  const heap = await Heap.of(operator);
  const perRound: ChurnRound[] = [];
  const playRounds = async (): Promise<void> => {
    for (let round = 1; round <= size.rounds; round++) {
      // One half, then the other: pods go to and fro.
      const half = HALVES[(round - 1) % 2] ?? 'a';
      const started = performance.now();
      halves[half] = await playRound(fleet, round, half, halves[half]);
      await fleet.podsReady(NAMESPACE, pods, PATIENCE_MS);
      await fleet.bed.checkInvariants({ timeoutMs: PATIENCE_MS });
      fleet.bed.forgetAuditLog();
      const evictions = fleet.traffic.evictionsSince(0).length;
      fleet.traffic.forget();
      const heapBytes = await heap.kept();
      perRound.push({ maintenances: round * size.nodes, evictions, heapBytes, rssMb: rssMb(operator.pid) });
      const seconds = ((performance.now() - started) / 1000).toFixed(0);
      log(
        `round ${round}: ${(heapBytes / 1e6).toFixed(2)} MB of heap, ${rssMb(operator.pid).toFixed(0)} MB in all, ${seconds} s`,
      );
    }
  };
  try {
    await unlessAborted(playRounds(), signal);
  } catch (error) {
    // What an interruption has broken is no reason to forget the rounds before it, where they say something.
    if (!signal.aborted || perRound.length < size.warmUpRounds + 2) throw error;
  } finally {
    heap.close();
  }
  return {
    ...size,
    rounds: perRound.length,
    ...(perRound.length < size.rounds ? { plannedRounds: size.rounds } : {}),
    perRound: [...perRound],
    bytesPerMaintenance: growth(perRound, size.warmUpRounds),
  };
}

/** Returns the nodes of this half for the next time: two of them are others then. */
async function playRound(
  fleet: Fleet,
  round: number,
  half: Half,
  nodes: readonly string[],
): Promise<string[]> {
  const [gone = '', goes = '', ...rest] = nodes;
  const label = labelOf(half);
  const visit = { namespace: visitOf(round), half: label, pool: POOL, node: rest[0] ?? '' };
  await arrive(fleet, visit);
  await fleet.maintain(nodes, { drain: { retryIntervalSeconds: 1 } });
  await letGo(fleet, visit);
  await fleet.drained(nodes, PATIENCE_MS);
  await fleet.bed.checkInvariants({ timeoutMs: PATIENCE_MS });
  await fleet.removeNodes([gone]);
  await fleet.nodesGone([gone], PATIENCE_MS);
  await fleet.endMaintenances(nodes, PATIENCE_MS);
  await depart(fleet, visit);
  await departed(fleet, visitOf(round - 1));
  await fleet.removeNodes([goes]);
  const fresh = numbered(`churn-${half}`, 2, nodes.length + round);
  await fleet.addNodes(fresh, { ...POOL, ...label });
  return [...rest, ...fresh];
}

export function growth(rounds: readonly ChurnRound[], warmUpRounds: number): number {
  return medianSlope(
    rounds.slice(warmUpRounds).map(({ maintenances, heapBytes }): Pair => [maintenances, heapBytes]),
  );
}
