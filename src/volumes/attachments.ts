import type { MovingVolume } from '../api/types.generated.ts';
import type { Node, VolumeAttachment } from '../kube/types.ts';
import { attachmentNameOf } from './attachable.ts';

/** Where volumes are attached, or being attached or detached, in the whole cluster. */
export interface AttachmentIndex {
  readonly toNode: (nodeName: string) => readonly VolumeAttachment[];
  readonly ofVolume: (persistentVolume: string) => readonly VolumeAttachment[];
}

/** Something that is attached to the node, by all that is known of it. */
export interface Attached {
  readonly attachment: VolumeAttachment | undefined;
  readonly persistentVolume: string | undefined;
  /** As in status.volumesAttached. */
  readonly attachedName: string | undefined;
}

/**
 * What is attached to one node: every VolumeAttachment, and every entry of status.volumesAttached. Names are compared
 * whole: vol-1 is not vol-12.
 */
export class NodeAttachments {
  readonly all: readonly Attached[];
  readonly #volumes: ReadonlySet<string>;
  readonly #names: ReadonlySet<string>;

  constructor(node: Node, index: AttachmentIndex) {
    const { name } = node.metadata;
    const attachments = new Map(
      index.toNode(name).map((attachment) => [attachment.metadata.name, attachment]),
    );
    const listed = (node.status?.volumesAttached ?? []).map((entry): Attached => {
      const attachment = attachments.get(attachmentNameOf(entry.name, name) ?? '');
      if (attachment) attachments.delete(attachment.metadata.name);
      return { attachedName: entry.name, attachment, persistentVolume: volumeOf(attachment) };
    });
    const others = [...attachments.values()].map(
      (attachment): Attached => ({
        attachment,
        persistentVolume: volumeOf(attachment),
        attachedName: undefined,
      }),
    );
    this.all = [...listed, ...others];
    this.#volumes = new Set(this.all.flatMap(({ persistentVolume }) => persistentVolume ?? []));
    this.#names = new Set(listed.flatMap(({ attachedName }) => attachedName ?? []));
  }

  holds({ persistentVolume, attachedName }: MovingVolume): boolean {
    return (
      this.#volumes.has(persistentVolume) || (attachedName !== undefined && this.#names.has(attachedName))
    );
  }
}

function volumeOf(attachment: VolumeAttachment | undefined): string | undefined {
  return attachment?.spec.source.persistentVolumeName;
}

/** Whether what is attached is one of `volumes`. */
export function isAmong(attached: Attached, volumes: readonly MovingVolume[]): boolean {
  return volumes.some(
    ({ persistentVolume, attachedName }) =>
      persistentVolume === attached.persistentVolume ||
      (attachedName !== undefined && attachedName === attached.attachedName),
  );
}

/** What people know it by. */
export function nameOf({ persistentVolume, attachment, attachedName }: Attached): string {
  return persistentVolume ?? attachedName ?? attachment?.metadata.name ?? '';
}
