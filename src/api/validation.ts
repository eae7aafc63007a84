// What the API server would say about a NodeMaintenance, said without one.
import { CelRules } from './cel.ts';
import { crdSchema } from './crd.generated.ts';
import { metadataProblems, metadataSchema } from './metadata.ts';
import { type FieldPath, isWithin, type Problem } from './problem.ts';
import { isObject, type SchemaNode, withSchemaDefaults } from './schema.ts';
import { parseSelector } from './selector.ts';
import { compileStructure } from './structure.ts';
import type { NodeMaintenanceSpec } from './types.generated.ts';
import { unknownFields } from './unknown-fields.ts';

/** The whole object, as far as names of fields go. */
const objectSchema: SchemaNode = {
  type: 'object',
  properties: { apiVersion: {}, kind: {}, metadata: metadataSchema, ...crdSchema.properties },
};

/** What is judged by value. Not status: the server ignores what a user writes there. */
const specSchema: SchemaNode = {
  type: 'object',
  required: crdSchema.required,
  properties: { spec: crdSchema.properties.spec },
};

/**
 * Compiles the checks, which takes some milliseconds.
 * @returns a function that tells everything that is wrong with a NodeMaintenance: an object whose apiVersion and kind
 *   are right (see `identify`). It is empty for exactly those objects that an API server with this version of the CRD
 *   creates when asked to be strict (`kubectl apply`), apart from a selector that the server takes but nothing can parse
 */
export function createValidator(): (object: Readonly<Record<string, unknown>>) => Problem[] {
  const structure = compileStructure(specSchema);
  const rules = new CelRules(specSchema);
  return (object) => {
    const { metadata, spec } = object;
    const filled = withSchemaDefaults(specSchema, spec === undefined || spec === null ? {} : { spec });
    const shape = structure(filled, []);
    const broken = shape.map((problem) => problem.path);
    const sentences = rules.check(filled, [], broken);
    const known = [...broken, ...sentences.map((problem) => problem.path)];
    return [
      ...unknownFields(objectSchema, object),
      ...metadataProblems(metadata),
      ...shape,
      ...sentences,
      ...selectorProblems(filled, known),
    ];
  };
}

/** A selector that passed the CRD and still cannot be parsed; the operator would be Stalled with InvalidSpec. */
function selectorProblems(filled: unknown, known: readonly FieldPath[]): Problem[] {
  const path = ['spec', 'drain', 'podSelector'];
  if (known.some((other) => isWithin(other, path) || isWithin(path, other))) return [];
  const spec = isObject(filled) ? filled['spec'] : undefined;
  if (!isObject(spec)) return [];
  // The schema has just been checked down to here.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const { drain } = spec as unknown as NodeMaintenanceSpec;
  const parsed = parseSelector(drain?.podSelector, 'everything');
  if (parsed.kind === 'ok') return [];
  return [{ path, message: parsed.message, hint: 'with this selector nothing would be evicted' }];
}
