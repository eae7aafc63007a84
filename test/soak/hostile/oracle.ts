/** Which pods the maintenances of a node may make leave, read from the documentation and not from the operator's code. */
import { type Selector, selects } from '../../invariants/selector.ts';

/** All times here are milliseconds since the epoch. */
export interface SeenPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly kind: 'managed' | 'unmanaged' | 'emptyDir' | 'daemon' | 'mirror';
  /** A budget selects it. */
  readonly hasBudget: boolean;
  /** Nobody knew of it before. */
  readonly madeAt: number;
}

/** As the API server has stored it. */
export interface StoredSpec {
  readonly nodeName: string;
  readonly nodeDrainPolicy?: string;
  readonly suspend?: boolean;
  readonly drain?: {
    readonly podSelector?: Selector;
    readonly unmanagedPods?: string;
    readonly emptyDirPods?: string;
    readonly timeoutSeconds?: number;
    readonly onTimeout?: string;
    readonly deleteBlockedAfterSeconds?: number;
    readonly unsatisfiableBudgets?: string;
  };
}

/** A spec, from its creation or an edit on. */
export interface Version {
  readonly spec: StoredSpec;
  /** The operator cannot have known it before. */
  readonly askedAt: number;
  /** The operator has said something of it by then; Infinity: nobody has seen that. */
  seenAt: number;
}

/** What was asked of one maintenance, the oldest version first. */
export interface Life {
  readonly versions: Version[];
  /** Infinity: not yet. */
  deletionAskedAt: number;
}

/** A request of the operator about a pod. */
export interface Asked {
  readonly what: 'eviction' | 'deletion';
  readonly at: number;
}

/** What a maintenance says of itself now. */
export interface SaidMaintenance {
  readonly spec: StoredSpec;
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly reason?: string }[];
    readonly blockers?: readonly { readonly pod: { readonly namespace: string; readonly name: string } }[];
    readonly blockersTotal?: number;
  };
}

/** Reasons of Ready for which nobody is asked to leave at the moment. */
const STANDS_STILL = [
  'Cordoning',
  'Updating',
  'UncordonedByHand',
  'WaitingForTurn',
  'Suspended',
  'DrainFailed',
  'InvalidSpec',
  'NotPermitted',
];
/** Until then a budget that holds a pod for ever does not count as one (docs/drain.md). */
const HOPELESS_MS = 60_000;
/** Times in status are in whole seconds, and so is each pause of a deadline: that much too early is in time. */
const ROUNDED_MS = 2000;
/** So long may a request be on its way: what the operator learned less than that before may not be in it. */
const ON_THE_WAY_MS = 3000;

/** Why the operator should not have asked this; `undefined`: nothing is wrong with it, as far as can be known. */
export function objection(pod: SeenPod, asked: Asked, lives: readonly Life[]): string | undefined {
  const { what, at } = asked;
  if (pod.kind === 'daemon' || pod.kind === 'mirror') return 'it belongs to the node';
  if (what === 'deletion' && !pod.hasBudget) return 'no budget can have refused it';
  const decidedAfter = Math.max(pod.madeAt, at - ON_THE_WAY_MS);
  const ofNode = lives.filter(({ versions }) => versions[0]?.spec.nodeName === pod.node);
  const isFine = (life: Life, spec: StoredSpec): boolean =>
    consents(spec, pod) &&
    (what === 'eviction' || !evacuates(spec) || at >= deletesFrom(spec, since(life, pod, ofNode, lives)));
  const wants = (life: Life): boolean =>
    inEffect(life, decidedAfter, at).some((spec) => covers(spec, pod) && isFine(life, spec));
  if (!ofNode.some(wants)) return 'no maintenance covers it';
  const isKnown = ({ versions, deletionAskedAt }: Life): boolean =>
    (versions[0]?.seenAt ?? Infinity) <= decidedAfter && deletionAskedAt > at;
  const against = ofNode
    .filter(isKnown)
    .map((life) => ({ life, specs: inEffect(life, decidedAfter, at) }))
    .find(({ life, specs }) => !specs.some((spec) => isFine(life, spec)))?.specs;
  return against && `a maintenance does not consent: ${JSON.stringify(against)}`;
}

