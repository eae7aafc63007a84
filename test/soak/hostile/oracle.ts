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

/** So long may a request be on its way: what the operator learned less than that before may not be in it. */
const ON_THE_WAY_MS = 3000;

/** Why the operator should not have asked this; `undefined`: nothing is wrong with it, as far as can be known. */
export function objection(pod: SeenPod, asked: Asked, lives: readonly Life[]): string | undefined {
  const { what, at } = asked;
  if (pod.kind === 'daemon' || pod.kind === 'mirror') return 'it belongs to the node';
  if (what === 'deletion' && !pod.hasBudget) return 'no budget can have refused it';
  const decidedAfter = Math.max(pod.madeAt, at - ON_THE_WAY_MS);
  const ofNode = lives.filter(({ versions }) => versions[0]?.spec.nodeName === pod.node);
  const wants = (spec: StoredSpec): boolean => covers(spec, pod) && consents(spec, pod, what);
  if (!ofNode.some((life) => inEffect(life, decidedAfter, at).some(wants))) return 'no maintenance covers it';
  const isKnown = ({ versions, deletionAskedAt }: Life): boolean =>
    (versions[0]?.seenAt ?? Infinity) <= decidedAfter && deletionAskedAt > at;
  const against = ofNode
    .filter(isKnown)
    .map((life) => inEffect(life, decidedAfter, at))
    .find((specs) => !specs.some((spec) => consents(spec, pod, what)));
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
function consents(spec: StoredSpec, { kind }: SeenPod, what: Asked['what']): boolean {
  const { drain = {} } = spec;
  if (!evacuates(spec)) return true;
  if (kind === 'unmanaged' && drain.unmanagedPods !== 'Evict') return false;
  if (kind === 'emptyDir' && drain.emptyDirPods !== 'Evict') return false;
  return (
    what === 'eviction' ||
    drain.onTimeout === 'Delete' ||
    drain.unsatisfiableBudgets === 'Delete' ||
    drain.deleteBlockedAfterSeconds !== undefined
  );
}
