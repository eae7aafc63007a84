import { isDeepStrictEqual } from 'node:util';
import { evacuateFinalizer, maintenanceAnnotation } from '../api/names.ts';
import type { Node } from '../kube/types.ts';
import { ownConditions } from '../node/conditions.ts';

/** Heartbeats change nothing but the version. */
export function sameButVersion(a: Node, b: Node): boolean {
  return isDeepStrictEqual(withoutVersion(a), withoutVersion(b));
}

function withoutVersion({ metadata: { resourceVersion: _, ...metadata }, ...node }: Node) {
  return { ...node, metadata };
}

/** Something of ours is on the node, and has to be taken off if nobody holds it. */
export function carriesOurs(node: Node): boolean {
  const { annotations, finalizers } = node.metadata;
  return (
    annotations?.[maintenanceAnnotation] !== undefined ||
    (finalizers?.includes(evacuateFinalizer) ?? false) ||
    ownConditions(node).length > 0
  );
}
