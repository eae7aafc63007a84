/** Which pods a set of maintenances may make leave, read from the documentation and not from the operator's code. */
import { as } from '../../../hack/cluster/lib/untyped.ts';

export interface SeenPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly kind: 'managed' | 'unmanaged' | 'emptyDir' | 'daemon' | 'mirror';
}

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[] | null;
}

/** As the API server has stored it. */
export interface StoredSpec {
  readonly nodeName: string;
  readonly nodeDrainPolicy?: string;
  readonly suspend?: boolean;
  readonly drain?: {
    readonly podSelector?: {
      readonly matchLabels?: Readonly<Record<string, string>>;
      readonly matchExpressions?: readonly Requirement[];
    };
    readonly unmanagedPods?: string;
    readonly emptyDirPods?: string;
    readonly onTimeout?: string;
    readonly deleteBlockedAfterSeconds?: number;
    readonly unsatisfiableBudgets?: string;
  };
}

/** Whether one of `specs` lets this pod be evicted. */
export function mayBeEvicted(pod: SeenPod, specs: readonly StoredSpec[]): boolean {
  if (pod.kind === 'daemon' || pod.kind === 'mirror') return false;
  return specs.some(({ nodeName, nodeDrainPolicy, suspend, drain = {} }) => {
    const evacuates = nodeName === pod.node && nodeDrainPolicy === 'Evacuate' && suspend !== true;
    if (!evacuates || !selects(drain.podSelector, pod.labels)) return false;
    if (pod.kind === 'unmanaged') return drain.unmanagedPods === 'Evict';
    return pod.kind !== 'emptyDir' || drain.emptyDirPods === 'Evict';
  });
}

/** Whether one of `specs` lets it be deleted past its budget. */
export function mayBeDeleted(pod: SeenPod, specs: readonly StoredSpec[]): boolean {
  return mayBeEvicted(
    pod,
    specs.filter(
      ({ drain = {} }) =>
        drain.onTimeout === 'Delete' ||
        drain.unsatisfiableBudgets === 'Delete' ||
        drain.deleteBlockedAfterSeconds !== undefined,
    ),
  );
}

function selects(
  selector: NonNullable<StoredSpec['drain']>['podSelector'],
  labels: Readonly<Record<string, string>>,
): boolean {
  const has = new Map(Object.entries(labels));
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  return (
    Object.entries(matchLabels).every(([key, value]) => has.get(key) === value) &&
    matchExpressions.every(({ key, operator, values }) => {
      const value = has.get(key);
      if (operator === 'Exists') return value !== undefined;
      if (operator === 'DoesNotExist') return value === undefined;
      const isAmong = value !== undefined && as<readonly string[]>(values ?? []).includes(value);
      return operator === 'In' ? isAmong : !isAmong;
    })
  );
}
