import type { Node, Taint } from '../kube/types.ts';
import { maintenanceAnnotation, evacuateFinalizer, unschedulableTaintKey } from '../api/names.ts';
import { type Holder, desiredAdditions } from './marks.ts';
import {
  type Additions,
  type RestoreData,
  canonicalAdditions,
  formatRecord,
  noAdditions,
  sameTaint,
  taintsOf,
} from './record.ts';

/** A JSON merge patch of a Node; it carries metadata.resourceVersion, so it applies to the node that was read. */
export interface NodePatch {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly labels?: Record<string, string | null>;
    readonly annotations?: Record<string, string | null>;
    readonly finalizers?: readonly string[];
  };
  readonly spec?: { readonly unschedulable?: boolean | null; readonly taints?: readonly Taint[] };
}

export interface NodeChange {
  /** `undefined`: the node is as it should be. */
  readonly patch: NodePatch | undefined;
  /** What the patch notes on the node; `undefined` once nobody holds it. */
  readonly restoreData: RestoreData | undefined;
  /**
   * What has to be in each holder's status before the patch is sent: what it takes off is still on the node, and has to
   * be known if the patch fails and the node's own copy is lost.
   */
  readonly mirror: RestoreData | undefined;
  /** Somebody made the node schedulable although it is in maintenance. */
  readonly uncordonedByHand: boolean;
  /** Extra taints that are on the node with a value of somebody else's, or are too many, as `key:effect`. */
  readonly foreignTaints: readonly string[];
}

/**
 * Computes the one write that makes `node` what its `holders` want: nothing that was there before is touched, and
 * what is no longer wanted comes off if it is still as haulout put it on.
 *
 * `record` is what earlier writes noted (from the node, or from a status where the node's copy is gone); without one
 * the node is taken as it is found now. `finalizer` says whether the node's deletion has to be held up.
 */
export function planNodeChange(
  node: Node,
  holders: readonly Holder[],
  record: RestoreData | undefined,
  finalizer: boolean,
): NodeChange {
  const held = holders.length > 0;
  const leaving = node.metadata.deletionTimestamp !== undefined;
  const unschedulable = node.spec?.unschedulable ?? false;
  const uncordonedByHand = held && record !== undefined && !unschedulable;
  const before = {
    unschedulable: uncordonedByHand ? false : (record?.before.unschedulable ?? unschedulable),
  };
  const wanted = held ? desiredAdditions(holders) : noAdditions;
  const labels = mergeKeys(node.metadata.labels ?? {}, wanted.labels, record?.added.labels ?? {});
  const annotations = mergeKeys(
    node.metadata.annotations ?? {},
    wanted.annotations,
    record?.added.annotations ?? {},
  );
  const taints = mergeTaints(taintsOf(node), wanted.taints, record?.added.taints ?? []);
  const restoreData = held
    ? { before, added: canonical(labels.added, annotations.added, taints.added) }
    : undefined;
  const mirror = restoreData && {
    before,
    added: canonical(
      { ...labels.leaving, ...labels.added },
      { ...annotations.leaving, ...annotations.added },
      [...taints.leaving, ...taints.added],
    ),
  };

  // The scheduler would bind new pods to a node that is being deleted: it is never made schedulable again.
  const cordon = held || (unschedulable && (leaving || record === undefined || before.unschedulable));
  const finalTaints = followCordon(taints.result, held, unschedulable && !cordon);
  const noted = node.metadata.annotations?.[maintenanceAnnotation];
  const note = restoreData && formatRecord({ holders, ...restoreData });
  const noteChange = note === noted ? {} : { [maintenanceAnnotation]: note ?? null };
  const annotationChanges = { ...annotations.changes, ...noteChange };
  const finalizers = planFinalizers(node, finalizer);

  const metadata = {
    ...(isEmpty(labels.changes) ? {} : { labels: labels.changes }),
    ...(isEmpty(annotationChanges) ? {} : { annotations: annotationChanges }),
    ...(finalizers ? { finalizers } : {}),
  };
  const spec = {
    ...(cordon === unschedulable ? {} : { unschedulable: cordon ? true : null }),
    ...(equalTaints(finalTaints, taintsOf(node)) ? {} : { taints: finalTaints }),
  };
  const changes = Object.keys(metadata).length + Object.keys(spec).length > 0;
  const patch: NodePatch = {
    metadata: { resourceVersion: node.metadata.resourceVersion, ...metadata },
    ...(Object.keys(spec).length > 0 ? { spec } : {}),
  };
  const surplus = holders
    .flatMap((holder) => holder.taints)
    .filter((taint) => !wanted.taints.some((other) => sameTaint(other, taint)))
    .map(({ key, effect }) => `${key}:${effect}`);
  const foreignTaints = [...taints.foreign, ...new Set(surplus)];
  return { patch: changes ? patch : undefined, restoreData, mirror, uncordonedByHand, foreignTaints };
}

