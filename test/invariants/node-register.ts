/** What the operator has put on each node and not taken off again, learned from the audit log alone. */
import { as } from '../../hack/cluster/lib/untyped.ts';
import { type AuditEntry, isByOperator } from '../e2e/support/audit.ts';
import { answeredAt, isOk, isUncertain } from './pod-register.ts';

interface LoggedNode {
  readonly metadata?: {
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
  };
  readonly spec?: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
  };
}

/** What is on a node, such as `label a/b` or `taint a/b:NoSchedule`, with its value. */
type Items = ReadonlyMap<string, string>;

/** A node as it was after a write. */
interface Write {
  readonly node: string;
  readonly uid: string;
  /** By which writes are put in order: answers are written down in another one. */
  readonly version: number;
  readonly answeredAt: number;
  readonly byOperator: boolean;
  /** What is new may have come from the operator. */
  readonly mayAdd: boolean;
  readonly items: Items;
  readonly when: string;
}

interface KnownNode extends Pick<Write, 'uid' | 'items'> {
  /** With the values that the operator gave them. */
  readonly ours: Items;
}

/** The node lifecycle controller puts it on and takes it off after spec.unschedulable. */
const CORDON_TAINT = 'taint node.kubernetes.io/unschedulable:NoSchedule';

/** Whoever has put these on: they are not left where nobody maintains the node. */
const OURS = new Set(['annotation haulout.dev/maintenance', 'finalizer haulout.dev/evacuate']);

export class NodeRegister {
  readonly #nodes = new Map<string, KnownNode>();
  /** Nodes that the operator has written or not: what is new on them is counted as its own. */
  readonly #doubtful = new Set<string>();
  #open: Write[] = [];

  see(entry: AuditEntry): void {
    const { objectRef, verb } = entry;
    if (objectRef?.resource !== 'nodes' || objectRef.subresource !== undefined) return;
    if (isByOperator(entry) && isUncertain(entry)) this.#doubtful.add(objectRef.name ?? '');
    if (!isOk(entry) || entry.responseObject === undefined || verb === 'delete' || isDryRun(entry)) return;
    const node = as<LoggedNode>(entry.responseObject);
    this.#open.push({
      node: objectRef.name ?? '',
      uid: node.metadata?.uid ?? '',
      version: Number(node.metadata?.resourceVersion),
      answeredAt: answeredAt(entry),
      byOperator: isByOperator(entry),
      mayAdd: this.#doubtful.delete(objectRef.name ?? '') || isByOperator(entry),
      items: itemsOf(node),
      when: entry.requestReceivedTimestamp,
    });
  }

  /** One sentence for each thing of others that the operator took off or changed with a write that was answered before `until`. */
  conclude(until: number): string[] {
    const due = this.#open.filter((write) => write.answeredAt < until);
    this.#open = this.#open.filter((write) => write.answeredAt >= until);
    return due
      .toSorted((a, b) => a.version - b.version)
      .flatMap((write) => {
        const before = this.#nodes.get(write.node);
        this.#nodes.set(write.node, after(before, write));
        return [...takenOff(before, write), ...changed(before, write)];
      });
  }

  /** What the operator has put on the node, such as `label a/b`, `unschedulable`. */
  left(node: string): readonly string[] {
    const open = this.#open.filter((write) => write.node === node);
    const known = open
      .toSorted((a, b) => a.version - b.version)
      .reduce<KnownNode | undefined>(after, this.#nodes.get(node));
    return [...(known?.ours.keys() ?? [])];
  }
}

function isDryRun({ requestURI }: AuditEntry): boolean {
  return new URL(requestURI, 'http://x').searchParams.has('dryRun');
}

/** What is on a node that nobody has seen before is not the operator's; what others change is theirs from then on. */
function after(before: KnownNode | undefined, { uid, items, mayAdd }: Write): KnownNode {
  if (before?.uid !== uid) return { uid, items, ours: new Map() };
  const isOurs = ([item, value]: readonly [string, string]): boolean =>
    before.ours.get(item) === value || (mayAdd && before.items.get(item) !== value);
  return { uid, items, ours: new Map([...items].filter(isOurs)) };
}

function takenOff(before: KnownNode | undefined, { node, uid, items, byOperator, when }: Write): string[] {
  if (before?.uid !== uid || !byOperator) return [];
  return [...before.items.keys()]
    .filter((item) => !items.has(item) && !before.ours.has(item) && !OURS.has(item))
    .map((item) => `took off what others had put on node ${node}: ${item} (${when})`);
}

function changed(before: KnownNode | undefined, { node, uid, items, byOperator, when }: Write): string[] {
  if (before?.uid !== uid || !byOperator) return [];
  return [...before.items].flatMap(([item, value]) => {
    const now = items.get(item);
    if (now === undefined || now === value || before.ours.has(item) || OURS.has(item)) return [];
    return [`changed what others had put on node ${node}: ${item} from "${value}" to "${now}" (${when})`];
  });
}

function itemsOf({ metadata = {}, spec = {} }: LoggedNode): Items {
  const items = new Map([
    ...Object.entries(metadata.labels ?? {}).map(([key, value]) => [`label ${key}`, value] as const),
    ...Object.entries(metadata.annotations ?? {}).map(
      ([key, value]) => [`annotation ${key}`, value] as const,
    ),
    ...(metadata.finalizers ?? []).map((name) => [`finalizer ${name}`, ''] as const),
    ...(spec.taints ?? []).map(({ key, value = '', effect }) => [`taint ${key}:${effect}`, value] as const),
    ...(spec.unschedulable === true ? [['unschedulable', ''] as const] : []),
  ]);
  items.delete(CORDON_TAINT);
  return items;
}
