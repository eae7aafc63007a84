// The CRD's schema as a TypeScript constant, so that `haulout validate` needs no file beside the bundle.
import type { Schema } from './schema.ts';

/** Without the descriptions, which no check needs and which would be most of its size. */
export function generateSchemaConst(root: Schema): string {
  const { spec, status } = root.properties ?? {};
  if (spec === undefined || status === undefined) throw new Error('the CRD has no spec or no status');
  const bare = stripDescriptions({ type: 'object', required: root.required, properties: { spec, status } });
  return `// Generated from crds/ by \`make generate\`. Do not edit.

/** The CRD's schema for \`spec\` and \`status\` with its CEL rules and defaults; descriptions are left out. */
export const crdSchema = ${JSON.stringify(bare)} as const;
`;
}

function stripDescriptions(value: unknown, isPropertyMap = false): unknown {
  if (Array.isArray(value)) return value.map((item) => stripDescriptions(item));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    // A property may be called "description"; only the keyword goes.
    .filter(([key]) => isPropertyMap || key !== 'description')
    .map(([key, inner]) => [key, stripDescriptions(inner, !isPropertyMap && key === 'properties')]);
  return Object.fromEntries(entries) as unknown;
}
