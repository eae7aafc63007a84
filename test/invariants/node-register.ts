/** What the operator has put on each node and not taken off again, learned from the audit log alone. */
import { as } from '../../hack/cluster/lib/untyped.ts';
import { type AuditEntry, isByOperator } from '../e2e/support/audit.ts';
import { isOk } from './pod-register.ts';

interface LoggedNode {
  readonly metadata?: {
    readonly name?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
  };
  readonly spec?: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly { readonly key: string; readonly effect: string }[];
  };
}

interface KnownNode {
  readonly items: ReadonlySet<string>;
  readonly ours: ReadonlySet<string>;
}

/** The node lifecycle controller puts it on and takes it off after spec.unschedulable. */
const CORDON_TAINT = 'taint node.kubernetes.io/unschedulable:NoSchedule';

export class NodeRegister {
  readonly #nodes = new Map<string, KnownNode>();

  /** What the operator has put on the node, such as `label a/b`, `unschedulable`. */
  left(node: string): readonly string[] {
    return [...(this.#nodes.get(node)?.ours ?? [])];
  }

  /** One sentence for each thing of others that the operator took off. */
  see(entry: AuditEntry): string[] {
    const { objectRef, verb } = entry;
    if (objectRef?.resource !== 'nodes' || objectRef.subresource !== undefined || !isOk(entry)) return [];
    if (verb === 'delete') this.#nodes.delete(objectRef.name ?? '');
    if (entry.responseObject === undefined || verb === 'delete') return [];
    const node = as<LoggedNode>(entry.responseObject);
    const name = node.metadata?.name ?? '';
    const items = itemsOf(node);
    const before = this.#nodes.get(name);
    if (!before || verb === 'create') {
      this.#nodes.set(name, { items, ours: new Set() });
      return [];
    }
    const byUs = isByOperator(entry);
    const added = byUs ? [...items].filter((item) => !before.items.has(item)) : [];
    this.#nodes.set(name, {
      items,
      ours: new Set([...before.ours, ...added].filter((one) => items.has(one))),
    });
    if (!byUs) return [];
    return [...before.items]
      .filter((item) => !items.has(item) && !before.ours.has(item))
      .map(
        (item) => `took off what others had put on node ${name}: ${item} (${entry.requestReceivedTimestamp})`,
      );
  }
}

function itemsOf({ metadata = {}, spec = {} }: LoggedNode): Set<string> {
  const items = [
    ...Object.keys(metadata.labels ?? {}).map((key) => `label ${key}`),
    ...Object.keys(metadata.annotations ?? {}).map((key) => `annotation ${key}`),
    ...(metadata.finalizers ?? []).map((name) => `finalizer ${name}`),
    ...(spec.taints ?? []).map(({ key, effect }) => `taint ${key}:${effect}`),
    ...(spec.unschedulable === true ? ['unschedulable'] : []),
  ];
  return new Set(items.filter((item) => item !== CORDON_TAINT));
}
