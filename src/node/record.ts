import type { Node, Taint } from '../kube/types.ts';
import { compareText } from '../runtime/compare.ts';

/** What one maintenance calls itself on the node. */
export interface RecordedHolder {
  readonly name: string;
  readonly uid: string;
  readonly reason: string;
}

/** Labels, annotations and taints, as somebody put them on a node. */
export interface Additions {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
}

/** All that is needed to put a node back: kept on the node itself and mirrored in each holder's status. */
export interface RestoreData {
  /** How the node was found. */
  readonly before: { readonly unschedulable: boolean };
  /** What haulout added. Only this is ever taken off. */
  readonly added: Additions;
}

/** The value of the annotation `haulout.dev/maintenance`. */
export interface NodeRecord extends RestoreData {
  readonly holders: readonly RecordedHolder[];
}

export const noAdditions: Additions = { labels: {}, annotations: {}, taints: [] };

/** The same data always gives the same text: a write that would change nothing is recognised by it. */
export function formatRecord(record: NodeRecord): string {
  return JSON.stringify({
    holders: record.holders.map(({ name, uid, reason }) => ({ name, uid, reason })),
    before: { unschedulable: record.before.unschedulable },
    added: canonicalAdditions(record.added),
  });
}

/** Sorted, so that two descriptions of the same additions are the same text. */
export function canonicalAdditions(added: Additions): Additions {
  return {
    labels: sortedByKey(added.labels),
    annotations: sortedByKey(added.annotations),
    taints: added.taints
      .map(({ key, value, effect }) => ({ key, ...(value ? { value } : {}), effect }))
      .toSorted((a, b) => compareText(a.key + a.effect, b.key + b.effect)),
  };
}

/** `undefined` for anything that is not a complete record: half a record is as good as none. */
export function parseRecord(text: string): NodeRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || !Array.isArray(value['holders'])) return undefined;
  const holders = value['holders'].map(parseHolder);
  const restore = parseRestoreData(value);
  if (restore === undefined || holders.includes(undefined)) return undefined;
  return { holders: holders.filter((holder) => holder !== undefined), ...restore };
}

/** Reads `before` and `added`, from a node's annotation or from a status; `undefined` where either is unusable. */
export function parseRestoreData(value: unknown): RestoreData | undefined {
  if (!isObject(value) || !isObject(value['before']) || !isObject(value['added'])) return undefined;
  const unschedulable = value['before']['unschedulable'];
  const labels = parseStrings(value['added']['labels'] ?? {});
  const annotations = parseStrings(value['added']['annotations'] ?? {});
  const taints = parseTaints(value['added']['taints'] ?? []);
  if (typeof unschedulable !== 'boolean' || !labels || !annotations || !taints) return undefined;
  return { before: { unschedulable }, added: { labels, annotations, taints } };
}

export function sameTaint(a: Pick<Taint, 'key' | 'effect'>, b: Pick<Taint, 'key' | 'effect'>): boolean {
  return a.key === b.key && a.effect === b.effect;
}

export function taintsOf(node: Node): readonly Taint[] {
  return node.spec?.taints ?? [];
}

function parseHolder(value: unknown): RecordedHolder | undefined {
  if (!isObject(value)) return undefined;
  const { name, uid, reason } = value;
  if (typeof name !== 'string' || typeof uid !== 'string' || typeof reason !== 'string') return undefined;
  return { name, uid, reason };
}

function parseStrings(value: unknown): Record<string, string> | undefined {
  if (!isObject(value)) return undefined;
  const entries = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return entries.length === Object.keys(value).length ? Object.fromEntries(entries) : undefined;
}

function parseTaints(value: unknown): Taint[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const taints: Taint[] = [];
  for (const item of value as unknown[]) {
    if (!isObject(item)) return undefined;
    const { key, value: taintValue, effect } = item;
    if (typeof key !== 'string' || typeof effect !== 'string') return undefined;
    taints.push({
      key,
      ...(typeof taintValue === 'string' && taintValue !== '' ? { value: taintValue } : {}),
      effect,
    });
  }
  return taints;
}

function sortedByKey(strings: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(strings).toSorted(([a], [b]) => compareText(a, b)));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