/** The specs that the operator can have gone by. While an edit is on its way that may be either. */
function inEffect({ versions }: Life, decidedAfter: number, at: number): StoredSpec[] {
  return versions
    .filter(({ askedAt }, index) => {
      const isReplaced = versions.slice(index + 1).some(({ seenAt }) => seenAt <= decidedAfter);
      return askedAt <= at && !isReplaced;
    })
    .map(({ spec }) => spec);
}

const evacuates = ({ nodeDrainPolicy }: StoredSpec): boolean => nodeDrainPolicy === 'Evacuate';

/** One such maintenance is enough for the pod to be asked, where all consent. */
function covers(spec: StoredSpec, pod: SeenPod): boolean {
  const { suspend, drain = {} } = spec;
  return evacuates(spec) && suspend !== true && selects(drain.podSelector ?? {}, pod.labels);
}

/** All have to, also one that is suspended and one whose podSelector leaves the pod out. */
function consents(spec: StoredSpec, { kind }: SeenPod): boolean {
  const { drain = {} } = spec;
  if (!evacuates(spec)) return true;
  if (kind === 'unmanaged' && drain.unmanagedPods !== 'Evict') return false;
  return kind !== 'emptyDir' || drain.emptyDirPods === 'Evict';
}

/** The earliest moments at which something can have begun. */
interface Since {
  readonly drain: number;
  readonly refusal: number;
  /** Of the first drain of all: before it nobody looked at budgets. */
  readonly budget: number;
}

function since(
  { versions }: Life,
  { madeAt }: SeenPod,
  ofNode: readonly Life[],
  all: readonly Life[],
): Since {
  const drain = versions[0]?.askedAt ?? Infinity;
  return { drain, refusal: Math.max(madeAt, firstOf(ofNode)), budget: firstOf(all) };
}

const firstOf = (lives: readonly Life[]): number =>
  Math.min(...lives.map(({ versions }) => versions[0]?.askedAt ?? Infinity));

/** From when on it consents to the deletion of a pod that its budget refuses, at the earliest. */
function deletesFrom({ drain = {} }: StoredSpec, { drain: drainSince, refusal, budget }: Since): number {
  const { timeoutSeconds = Infinity, onTimeout, deleteBlockedAfterSeconds = Infinity } = drain;
  const moments = [
    onTimeout === 'Delete' ? drainSince + timeoutSeconds * 1000 : Infinity,
    refusal + deleteBlockedAfterSeconds * 1000,
    drain.unsatisfiableBudgets === 'Delete' ? budget + HOPELESS_MS : Infinity,
  ];
  return Math.min(...moments) - ROUNDED_MS;
}

/**
 * Of the pods that are on a node, those that its only maintenance wants to leave, that nothing is known to hold, and of which
 * it says nothing.
 */
export function neglected(pods: readonly SeenPod[], { spec, status = {} }: SaidMaintenance): SeenPod[] {
  const ready = status.conditions?.find(({ type }) => type === 'Ready')?.reason ?? '';
  if (STANDS_STILL.includes(ready)) return [];
  const { blockers = [], blockersTotal = 0 } = status;
  const named = new Set(blockers.map(({ pod }) => `${pod.namespace}/${pod.name}`));
  const left = pods.filter(
    (pod) =>
      pod.kind !== 'daemon' &&
      pod.kind !== 'mirror' &&
      pod.node === spec.nodeName &&
      !pod.hasBudget &&
      covers(spec, pod) &&
      consents(spec, pod) &&
      !named.has(`${pod.namespace}/${pod.name}`),
  );
  return left.length > blockersTotal - blockers.length ? left : [];
}
