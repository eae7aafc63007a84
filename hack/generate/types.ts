// TypeScript types of a NodeMaintenance, from the CRD's schema.
import { compile, type JSONSchema } from 'json-schema-to-typescript';
import type { Schema } from './schema.ts';

/** Names of the interfaces for nested objects. An object that is missing here would be written inline. */
const interfaceNames: Readonly<Record<string, string>> = {
  spec: 'NodeMaintenanceSpec',
  'spec.taints[]': 'ExtraTaint',
  'spec.drain': 'DrainSpec',
  'spec.drain.podSelector': 'PodSelector',
  'spec.drain.podSelector.matchExpressions[]': 'PodSelectorRequirement',
  'spec.drain.volumes': 'VolumePace',
  status: 'NodeMaintenanceStatus',
  'status.node': 'NodeRecord',
  'status.node.before': 'NodeBefore',
  'status.node.added': 'NodeAdded',
  'status.node.added.taints[]': 'AddedTaint',
  'status.drain': 'DrainStatus',
  'status.drain.pods': 'PodCounts',
  'status.drain.volumes[]': 'VolumeMove',
  'status.drain.volumes[].pod': 'MovingPod',
  'status.drain.volumes[].owner': 'MovingPodOwner',
  'status.drain.volumes[].volumes[]': 'MovingVolume',
  'status.drain.failure': 'DrainFailure',
  'status.blockers[]': 'Blocker',
  'status.blockers[].pod': 'BlockedPod',
  'status.blockers[].budget': 'BlockingBudget',
  'status.conditions[]': 'StatusCondition',
};

const banner = `// Generated from crds/ by \`make generate\`. Do not edit.
// JSON shapes as the API server sends them: times are RFC 3339 strings, and a field with a default may be missing in an
// object that was stored before the default existed (see defaults.ts).
import type { KubeObject } from '../kube/types.ts';

/** One wish: take this node out of service, like this, until the object is deleted. */
export interface NodeMaintenance extends KubeObject {
  readonly spec: NodeMaintenanceSpec;
  readonly status?: NodeMaintenanceStatus;
}
`;

/** @throws if an object of the schema has no name here, or a name has no object */
export async function generateTypes(root: Schema): Promise<string> {
  const unused = new Set(Object.keys(interfaceNames));
  const properties = Object.fromEntries(
    ['spec', 'status'].map((name) => [name, named(root.properties?.[name] ?? {}, name, unused)]),
  );
  if (unused.size > 0)
    throw new Error(`interface names without an object in the CRD: ${[...unused].join(', ')}`);
  // json-schema-to-typescript writes what is reachable from one root, so the root is written and then cut off.
  const text = await compile(
    { type: 'object', title: 'Root', properties, additionalProperties: false },
    'Root',
    {
      additionalProperties: false,
      strictIndexSignatures: false,
      bannerComment: '',
      format: false,
    },
  );
  const start = text.indexOf('export interface Root {');
  const end = text.indexOf('\n}\n', start);
  if (start === -1 || end === -1) throw new Error('json-schema-to-typescript wrote no root interface');
  return `${banner}\n${text.slice(0, start)}${text.slice(end + 3)}`;
}

/** A copy with titles, which json-schema-to-typescript takes as names; its own names would depend on the order. */
function named(schema: Schema, path: string, unused: Set<string>): JSONSchema {
  const { properties, items, additionalProperties, description, type, enum: allowed, required } = schema;
  const copy: JSONSchema = {};
  if (type !== undefined) copy.type = type;
  if (description !== undefined) copy.description = wrapped(description);
  if (allowed !== undefined) copy.enum = [...allowed];
  if (required !== undefined) copy.required = [...required];
  if (schema.default !== undefined)
    copy.description = `${wrapped(description ?? '')}\n\nDefault: ${JSON.stringify(schema.default)}`;
  if (items !== undefined) copy.items = named(items, `${path}[]`, unused);
  if (additionalProperties !== undefined)
    copy.additionalProperties = named(additionalProperties, `${path}{}`, unused);
  if (properties !== undefined) {
    const title = interfaceNames[path];
    if (title === undefined)
      throw new Error(`${path} has no interface name: add one to hack/generate/types.ts`);
    unused.delete(path);
    copy.title = title;
    copy.additionalProperties = false;
    copy.properties = Object.fromEntries(
      Object.entries(properties).map(([key, value]) => [key, named(value, `${path}.${key}`, unused)]),
    );
  }
  return copy;
}

/** Broken into lines of at most 100 characters: the text becomes a comment, which the formatter leaves alone. */
function wrapped(text: string): string {
  return text.replaceAll(/(?=.{101})(.{1,100}) /g, '$1\n');
}
