import { createHash } from 'node:crypto';
import { restoreNodeFinalizer } from '../api/names.ts';
import { type EffectiveSpec, withDefaults } from '../api/defaults.ts';
import { parseSelector } from '../api/selector.ts';
import type { NodeMaintenance } from '../api/types.generated.ts';
import type { PodPolicies } from '../drain/filters.ts';
import type { Node } from '../kube/types.ts';
import { wasCordoned } from './conditions.ts';
import { type Permissions, notPermitted } from '../drain/permissions.ts';

/** What one maintenance is about at this moment, before any pod is looked at. */
export type StanceKind =
  /** Being deleted: the node is put back. */
  | 'restoring'
  /** The node does not exist, and this maintenance never had it. */
  | 'nodeNotFound'
  /** The node that this maintenance had does not exist any more. */
  | 'nodeGone'
  /** Suspended before it began. */
  | 'suspended'
  /** Other nodes are out of service, and only so many may be. */
  | 'waitingForTurn'
  /** Ignore: known to all, and nothing else. */
  | 'announced'
  /** Holds the node out of service. */
  | 'holding';

export interface Stance {
  readonly maintenance: NodeMaintenance;
  readonly spec: EffectiveSpec;
  readonly kind: StanceKind;
  /** Pods have to leave: nodeDrainPolicy Evacuate, or the node is being deleted under Evict. */
  readonly evacuates: boolean;
  /** Holds up the deletion of the Node object if it comes to that. */
  readonly guardsDeletion: boolean;
  readonly policies: PodPolicies;
  /** Why nothing is evicted for it until somebody changes something: reason and sentence. */
  readonly refused: { readonly reason: 'InvalidSpec' | 'NotPermitted'; readonly message: string } | undefined;
  /** Identifies what a failed drain failed with; an edit gives another. */
  readonly specHash: string;
}

export interface StanceInput {
  readonly maintenance: NodeMaintenance;
  readonly node: Node | undefined;
  readonly admitted: boolean;
  readonly permitted: Permissions;
}

export function takeStance({ maintenance, node, admitted, permitted }: StanceInput): Stance {
  const spec = withDefaults(maintenance.spec);
  const selector = parseSelector(spec.drain.podSelector, 'everything');
  const kind = stanceKind(maintenance, spec, node, admitted);
  const begun = kind === 'announced' || kind === 'holding';
  const guardsDeletion = begun && spec.nodeDeletePolicy === 'Evict';
  const nodeLeaves = node?.metadata.deletionTimestamp !== undefined;
  return {
    maintenance,
    spec,
    // A node that is being deleted under Evict is emptied whatever nodeDrainPolicy says, and that needs a cordon.
    kind: kind === 'announced' && guardsDeletion && nodeLeaves ? 'holding' : kind,
    evacuates: begun && (spec.nodeDrainPolicy === 'Evacuate' || (guardsDeletion && nodeLeaves)),
    guardsDeletion,
    policies: {
      selects: selector.kind === 'ok' ? (labels) => selector.matches(labels) : () => false,
      unmanagedPods: spec.drain.unmanagedPods,
      emptyDirPods: spec.drain.emptyDirPods,
    },
    refused:
      selector.kind === 'ok'
        ? refusedFor('NotPermitted', notPermitted(spec, permitted))
        : refusedFor('InvalidSpec', `spec.drain.podSelector: ${selector.message}`),
    specHash: hash([spec.nodeDrainPolicy, spec.suspend, spec.drain]),
  };
}

function refusedFor<R extends string>(reason: R, message: string | undefined) {
  return message === undefined ? undefined : { reason, message };
}

function stanceKind(
  maintenance: NodeMaintenance,
  spec: EffectiveSpec,
  node: Node | undefined,
  admitted: boolean,
): StanceKind {
  if (maintenance.metadata.deletionTimestamp !== undefined) return 'restoring';
  const had = maintenance.status?.node?.uid;
  if (node === undefined) return had === undefined ? 'nodeNotFound' : 'nodeGone';
  if (spec.nodeDrainPolicy === 'Ignore') return 'announced';
  const hasIt = had === node.metadata.uid && maintenance.status?.node?.before !== undefined;
  if (spec.suspend && !hasIt) return 'suspended';
  // Whoever lost the node's record by somebody's hand has not lost its turn.
  return admitted || (hasIt && wasCordoned(maintenance.status)) ? 'holding' : 'waitingForTurn';
}

/** Wants the node evacuated and has not begun: it evicts nothing, but has a say about protections. */
export function isSilent({ kind, spec }: Stance): boolean {
  return (kind === 'suspended' || kind === 'waitingForTurn') && spec.nodeDrainPolicy === 'Evacuate';
}

/** Whether the maintenance may touch the node: without its finalizer nobody would put the node back. */
export function hasFinalizer(maintenance: NodeMaintenance): boolean {
  return maintenance.metadata.finalizers?.includes(restoreNodeFinalizer) ?? false;
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);
}
