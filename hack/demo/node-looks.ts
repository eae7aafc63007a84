/** What must be the same after a maintenance as before it. */
import { isDeepStrictEqual } from 'node:util';

interface NodeObject {
  readonly metadata: {
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
  };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

export type NodeLooks = Readonly<Record<string, unknown>>;

/** Everything that a maintenance could leave behind, as a flat table; heartbeats and versions are not part of it. */
export function nodeLooks({ metadata, spec, status }: NodeObject): NodeLooks {
  const looks: Record<string, unknown> = { 'metadata.uid': metadata.uid };
  const put = (prefix: string, values: Readonly<Record<string, unknown>> = {}): void => {
    for (const [key, value] of Object.entries(values)) looks[`${prefix}[${key}]`] = value;
  };
  put('metadata.labels', metadata.labels);
  put('metadata.annotations', metadata.annotations);
  put('metadata.finalizers', Object.fromEntries((metadata.finalizers ?? []).map((name) => [name, true])));
  put('spec', spec);
  const conditions = (status?.conditions ?? []).map(({ type, status: value }) => [type, value]);
  put('status.conditions', Object.fromEntries(conditions));
  return looks;
}

/** One sentence per difference; empty when there is none. */
export function differences(before: NodeLooks, after: NodeLooks): string[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
  return keys
    .filter((key) => !isDeepStrictEqual(before[key], after[key]))
    .map((key) => `${key} was ${text(before[key])} and is ${text(after[key])}`);
}

function text(value: unknown): string {
  return value === undefined ? 'not there' : JSON.stringify(value);
}
