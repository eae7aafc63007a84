import { apiVersion, kind } from '../api/names.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { Node } from '../kube/types.ts';
import type { EventNote } from './snapshot.ts';

/** Hands an event over to the recorder, about the maintenance or, without one, about the node. */
export function emitEvent(
  recorder: EventRecorder,
  event: EventNote,
  node: Node | undefined,
  nodeName: string,
): void {
  const { maintenance, type, reason, action, note } = event;
  const aboutNode = {
    apiVersion: 'v1',
    kind: 'Node',
    name: nodeName,
    ...(node ? { uid: node.metadata.uid } : {}),
  };
  const regarding = maintenance
    ? { apiVersion, kind, name: maintenance.metadata.name, uid: maintenance.metadata.uid }
    : aboutNode;
  recorder.emit({ regarding, type, reason, action, note, ...(maintenance ? { related: aboutNode } : {}) });
}
