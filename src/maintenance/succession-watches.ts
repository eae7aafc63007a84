import { formatSelector } from '../api/selector.ts';
import type { VolumeMove } from '../api/types.generated.ts';
import { canBeName } from '../kube/referred.ts';
import { trimClaim, trimPod, trimWorkload } from '../kube/trim.ts';
import type { PersistentVolumeClaim, Pod, Workload } from '../kube/types.ts';
import { type Move, isUnderway } from '../volumes/moves.ts';
import { type Succession, makesSuccessor, workloadPath } from '../volumes/succession.ts';
import type { WatchPool, Wish } from './watch-pool.ts';

/**
 * Watches who comes after the pods whose volumes are on the move, as long as they are: their claims, their controller,
 * and the pods that it selects.
 */
export class SuccessionWatches {
  readonly #pool: WatchPool;

  constructor(pool: WatchPool) {
    this.#pool = pool;
  }

  follow(nodeName: string, moves: readonly Move[]): void {
    // A pod that was not asked yet, or refused, has no successor to look for.
    const begun = moves.filter((move) => isUnderway(move) && move.since !== undefined);
    this.#pool.want(
      nodeName,
      begun.flatMap((move) => this.#wishes(move)),
    );
  }

  /** `undefined` until all of it is known. */
  successionOf(move: VolumeMove): Succession | undefined {
    const claims = claimWishes(move).map((wish) => this.#pool.objects(wish));
    const workload = this.#workload(move);
    const pods = this.#pods(move, workload);
    if (claims.includes(undefined) || workload === 'unknown' || pods === undefined) return undefined;
    const alive = claims
      .flatMap((list) => list ?? [])
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return {
      claims: new Set(alive.map(({ metadata }) => metadata.name)),
      pods,
      moreToCome: workload === 'elsewhere' ? true : makesSuccessor(move, workload),
    };
  }

  #wishes(move: VolumeMove): Wish[] {
    const owner = ownerWish(move);
    const pods = podsWish(move, this.#workload(move));
    // Each wish trims its own kind of object, and is read as that kind again.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return [...claimWishes(move), ...(owner ? [owner] : []), ...(pods ? [pods] : [])] as unknown as Wish[];
  }

  #workload(move: VolumeMove): FoundWorkload {
    if (!move.owner || !canBeName(move.owner.name)) return undefined;
    const wish = ownerWish(move);
    if (!wish) return 'elsewhere';
    const found = this.#pool.objects(wish);
    return found === undefined ? 'unknown' : found[0];
  }

  #pods(move: VolumeMove, workload: FoundWorkload): readonly Pod[] | undefined {
    const wish = podsWish(move, workload);
    return wish ? this.#pool.objects(wish) : [];
  }
}

/** `elsewhere`: of a kind that is not watched. `unknown`: not known yet. */
type FoundWorkload = Workload | undefined | 'elsewhere' | 'unknown';

function claimWishes({ pod, volumes }: VolumeMove): Wish<PersistentVolumeClaim>[] {
  return volumes.flatMap(({ claim, ephemeral }) =>
    claim === undefined || ephemeral
      ? []
      : [
          {
            resource: 'persistentvolumeclaims',
            path: `/api/v1/namespaces/${pod.namespace}/persistentvolumeclaims`,
            query: { fieldSelector: `metadata.name=${claim}` },
            trim: trimClaim,
          },
        ],
  );
}

function ownerWish({ pod, owner }: VolumeMove): Wish<Workload> | undefined {
  const path = owner && workloadPath(owner, pod.namespace);
  if (owner === undefined || path === undefined || !canBeName(owner.name)) return undefined;
  const resource = path.slice(path.lastIndexOf('/') + 1);
  return { resource, path, query: { fieldSelector: `metadata.name=${owner.name}` }, trim: trimWorkload };
}

/** The pods of a controller of another kind could be any of the namespace. */
function podsWish({ pod }: VolumeMove, workload: FoundWorkload): Wish<Pod> | undefined {
  if (workload === undefined || workload === 'unknown') return undefined;
  const selector = workload === 'elsewhere' ? undefined : workload.spec.selector;
  return {
    resource: 'pods',
    path: `/api/v1/namespaces/${pod.namespace}/pods`,
    query: selector ? { labelSelector: formatSelector(selector) } : {},
    trim: trimPod,
    isChangeDue: true,
  };
}
