import type { NodeMaintenance, VolumeMove } from '../api/types.generated.ts';
import type { Answer } from '../kube/answer.ts';
import type { Store } from '../kube/store.ts';
import type { Pod } from '../kube/types.ts';
import { type Metrics, setCounts } from '../runtime/metrics.ts';
import { oldAttachmentIsLate } from './announcements.ts';
import { isUnderway } from '../volumes/moves.ts';

/** Turns what happens in a drain into metrics. Pods are counted, never named. */
export class DrainMeter {
  readonly #metrics: Metrics;
  /** How pods that are on their way out were asked to go, by UID. */
  readonly #asked = new Map<string, 'evicted' | 'deleted'>();

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  answered(what: 'eviction' | 'deletion', kind: Answer['kind'], pod: Pod): void {
    if (what === 'eviction') this.#metrics.evictions.inc({ answer: kind });
    if (kind === 'ok') this.#asked.set(pod.metadata.uid, what === 'eviction' ? 'evicted' : 'deleted');
  }

  deploymentRestarted(): void {
    this.#metrics.deploymentRestarts.inc();
  }

  podGone(pod: Pod): void {
    const { uid } = pod.metadata;
    this.#metrics.pods.inc({ outcome: this.#asked.get(uid) ?? 'left' });
    this.#asked.delete(uid);
  }

  /** It is not known when it will be gone. */
  podUnwatched({ metadata }: Pod): void {
    this.#asked.delete(metadata.uid);
  }

  evictionRate(ratePerSecond: number): void {
    this.#metrics.evictionRate.set(ratePerSecond);
  }

  statusWritten(before: NodeMaintenance, after: NodeMaintenance): void {
    const was = before.status?.drain;
    const is = after.status?.drain;
    if (is?.completionTime !== undefined && was?.completionTime === undefined && is.startTime !== undefined) {
      const seconds =
        (Date.parse(is.completionTime) - Date.parse(is.startTime)) / 1000 + (is.activeSeconds ?? 0);
      this.#metrics.drainSeconds.observe({ outcome: 'completed' }, seconds);
    }
    if (is?.failure && is.failure.time !== was?.failure?.time) {
      this.#metrics.drainSeconds.observe({ outcome: 'failed' }, is.activeSeconds ?? 0);
    }
    for (const outcome of endedMoves(was?.volumes ?? [], is?.volumes ?? []))
      this.#metrics.volumeMoves.inc({ outcome });
    if (oldAttachmentIsLate(before.status, after.status))
      this.#metrics.volumeMoves.inc({ outcome: 'detachTimedOut' });
  }

  /** To be called before the metrics are read. */
  count(maintenances: Store<NodeMaintenance>, blockedByCause: ReadonlyMap<string, number>): void {
    const phases = new Map<string, number>();
    for (const { status } of maintenances.values()) {
      const phase = status?.phase ?? 'Pending';
      phases.set(phase, (phases.get(phase) ?? 0) + 1);
    }
    setCounts(this.#metrics.maintenances, phases);
    setCounts(this.#metrics.blockedPods, blockedByCause);
  }
}

/** One outcome for each pod whose volumes are not waited for any more. A move that was taken back had not begun. */
function endedMoves(before: readonly VolumeMove[], after: readonly VolumeMove[]): string[] {
  return before.flatMap((move) => {
    if (!isUnderway(move)) return [];
    const now = after.find(({ pod }) => pod.uid === move.pod.uid);
    if (now?.phase === 'DetachTimedOut') return ['detachTimedOut'];
    if (now?.phase === 'AttachTimedOut') return ['attachTimedOut'];
    return now || move.since === undefined ? [] : ['settled'];
  });
}
