// What the API server does to an object before it validates it, done offline with the same schema: nulls go, defaults come.

/** The keywords of the CRD's schema that the code reads. The constant in crd.generated.ts is of this shape. */
export interface SchemaNode {
  readonly type?: string;
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: SchemaNode;
  readonly items?: SchemaNode;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-validations'?: readonly CelRule[];
}

export interface CelRule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
  readonly reason?: string;
}

/** A JSON object; arrays are none. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * A deep copy of `value` with the schema's defaults filled in. As on the server a null counts as unset, and a default
 * inside an object is filled only where that object is there or has a default of its own. Values of the wrong type are
 * copied as they are: refusing them is the validator's business.
 */
export function withSchemaDefaults(schema: SchemaNode, value: unknown): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? [...value] : value.map((item) => withSchemaDefaults(items, item));
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value).flatMap(([key, given]) => {
    const inner = fieldSchema(schema, key);
    if (given === null && inner !== undefined) return [];
    return [[key, inner === undefined ? given : withSchemaDefaults(inner, given)] as const];
  });
  const present = new Set(entries.map(([key]) => key));
  for (const [key, inner] of Object.entries(schema.properties ?? {})) {
    if (inner.default !== undefined && !present.has(key))
      entries.push([key, withSchemaDefaults(inner, inner.default)]);
  }
  return Object.fromEntries(entries);
}

/** The schema of one field of an object or of one entry of a map; undefined: the schema does not know the field. */
export function fieldSchema(schema: SchemaNode, key: string): SchemaNode | undefined {
  const { properties = {}, additionalProperties } = schema;
  // A label may be called "constructor", which every object literal seems to have.
  return Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
}
