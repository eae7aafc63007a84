import { excludeFromLoadBalancersLabel, maintenanceTaintEffect, maintenanceTaintKey } from '../api/names.ts';
import { subdomainProblem } from '../api/syntax.ts';
import type { Node, Taint } from '../kube/types.ts';
import { compareText } from '../runtime/compare.ts';
import { cleanMessage } from '../runtime/plain-text.ts';

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

// All annotations of an object together may have 256 KiB: any number of maintenances with long reasons fits.
const mostHolders = 64;
const longestReason = 256;
// Earlier versions wrote all of them down.
const mostHoldersRead = 1_000;

const kubernetesLabel = /^([^/]+\.)?(kubernetes|k8s)\.io\//;
const reservedTaintPrefixes = ['haulout.dev/', 'node.kubernetes.io/', 'node.cloudprovider.kubernetes.io/'];

/** The same data always gives the same text: a write that would change nothing is recognised by it. */
export function formatRecord(record: NodeRecord): string {
  return JSON.stringify({
    holders: record.holders
      .slice(0, mostHolders)
      .map(({ name, uid, reason }) => ({ name, uid, reason: cleanMessage(reason, longestReason) })),
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

/**
 * `undefined` for anything that is not a complete record: half a record is as good as none. Whoever may write the Node
 * may write the record as well, its kubelet among them: what a kubelet may not take off is not taken off for it.
 */
export function parseRecord(text: string): NodeRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || !Array.isArray(value['holders'])) return undefined;
  if (value['holders'].length > mostHoldersRead) return undefined;
  const holders = value['holders'].map(parseHolder);
  const restore = parseRestoreData(value);
  if (restore === undefined || holders.includes(undefined)) return undefined;
  // With its last holder the record goes: one without any is somebody else's.
  if (holders.length === 0) return undefined;
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
  return { before: { unschedulable }, added: { labels: withoutForeign(labels), annotations, taints } };
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
  if (subdomainProblem(name) !== undefined) return undefined;
  return { name, uid, reason };
}

function parseStrings(value: unknown): Record<string, string> | undefined {
  if (!isObject(value)) return undefined;
  const entries = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return entries.length === Object.keys(value).length ? Object.fromEntries(entries) : undefined;
}

/** A kubelet may not take labels of Kubernetes' own off its Node, and must not have haulout do it. */
function withoutForeign(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).filter(
      ([key]) => key === excludeFromLoadBalancersLabel || !kubernetesLabel.test(key),
    ),
  );
}

function parseTaints(value: unknown): Taint[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const taints: Taint[] = [];
  for (const item of value as unknown[]) {
    if (!isObject(item)) return undefined;
    const { key, value: taintValue, effect } = item;
    if (typeof key !== 'string' || typeof effect !== 'string') return undefined;
    if (!isPutOn(key, effect)) continue;
    taints.push({
      key,
      ...(typeof taintValue === 'string' && taintValue !== '' ? { value: taintValue } : {}),
      effect,
    });
  }
  return taints;
}

/** As the schema of spec.taints has it, and the mark. */
function isPutOn(key: string, effect: string): boolean {
  if (key === maintenanceTaintKey) return effect === maintenanceTaintEffect;
  const isReserved = reservedTaintPrefixes.some((prefix) => key.startsWith(prefix));
  return !isReserved && (effect === 'NoSchedule' || effect === 'PreferNoSchedule');
}

function sortedByKey(strings: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(strings).toSorted(([a], [b]) => compareText(a, b)));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
