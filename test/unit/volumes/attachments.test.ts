import { expect, test } from '@jest/globals';
import { attachmentNameOf } from '../../../src/volumes/attachable.ts';
import { NodeAttachments, isAmong, nameOf } from '../../../src/volumes/attachments.ts';
import { node } from '../../fixtures/objects.ts';
import { attachment, volume, volumeFacts } from '../../fixtures/volumes.ts';

const attachedName = 'kubernetes.io/csi/disk.example.com^vol-a';

function nodeWith(...names: readonly string[]) {
  const plain = node();
  return { ...plain, status: { ...plain.status, volumesAttached: names.map((name) => ({ name })) } };
}

/** An attachment under the name that the attach-detach controller gives it. */
function named(name: string) {
  const plain = attachment(name, 'n1');
  const called = attachmentNameOf(`kubernetes.io/csi/disk.example.com^vol-${name}`, 'n1') ?? '';
  return { ...plain, metadata: { ...plain.metadata, name: called } };
}

test('an attachment and the entry of the node that belongs to it are one', () => {
  const { attachments } = volumeFacts({ attachments: [named('a'), named('b')] });
  const here = new NodeAttachments(nodeWith(attachedName), attachments);
  expect(here.all.map(nameOf).toSorted()).toEqual(['pv-a', 'pv-b']);
});

test('an entry of the node without an attachment counts by its name', () => {
  const here = new NodeAttachments(nodeWith(attachedName), volumeFacts({}).attachments);
  expect(here.all.map(nameOf)).toEqual([attachedName]);
  expect(here.holds(volume('a'))).toBe(true);
  expect(here.holds(volume('ab'))).toBe(false);
  expect(here.all.map((each) => isAmong(each, [volume('a')]))).toEqual([true]);
});

test('a volume whose handle is not known is found by its attachment', () => {
  const { attachments } = volumeFacts({ attachments: [named('a')] });
  const { attachedName: _, ...handleless } = volume('a');
  expect(new NodeAttachments(nodeWith(attachedName), attachments).holds(handleless)).toBe(true);
});

test('an attachment of a volume that a pod spells out itself counts under its own name', () => {
  const inline = attachment('a', 'n1');
  const source = { ...inline, spec: { ...inline.spec, source: {} } };
  const here = new NodeAttachments(node(), volumeFacts({ attachments: [source] }).attachments);
  expect(here.all.map(nameOf)).toEqual(['csi-a-n1']);
});
