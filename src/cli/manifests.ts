// Objects in a YAML or JSON text, as kubectl reads them, with the lines they came from.
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from 'yaml';
import type { Document, Tags } from 'yaml';
import type { FieldPath } from '../api/problem.ts';
import { isObject } from '../api/schema.ts';

export type Manifest =
  | {
      readonly kind: 'object';
      readonly object: unknown;
      /** Line (from 1) of a field, or of the nearest thing around it that is there. */
      readonly lineOf: (path: FieldPath) => number;
    }
  /** The text cannot be read from here on. */
  | { readonly kind: 'syntax'; readonly line: number; readonly message: string };

type Located = Extract<Manifest, { kind: 'object' }>;

/** All objects of a text; empty documents are left out, the items of a List are objects of their own. */
export function readManifests(text: string): Manifest[] {
  const counter = new LineCounter();
  const documents = parseAllDocuments(text, {
    lineCounter: counter,
    // kubectl reads YAML 1.1, where `yes` is true and 010 is eight.
    version: '1.1',
    customTags: kubectlTags,
    prettyErrors: false,
    logLevel: 'error',
  });
  // An empty text comes back as an empty stream, which is not a list of documents.
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document): Manifest[] => {
    const [error] = document.errors;
    if (error !== undefined) {
      return [{ kind: 'syntax', line: counter.linePos(error.pos[0]).line, message: syntaxMessage(error) }];
    }
    const located = locate(document, counter);
    if (located.kind === 'syntax') return [located];
    return located.object === null ? [] : itemsOf(located);
  });
}

/** Without times of day and dates: to kubectl 10:30 and 2026-11-21 are strings. */
function kubectlTags(tags: Tags): Tags {
  return tags.filter(
    (tag) => typeof tag === 'string' || (tag.format !== 'TIME' && tag.tag !== 'tag:yaml.org,2002:timestamp'),
  );
}

function syntaxMessage(error: { code: string; message: string }): string {
  if (error.code === 'DUPLICATE_KEY') return 'the same field is written twice: keep one of them';
  return `cannot be read as YAML or JSON: ${error.message}`;
}

function locate(document: Document.Parsed, counter: LineCounter): Manifest {
  const lineAt = (offset: number) => Math.max(1, counter.linePos(offset).line);
  const first = lineAt(document.contents?.range[0] ?? document.range[0]);
  try {
    const object: unknown = document.toJS();
    return { kind: 'object', object, lineOf: (path) => lineOfPath(document, path, lineAt, first) };
  } catch (error) {
    // Aliases that point nowhere, or that blow up to a huge object.
    return { kind: 'syntax', line: first, message: error instanceof Error ? error.message : String(error) };
  }
}

function lineOfPath(
  document: Document.Parsed,
  path: FieldPath,
  lineAt: (offset: number) => number,
  first: number,
): number {
  let line = first;
  let node: unknown = document.contents;
  for (const part of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === part);
      if (pair === undefined) return line;
      if (isScalar(pair.key) && pair.key.range) line = lineAt(pair.key.range[0]);
      node = pair.value;
    } else if (isSeq(node) && typeof part === 'number') {
      const item = node.items[part];
      const range = isMap(item) || isSeq(item) || isScalar(item) ? item.range : undefined;
      if (range) line = lineAt(range[0]);
      node = item;
    } else {
      return line;
    }
  }
  return line;
}

/** `kubectl get -o yaml` writes several objects as one List. */
function itemsOf(manifest: Located): Located[] {
  const { object, lineOf } = manifest;
  if (!isObject(object) || !Array.isArray(object['items'])) return [manifest];
  if (typeof object['kind'] !== 'string' || !object['kind'].endsWith('List')) return [manifest];
  const items: readonly unknown[] = object['items'];
  return items.map((item, index) => ({
    kind: 'object',
    object: item,
    lineOf: (path) => lineOf(['items', index, ...path]),
  }));
}
