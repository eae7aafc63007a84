// The part of an object that every kind has. Only what people write is judged here, not what servers fill in.
import type { Problem } from './problem.ts';
import { isObject, type SchemaNode } from './schema.ts';
import { labelKeyProblem, labelValueProblem, subdomainProblem } from './syntax.ts';

const text: SchemaNode = { type: 'string' };
const map: SchemaNode = { type: 'object', additionalProperties: text };

/** Fields of metadata, for the search for unknown ones. */
export const metadataSchema: SchemaNode = {
  type: 'object',
  properties: {
    name: text,
    generateName: text,
    namespace: text,
    labels: map,
    annotations: map,
    finalizers: { type: 'array', items: text },
    ownerReferences: {},
    uid: text,
    resourceVersion: text,
    generation: {},
    creationTimestamp: text,
    deletionTimestamp: text,
    deletionGracePeriodSeconds: {},
    managedFields: {},
    selfLink: text,
  },
};

/** What is wrong with `metadata`: name, labels and annotations. */
export function metadataProblems(metadata: unknown): Problem[] {
  if (metadata === undefined || metadata === null) return nameProblems({});
  if (!isObject(metadata))
    return [{ path: ['metadata'], message: 'Invalid value: metadata must be an object' }];
  return [
    ...nameProblems(metadata),
    ...mapProblems('labels', metadata),
    ...mapProblems('annotations', metadata),
  ];
}

function nameProblems({ name, generateName }: Readonly<Record<string, unknown>>): Problem[] {
  const path = ['metadata', 'name'];
  if (name === undefined || name === null || name === '') {
    if (typeof generateName === 'string' && generateName !== '') return [];
    return [{ path, message: 'Required value: name or generateName is required' }];
  }
  if (typeof name !== 'string') {
    const hint = `write it in quotes: "${JSON.stringify(name)}"`;
    return [{ path, message: 'Invalid value: a name must be a string', hint }];
  }
  if (subdomainProblem(name) === undefined) return [];
  return [{ path, message: `Invalid value: ${JSON.stringify(name)}: ${serverSentence(name)}` }];
}

/** In the words of the API server, which differ from ours. */
function serverSentence(name: string): string {
  if (name.length > 253) return 'must be no more than 253 characters';
  return "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
}

function mapProblems(
  field: 'labels' | 'annotations',
  metadata: Readonly<Record<string, unknown>>,
): Problem[] {
  const { [field]: value } = metadata;
  if (value === undefined || value === null) return [];
  if (!isObject(value)) {
    return [{ path: ['metadata', field], message: `Invalid value: ${field} must be a map of strings` }];
  }
  return Object.entries(value).flatMap(([key, inner]) => {
    const problem = entryProblem(field, key, inner);
    return problem === undefined ? [] : [{ path: ['metadata', field, key], ...problem }];
  });
}

function entryProblem(
  field: 'labels' | 'annotations',
  key: string,
  value: unknown,
): Omit<Problem, 'path'> | undefined {
  const keyProblem = labelKeyProblem(field === 'annotations' ? key.toLowerCase() : key);
  if (keyProblem !== undefined) return { message: `Invalid value: ${JSON.stringify(key)}: ${keyProblem}` };
  // The server reads null as an empty string.
  if (value === null) return undefined;
  if (typeof value !== 'string') {
    const hint = `write it in quotes: "${JSON.stringify(value)}"`;
    return { message: 'Invalid value: must be a string', hint };
  }
  const valueProblem = field === 'labels' ? labelValueProblem(value) : undefined;
  if (valueProblem === undefined) return undefined;
  return { message: `Invalid value: ${JSON.stringify(value)}: ${valueProblem}` };
}
