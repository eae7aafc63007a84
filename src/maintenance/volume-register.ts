import type { MovingVolume } from '../api/types.generated.ts';
import type { Answer } from '../kube/answer.ts';
import type { Client } from '../kube/client.ts';
import { InFlight } from '../kube/in-flight.ts';
import { getReferred } from '../kube/referred.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../kube/types.ts';
import type { Clock } from '../runtime/clock.ts';
import { type ClaimUse, attachableVolume, claimsOf } from '../volumes/attachable.ts';
import type { PodVolumes } from '../volumes/moves.ts';

export interface VolumeRegisterOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** False where the CSIDriver object says so. */
  readonly attachRequired: (driver: string) => boolean;
  /** The volumes of a pod on this node are known now, or the look failed. */
  readonly onChange: (nodeName: string) => void;
}

const lookAgainMs = 1_000;
const unboundLookAgainMs = 5_000;
const looksAtOnce = 16;

/** What a claim led to. */
type Found =
  | { readonly kind: 'volume'; readonly volume: MovingVolume }
  /** Nothing that could be attached. */
  | { readonly kind: 'none' }
  | { readonly kind: 'unbound' }
  | { readonly kind: 'failed'; readonly problem: string };

interface Entry {
  found: readonly Found[] | undefined;
  problem: string | undefined;
}

const none: PodVolumes = { kind: 'known', volumes: [] };

/**
 * Knows the attachable volumes of pods. A pod's claims and their volumes do not change while it runs, so each is read
 * once from the API server, and no cache of all claims of the cluster is needed.
 */
export class VolumeRegister {
  readonly #options: VolumeRegisterOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #looks = new InFlight(looksAtOnce);
  readonly #stopped = new AbortController();

  constructor(options: VolumeRegisterOptions) {
    this.#options = options;
  }

  volumesOf(pod: Pod): PodVolumes {
    if (claimsOf(pod).length === 0) return none;
    const { uid } = pod.metadata;
    let entry = this.#entries.get(uid);
    if (!entry) {
      entry = { found: undefined, problem: undefined };
      this.#entries.set(uid, entry);
      void this.#lookUp(pod, entry);
    }
    const { found, problem } = entry;
    return found ? { kind: 'known', volumes: this.#attachable(found) } : { kind: 'unknown', problem };
  }

  forget(uid: string): void {
    this.#entries.delete(uid);
  }

  stop(): void {
    this.#stopped.abort(new Error('the register of volumes is stopped'));
  }

  /** Whether a driver attaches is asked every time: its CSIDriver may come or change. */
  #attachable(found: readonly Found[]): MovingVolume[] {
    const { attachRequired } = this.#options;
    return found.flatMap((each) =>
      each.kind === 'volume' && attachRequired(each.volume.driver) ? [each.volume] : [],
    );
  }

  async #lookUp(pod: Pod, entry: Entry): Promise<void> {
    const { namespace = '', uid } = pod.metadata;
    const { clock, onChange } = this.#options;
    const { signal } = this.#stopped;
    try {
      const found = await Promise.all(claimsOf(pod).map((use) => this.#find(namespace, use, signal)));
      const failed = found.find(({ kind }) => kind === 'failed');
      entry.problem = failed?.kind === 'failed' ? failed.problem : undefined;
      if (!failed) entry.found = found;
      if (this.#entries.get(uid) !== entry) return;
      onChange(pod.spec.nodeName ?? '');
      // Only a pod that was bound by hand runs ahead of its claims.
      const unbound = found.some(({ kind }) => kind === 'unbound');
      if (!failed && !unbound) return;
      clock.after(failed ? lookAgainMs : unboundLookAgainMs, () => {
        if (this.#entries.get(uid) === entry && !signal.aborted) void this.#lookUp(pod, entry);
      });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #find(namespace: string, use: ClaimUse, signal: AbortSignal): Promise<Found> {
    const claims = `/api/v1/namespaces/${namespace}/persistentvolumeclaims`;
    const claim = await this.#get<PersistentVolumeClaim>(claims, use.claim, signal);
    if (claim.kind === 'notFound') return { kind: 'none' };
    if (claim.kind !== 'ok') return { kind: 'failed', problem: claim.message };
    const volumeName = claim.object.spec?.volumeName;
    if (volumeName === undefined || volumeName === '') return { kind: 'unbound' };
    const volume = await this.#get<PersistentVolume>('/api/v1/persistentvolumes', volumeName, signal);
    if (volume.kind === 'notFound') return { kind: 'none' };
    if (volume.kind !== 'ok') return { kind: 'failed', problem: volume.message };
    const attachable = attachableVolume(use, volume.object, () => true);
    return attachable ? { kind: 'volume', volume: attachable } : { kind: 'none' };
  }

  async #get<T>(collection: string, name: string, signal: AbortSignal): Promise<Answer<T>> {
    await this.#looks.enter(signal);
    try {
      return await getReferred<T>(this.#options.client, collection, name, { signal });
    } finally {
      this.#looks.leave();
    }
  }
}
