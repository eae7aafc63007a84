// The CRD's own CEL rules, evaluated offline, so that what they say is said in one place.
import { Environment } from '@marcbachmann/cel-js';
import { type FieldPath, isWithin, type Problem } from './problem.ts';
import { type CelRule, fieldSchema, isObject, type SchemaNode } from './schema.ts';

type Evaluate = (self: unknown) => unknown;

/** Checks the rules of one schema. Building it compiles them; checking an object then takes microseconds. */
export class CelRules {
  readonly #compiled = new Map<string, Evaluate>();
  readonly #schema: SchemaNode;

  /** @throws if a rule of the schema cannot be compiled: a mistake in the CRD, not in an object */
  constructor(schema: SchemaNode) {
    this.#schema = schema;
    const environment = new Environment().registerVariable('self', 'dyn');
    for (const { rule } of allRules(schema)) {
      // Rules about an edit need the object from before the edit; offline there is only one.
      if (/\boldSelf\b/.test(rule) || this.#compiled.has(rule)) continue;
      const compiled = environment.parse(rule);
      const { valid, error } = compiled.check();
      if (!valid) throw new Error(`CEL rule ${JSON.stringify(rule)}: ${error?.message ?? 'is not valid'}`);
      this.#compiled.set(rule, (self) => compiled({ self }));
    }
  }

  /**
   * @param value an object that has its defaults
   * @param broken paths with values of the wrong shape; no rule is asked about these or about what contains them, as a
   *   rule may take the shape for granted
   */
  check(value: unknown, path: FieldPath, broken: readonly FieldPath[]): Problem[] {
    return this.#visit(this.#schema, value, path, broken);
  }

  #visit(schema: SchemaNode, value: unknown, path: FieldPath, broken: readonly FieldPath[]): Problem[] {
    const problems: Problem[] = [];
    const rules = schema['x-kubernetes-validations'] ?? [];
    if (rules.length > 0 && !broken.some((other) => isWithin(other, path))) {
      const self = toCel(schema, value);
      for (const rule of rules) {
        const evaluate = this.#compiled.get(rule.rule);
        if (evaluate !== undefined && evaluate(self) !== true) problems.push(problem(rule, value, path));
      }
    }
    if (Array.isArray(value)) {
      const { items } = schema;
      if (items === undefined) return problems;
      const list: readonly unknown[] = value;
      return [
        ...problems,
        ...list.flatMap((item, index) => this.#visit(items, item, [...path, index], broken)),
      ];
    }
    if (!isObject(value)) return problems;
    const inside = Object.entries(value).flatMap(([key, inner]) => {
      const innerSchema = fieldSchema(schema, key);
      return innerSchema === undefined ? [] : this.#visit(innerSchema, inner, [...path, key], broken);
    });
    return [...problems, ...inside];
  }
}

function allRules(schema: SchemaNode): CelRule[] {
  const { properties = {}, items, additionalProperties } = schema;
  const inner = [...Object.values(properties), items, additionalProperties];
  return [
    ...(schema['x-kubernetes-validations'] ?? []),
    ...inner.flatMap((one) => (one === undefined ? [] : allRules(one))),
  ];
}

/** CEL tells integers from floating-point numbers, and its maps have no members by birth. */
function toCel(schema: SchemaNode | undefined, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => toCel(schema?.items, item));
  if (isObject(value)) {
    return new Map(
      Object.entries(value).map(([key, inner]) => [key, toCel(schema && fieldSchema(schema, key), inner)]),
    );
  }
  return typeof value === 'number' && schema?.type === 'integer' ? BigInt(value) : value;
}

function problem(rule: CelRule, value: unknown, path: FieldPath): Problem {
  const field = rule.fieldPath === undefined ? path : [...path, ...rule.fieldPath.split('.').slice(1)];
  if (rule.reason === 'FieldValueRequired')
    return { path: field, message: `Required value: ${rule.message}` };
  if (rule.reason === 'FieldValueForbidden') return { path: field, message: `Forbidden: ${rule.message}` };
  // The server shows the value if it is a plain one.
  const shown = typeof value === 'object' ? '' : `${JSON.stringify(value)}: `;
  return { path: field, message: `Invalid value: ${shown}${rule.message}` };
}
