// docs/api-reference.md: every field of the CRD with type, default, limits and description.
import type { Crd, Schema } from './schema.ts';

interface Section {
  /** Path of the object, such as `spec.drain`. */
  readonly path: string;
  readonly schema: Schema;
}

const intro = `Everything below follows from the CustomResourceDefinition in [crds/](../crds); \`kubectl explain nmaint.spec
--recursive\` shows the same in a cluster. An API server refuses a field that is not here (\`kubectl apply\` asks it to) and
a value outside the limits; \`haulout validate FILE...\` says the same without a cluster.

A field without default is optional and unset means what its description says, unless it is marked as required. \`null\` is
the same as unset. Times are in UTC, as in 2026-11-21T10:00:00Z.
`;

/** The whole page, in Markdown. */
export function generateDocs(crd: Crd, version: string, root: Schema): string {
  const { group, names } = crd.spec;
  const parts = [
    '<!-- Generated from crds/ by `make generate`. Do not edit. -->',
    `# ${names.kind} (${group}/${version})`,
    root.description ?? '',
    `Cluster-scoped; \`kubectl get ${names.plural}\`, short \`kubectl get ${(names.shortNames ?? []).join(', ')}\`.`,
    intro.trimEnd(),
    ...sections(root).map(renderSection),
    '## Columns of `kubectl get`',
    renderColumns(crd),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** spec and status and every object in them, outer ones first. */
function sections(root: Schema): Section[] {
  return ['spec', 'status'].flatMap((name) => {
    const schema = root.properties?.[name];
    return schema === undefined ? [] : objectsIn({ path: name, schema });
  });
}

function objectsIn({ path, schema }: Section): Section[] {
  const inner = Object.entries(schema.properties ?? {}).flatMap(([key, field]) => {
    if (field.properties !== undefined) return objectsIn({ path: `${path}.${key}`, schema: field });
    if (field.items?.properties !== undefined)
      return objectsIn({ path: `${path}.${key}[]`, schema: field.items });
    return [];
  });
  return [{ path, schema }, ...inner];
}

function renderSection({ path, schema }: Section): string {
  const rows = Object.entries(schema.properties ?? {}).map(([key, field]) => {
    const required = schema.required?.includes(key) === true;
    const cells = [
      `\`${key}\``,
      typeOf(field, `${path}.${key}`),
      required ? 'required' : defaultOf(field),
      limitsOf(field),
      field.description ?? '',
    ];
    return `| ${cells.map(escapeCell).join(' | ')} |`;
  });
  const rules = rulesOf(schema, path);
  return [
    `## ${path}`,
    schema.description ?? '',
    ['| Field | Type | Default | Limits | Description |', '|---|---|---|---|---|', ...rows].join('\n'),
    ...(rules.length === 0 ? [] : [['Rules, in the words of the API server:', '', ...rules].join('\n')]),
  ].join('\n\n');
}

function typeOf(schema: Schema, path: string): string {
  if (schema.properties !== undefined) return `[object](#${anchor(path)})`;
  if (schema.additionalProperties !== undefined)
    return `map of ${typeOf(schema.additionalProperties, path)}s`;
  if (schema.items !== undefined) {
    const { items } = schema;
    return items.properties === undefined
      ? `list of ${typeOf(items, path)}s`
      : `list of [objects](#${anchor(`${path}[]`)})`;
  }
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(', ');
  return schema.format === 'date-time' ? 'time' : (schema.type ?? 'anything');
}

/** As GitHub makes it from the heading. */
function anchor(path: string): string {
  return path.toLowerCase().replaceAll(/[^a-z0-9-]/g, '');
}

function defaultOf(schema: Schema): string {
  if (schema.default === undefined) return '';
  return `\`${typeof schema.default === 'string' ? schema.default : JSON.stringify(schema.default)}\``;
}

function limitsOf(schema: Schema): string {
  const { minimum, maximum, maxLength, maxItems, maxProperties, additionalProperties } = schema;
  const limits = [
    minimum === undefined || maximum === undefined ? undefined : `${minimum} to ${maximum}`,
    minimum === undefined || maximum !== undefined ? undefined : `at least ${minimum}`,
    maxLength === undefined ? undefined : `at most ${maxLength} characters`,
    maxItems === undefined ? undefined : `at most ${maxItems} entries`,
    maxProperties === undefined ? undefined : `at most ${maxProperties} entries`,
    additionalProperties?.maxLength === undefined
      ? undefined
      : `values of at most ${additionalProperties.maxLength} characters`,
  ];
  return limits.filter((limit) => limit !== undefined).join(', ');
}

/** The messages of the rules on an object and on its fields that are not objects of their own. */
function rulesOf(schema: Schema, path: string): string[] {
  const fields = Object.entries(schema.properties ?? {}).flatMap(([key, field]) => {
    const inner = `${path}.${key}`;
    if (field.properties !== undefined || field.items?.properties !== undefined) return [];
    return [
      ...rulesOf(field, inner),
      ...(field.items === undefined ? [] : rulesOf(field.items, `${inner}[]`)),
    ];
  });
  const own = (schema['x-kubernetes-validations'] ?? []).map(
    ({ message, fieldPath }) => `- \`${path}${fieldPath ?? ''}\`: ${message ?? ''}`,
  );
  return [...own, ...fields];
}

function renderColumns(crd: Crd): string {
  const columns = crd.spec.versions.flatMap((version) => version.additionalPrinterColumns ?? []);
  const rows = columns.map(({ name, priority, description }) => {
    const shown = (priority ?? 0) > 0 ? 'with `-o wide`' : 'always';
    return `| ${name.toUpperCase()} | ${shown} | ${escapeCell(description ?? '')} |`;
  });
  return [
    '| Column | Shown | What it says |',
    '|---|---|---|',
    '| NAME | always | The name of the maintenance. |',
    ...rows,
  ].join('\n');
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|');
}
