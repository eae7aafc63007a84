// JSON schemas of the built-in kinds, for kubeconform, from the OpenAPI documents that the pinned Kubernetes module holds.
// Nothing is downloaded that building the test cluster does not download as well.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { goModuleDirectory } from './cluster/lib/go-modules.ts';

interface JsonObject {
  readonly [key: string]: unknown;
}

const prefix = '#/components/schemas/';

/**
 * Writes a file KIND-GROUP-VERSION.json (KIND-VERSION.json for the core group) for every kind, all in lower case and GROUP
 * up to its first dot, as kubeconform's {{ .ResourceKind }}{{ .KindSuffix }} asks for it. Unknown fields are refused.
 * @throws if the Go module cannot be had
 */
export function writeKubernetesSchemas(directory: string): void {
  const documents = join(goModuleDirectory('kubernetes', 'k8s.io/kubernetes'), 'api/openapi-spec/v3');
  for (const file of readdirSync(documents).filter((name) => name.endsWith('_openapi.json'))) {
    const schemas = object(
      object(readJson(readFileSync(join(documents, file), 'utf8'))['components'])['schemas'],
    );
    for (const [name, schema] of Object.entries(schemas)) {
      const kinds: unknown = object(schema)['x-kubernetes-group-version-kind'];
      // Several kinds: DeleteOptions and the like, which nobody writes into a manifest.
      if (!Array.isArray(kinds) || kinds.length !== 1) continue;
      const [only]: readonly unknown[] = kinds;
      const text = JSON.stringify({ $ref: `#/definitions/${name}`, definitions: closure(schemas, name) });
      writeFileSync(join(directory, `${fileName(object(only))}.json`), text);
    }
  }
}

function fileName({ group, version, kind }: JsonObject): string {
  const [shortGroup] = asText(group).split('.');
  return [asText(kind), shortGroup, asText(version)]
    .filter((part) => part !== '')
    .join('-')
    .toLowerCase();
}

function readJson(json: string): JsonObject {
  return object(JSON.parse(json));
}

function asText(value: unknown): string {
  if (typeof value !== 'string') throw new Error(`expected a string, found ${JSON.stringify(value)}`);
  return value;
}

/** The schema of that name and all that it refers to, as definitions. */
function closure(schemas: JsonObject, root: string): JsonObject {
  const found = new Map<string, unknown>();
  const waiting = [root];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue;
    found.set(
      name,
      definition(schemas[name], (reference) => waiting.push(reference)),
    );
  }
  return Object.fromEntries(found);
}

function definition(value: unknown, refer: (name: string) => void): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => definition(item, refer));
  if (typeof value !== 'object' || value === null) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(object(value))) {
    if (key === '$ref' && typeof inner === 'string' && inner.startsWith(prefix)) {
      const name = inner.slice(prefix.length);
      refer(name);
      copy[key] = `#/definitions/${name}`;
    } else {
      copy[key] = definition(inner, refer);
    }
  }
  const isObjectSchema = 'properties' in copy && copy['type'] === 'object';
  if (isObjectSchema && !('additionalProperties' in copy)) copy['additionalProperties'] = false;
  return copy;
}

/** The value if it is a JSON object, or else an empty one. */
function object(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
