// Types, limits and enums: ajv judges by the CRD's schema, and its verdicts are put in the API server's words.
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { FieldPath, Problem } from './problem.ts';
import { isObject, type SchemaNode } from './schema.ts';
import { formatPath } from './problem.ts';

/** Keywords of CRDs that are no business of a JSON schema validator. */
const kubernetesKeywords = [
  'x-kubernetes-validations',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
];

/** Compiles a schema. @throws if it is not one: a mistake in the CRD, not in an object */
export function compileStructure(schema: SchemaNode): (value: unknown, path: FieldPath) => Problem[] {
  const ajv = new Ajv({
    strict: true,
    strictTypes: false,
    strictRequired: true,
    allErrors: true,
    allowUnionTypes: true,
    verbose: true,
  });
  ajv.addVocabulary(kubernetesKeywords);
  // What int32 and int64 mean is what minimum and maximum say.
  ajv.addFormat('int32', true);
  ajv.addFormat('int64', true);
  const validate: ValidateFunction = ajv.compile(schema);
  return (value, path) => {
    validate(value);
    const errors = validate.errors ?? [];
    // A value of the wrong type fails its enum as well; one sentence is enough.
    const mistyped = new Set(errors.filter(isTypeError).map((error) => error.instancePath));
    return [
      ...errors
        .filter((error) => isTypeError(error) || !mistyped.has(error.instancePath))
        .map((error) => translate(error, path, value)),
      ...duplicates(schema, value, path),
    ];
  };
}

function isTypeError(error: ErrorObject): boolean {
  return error.keyword === 'type';
}

function translate(error: ErrorObject, root: FieldPath, rootValue: unknown): Problem {
  const path = [...root, ...parsePointer(error.instancePath, rootValue)];
  const { keyword, schema: limit, data } = error;
  switch (keyword) {
    case 'required':
      return { path: [...path, String(error.params['missingProperty'])], message: 'Required value' };
    case 'type':
      return mistypedProblem(path, String(limit), data);
    case 'enum':
      return {
        path,
        message: `Unsupported value: ${JSON.stringify(data)}: supported values: ${error.params['allowedValues'].map((one: unknown) => JSON.stringify(one)).join(', ')}`,
      };
    case 'minimum':
      return { path, message: invalid(path, data, `should be greater than or equal to ${String(limit)}`) };
    case 'maximum':
      return { path, message: invalid(path, data, `should be less than or equal to ${String(limit)}`) };
    case 'maxLength':
      return { path, message: `Too long: may not be more than ${String(limit)} bytes` };
    case 'maxItems':
    case 'maxProperties':
      return { path, message: `Too many: ${count(data)}: must have at most ${String(limit)} items` };
    default:
      // A keyword that came into the CRD later: right, though not in the server's words.
      return { path, message: invalid(path, data, error.message ?? `fails ${keyword}`) };
  }
}

function invalid(path: FieldPath, value: unknown, what: string): string {
  return `Invalid value: ${JSON.stringify(value)}: ${formatPath(path)} in body ${what}`;
}

function mistypedProblem(path: FieldPath, wanted: string, value: unknown): Problem {
  const found = typeName(value);
  const message = `Invalid value: "${found}": ${formatPath(path)} in body must be of type ${wanted}: "${found}"`;
  const hint = typeHint(wanted, value);
  return hint === undefined ? { path, message } : { path, message, hint };
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function typeHint(wanted: string, value: unknown): string | undefined {
  if (wanted === 'string' && (typeof value === 'number' || typeof value === 'boolean')) {
    return `write it in quotes: "${String(value)}"`;
  }
  if (typeof value === 'string' && wanted === 'boolean' && /^(true|false)$/i.test(value)) {
    return `write ${value.toLowerCase()} without quotes`;
  }
  if (wanted !== 'integer') return undefined;
  if (typeof value === 'number') return 'write a whole number';
  if (typeof value !== 'string') return undefined;
  if (/^\d+$/.test(value)) return `write ${value} without quotes`;
  const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86400 };
  const duration = /^(\d+)([smhd])$/.exec(value);
  const seconds = Number(duration?.[1]) * (units[duration?.[2] ?? ''] ?? Number.NaN);
  return Number.isSafeInteger(seconds) ? `write ${seconds}, the number of seconds` : 'write a whole number';
}

function count(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return isObject(value) ? Object.keys(value).length : 0;
}

/** RFC 6901. Only the value can tell a list's index from a key that is a number. */
function parsePointer(pointer: string, root: unknown): FieldPath {
  let current = root;
  return pointer
    .split('/')
    .slice(1)
    .map((part) => {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
      if (Array.isArray(current)) {
        current = (current as readonly unknown[])[Number(key)];
        return Number(key);
      }
      current = isObject(current) ? current[key] : undefined;
      return key;
    });
}

/** Lists that are maps (`x-kubernetes-list-type: map`): the second and later entries of the same key. */
function duplicates(schema: SchemaNode, value: unknown, path: FieldPath): Problem[] {
  if (Array.isArray(value)) {
    const { items = {} } = schema;
    const list: readonly unknown[] = value;
    const keys = schema['x-kubernetes-list-map-keys']?.toSorted();
    const seen = new Set<string>();
    return list.flatMap((item, index) => {
      const itemPath = [...path, index];
      const inside = duplicates(items, item, itemPath);
      if (keys === undefined || !isObject(item)) return inside;
      const identity = JSON.stringify(Object.fromEntries(keys.map((key) => [key, item[key]])));
      if (seen.has(identity)) return [...inside, { path: itemPath, message: `Duplicate value: ${identity}` }];
      seen.add(identity);
      return inside;
    });
  }
  if (!isObject(value)) return [];
  return Object.entries(schema.properties ?? {}).flatMap(([key, inner]) =>
    duplicates(inner, value[key], [...path, key]),
  );
}
