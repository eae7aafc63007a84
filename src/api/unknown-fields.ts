// Fields that the CRD does not have. The API server drops them, or refuses them if asked to be strict, as kubectl asks.
import { closest } from '../runtime/closest.ts';
import { type FieldPath, formatPath, type Problem } from './problem.ts';
import { fieldSchema, isObject, type SchemaNode } from './schema.ts';

/** Names the fields of an object that its schema does not have, and what was probably meant. */
export function unknownFields(schema: SchemaNode, object: unknown): Problem[] {
  // Where a misplaced field may turn out to belong: what a user writes.
  const spec = schema.properties?.['spec'];
  return visit(schema, object, [], spec === undefined ? {} : { properties: { spec } });
}

function visit(schema: SchemaNode, value: unknown, path: FieldPath, root: SchemaNode): Problem[] {
  if (Array.isArray(value)) {
    const { items } = schema;
    const list: readonly unknown[] = value;
    return items === undefined
      ? []
      : list.flatMap((item, index) => visit(items, item, [...path, index], root));
  }
  // An object without properties in the schema is a map or (metadata) not ours to judge.
  if (!isObject(value) || (schema.properties === undefined && schema.additionalProperties === undefined))
    return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const innerPath = [...path, key];
    const innerSchema = fieldSchema(schema, key);
    if (innerSchema !== undefined) return visit(innerSchema, inner, innerPath, root);
    return [
      {
        path: innerPath,
        message: `unknown field "${formatPath(innerPath)}"`,
        hint: suggestion(schema, innerPath, key, root),
      },
    ];
  });
}

function suggestion(schema: SchemaNode, path: FieldPath, key: string, root: SchemaNode): string {
  const parent = path.slice(0, -1);
  const fields = Object.keys(schema.properties ?? {});
  const sibling = closest(
    key,
    fields.map((field) => field.toLowerCase()),
  );
  const elsewhere = fieldsNamed(root, key.toLowerCase(), []);
  const meant = fields.find((field) => field.toLowerCase() === sibling);
  // A word that is right elsewhere is a better guess than a word that is merely similar.
  const [exact] = meant?.toLowerCase() === key.toLowerCase() ? [] : elsewhere;
  if (exact !== undefined) return `did you mean ${exact}?`;
  if (meant !== undefined) return `did you mean ${formatPath([...parent, meant])}?`;
  if (Object.hasOwn(schema.properties ?? {}, 'matchLabels')) {
    return `labels go under ${formatPath([...parent, 'matchLabels'])}`;
  }
  const where = parent.length === 0 ? 'a NodeMaintenance' : formatPath(parent);
  return `the fields of ${where} are ${fields.join(', ')}`;
}

/** Paths of the fields of this name (in lower case) that are not inside lists. */
function fieldsNamed(schema: SchemaNode, name: string, path: FieldPath): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => [
    ...(key.toLowerCase() === name ? [formatPath([...path, key])] : []),
    ...fieldsNamed(inner, name, [...path, key]),
  ]);
}