interface MergedKeys {
  readonly changes: Record<string, string | null>;
  readonly added: Record<string, string>;
  /** What comes off. */
  readonly leaving: Record<string, string>;
}

/** A key with another value than the one that haulout put there belongs to somebody else from then on. */
function mergeKeys(
  present: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>>,
  ours: Readonly<Record<string, string>>,
): MergedKeys {
  const changes: Record<string, string | null> = {};
  const added: Record<string, string> = {};
  const leaving: Record<string, string> = {};
  for (const [key, value] of Object.entries(wanted)) {
    const isOurs = Object.hasOwn(ours, key) && (present[key] === undefined || present[key] === ours[key]);
    if (present[key] !== undefined && !isOurs) continue;
    added[key] = value;
    if (present[key] !== value) changes[key] = value;
  }
  for (const [key, value] of Object.entries(ours)) {
    if (Object.hasOwn(wanted, key) || present[key] !== value) continue;
    changes[key] = null;
    leaving[key] = value;
  }
  return { changes, added, leaving };
}

function mergeTaints(present: readonly Taint[], wanted: readonly Taint[], ours: readonly Taint[]) {
  const isOurs = (taint: Taint) =>
    ours.some((our) => sameTaint(our, taint) && (our.value ?? '') === (taint.value ?? ''));
  const result: Taint[] = present.filter((taint) => !isOurs(taint));
  const added: Taint[] = [];
  const foreign: string[] = [];
  for (const taint of wanted) {
    const other = result.find((candidate) => sameTaint(candidate, taint));
    if (other === undefined) {
      // The object that is there already keeps its other fields, such as timeAdded.
      const there = present.find(
        (candidate) => sameTaint(candidate, taint) && (candidate.value ?? '') === (taint.value ?? ''),
      );
      result.push(there ?? taint);
      added.push(taint);
    } else if ((other.value ?? '') !== (taint.value ?? '')) {
      foreign.push(`${taint.key}:${taint.effect}`);
    }
  }
  const stays = (taint: Taint) =>
    result.some((other) => sameTaint(other, taint) && (other.value ?? '') === (taint.value ?? ''));
  const leaving = present.filter((taint) => isOurs(taint) && !stays(taint));
  return { result, added, leaving, foreign };
}

/** The node lifecycle controller keeps this taint in step with spec.unschedulable; the same write saves its delay. */
function followCordon(taints: readonly Taint[], held: boolean, uncordon: boolean): readonly Taint[] {
  const cordonTaint = { key: unschedulableTaintKey, effect: 'NoSchedule' };
  if (uncordon) return taints.filter((taint) => !sameTaint(taint, cordonTaint));
  return !held || taints.some((taint) => sameTaint(taint, cordonTaint)) ? taints : [...taints, cordonTaint];
}

function planFinalizers(node: Node, wanted: boolean): readonly string[] | undefined {
  const present = node.metadata.finalizers ?? [];
  const has = present.includes(evacuateFinalizer);
  // The API server refuses new finalizers once deletion has begun.
  if (wanted && !has && node.metadata.deletionTimestamp === undefined) return [...present, evacuateFinalizer];
  if (!wanted && has) return present.filter((finalizer) => finalizer !== evacuateFinalizer);
  return undefined;
}

function equalTaints(a: readonly Taint[], b: readonly Taint[]): boolean {
  return (
    a.length === b.length &&
    a.every((taint) =>
      b.some((other) => sameTaint(taint, other) && (taint.value ?? '') === (other.value ?? '')),
    )
  );
}

function canonical(
  labels: Record<string, string>,
  annotations: Record<string, string>,
  taints: readonly Taint[],
): Additions {
  return canonicalAdditions({ labels, annotations, taints });
}

function isEmpty(record: object): boolean {
  return Object.keys(record).length === 0;
}
