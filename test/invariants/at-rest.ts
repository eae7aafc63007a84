/** What must be true of a cluster in which nothing is going on any more. */
import { type Selector, selects } from './selector.ts';

interface Meta {
  readonly name: string;
  readonly namespace?: string;
  readonly generation?: number;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly { readonly kind: string; readonly controller?: boolean }[];
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
}

export interface StateNode {
  readonly metadata: Meta;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export interface StatePod {
  readonly metadata: Meta;
  readonly spec: { readonly nodeName?: string };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export interface StateBudget {
  readonly metadata: Meta;
  readonly spec: { readonly selector?: Selector };
  readonly status?: { readonly observedGeneration?: number; readonly disruptionsAllowed?: number };
}

export interface StateMaintenance {
  readonly metadata: Meta;
  readonly spec: { readonly nodeName: string };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
    readonly blockersTotal?: number;
    readonly blockers?: readonly {
      readonly cause: string;
      readonly pod: { readonly namespace: string; readonly name: string };
    }[];
  };
}

/** As lists of the API server show it. */
export interface ClusterState {
  readonly nodes: readonly StateNode[];
  readonly maintenances: readonly StateMaintenance[];
  readonly pods: readonly StatePod[];
  readonly budgets: readonly StateBudget[];
}

const OURS = 'haulout.dev/';
const NODE_CONDITIONS = ['MaintenancePlanned', 'MaintenanceInProgress', 'DrainInProgress', 'Drained'];
/** Reasons of Ready that nobody may be left with. */
const PASSING = ['Cordoning', 'Updating', 'Restoring'];

/** One sentence for each thing that is lost. `left`: what the operator has put on a node and not taken off. */
export function lostAtRest(state: ClusterState, left: (node: string) => readonly string[]): string[] {
  const held = new Set(state.maintenances.map(({ spec }) => spec.nodeName));
  const free = state.nodes.filter(({ metadata }) => !held.has(metadata.name));
  return [
    ...free.flatMap((node) => leftOn(node, left(node.metadata.name))),
    ...state.maintenances.flatMap((maintenance) => stuck(maintenance, state)),
  ];
}

/** Labels and taints of ours may be somebody else's from before: `put` knows. Nobody else has the record and the finalizer. */
function leftOn({ metadata, status = {} }: StateNode, put: readonly string[]): string[] {
  const ours = [
    ...Object.keys(metadata.annotations ?? {}).map((key) => ['annotation', key]),
    ...(metadata.finalizers ?? []).map((name) => ['finalizer', name]),
  ].flatMap(([what = '', key = '']) => (key.startsWith(OURS) ? [`${what} ${key}`] : []));
  const conditions = (status.conditions ?? [])
    .filter(({ type }) => NODE_CONDITIONS.includes(type))
    .map(({ type }) => `condition ${type}`);
  const all = new Set([...ours, ...conditions, ...put]);
  return [...all].map((what) => `left on node ${metadata.name}, which nobody maintains: ${what}`);
}

function stuck(maintenance: StateMaintenance, state: ClusterState): string[] {
  const { metadata, status } = maintenance;
  const { name, deletionTimestamp, finalizers = [] } = metadata;
  if (deletionTimestamp !== undefined)
    return [`${name} was deleted at ${deletionTimestamp} and is held by ${finalizers.join(', ')}`];
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (!ready || status?.observedGeneration !== metadata.generation)
    return [`${name} is forgotten: generation ${metadata.generation}, seen ${status?.observedGeneration}`];
  const reason = ready.reason ?? '';
  if (PASSING.includes(reason)) return [`${name} does not get past ${reason}`];
  if (reason === 'Draining' || reason === 'DrainBlocked') return idle(maintenance, state);
  return [];
}

/** A drain that waits for nothing. */
function idle({ metadata, spec, status = {} }: StateMaintenance, { pods, budgets }: ClusterState): string[] {
  const leaving = pods.filter((pod) => pod.spec.nodeName === spec.nodeName && hasToLeave(pod));
  const volumes = status.conditions?.find(({ type }) => type === 'VolumesDetached');
  if (leaving.length === 0 && volumes?.status === 'True')
    return [`${metadata.name} still drains, and nothing is left to leave`];
  const { blockers = [], blockersTotal = 0 } = status;
  const listed = new Map(blockers.map(({ cause, pod }) => [`${pod.namespace}/${pod.name}`, cause]));
  const waiting = leaving.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  const unlisted = waiting.filter((pod) => !listed.has(keyOf(pod)));
  const unexplained = unlisted.length - Math.max(0, blockersTotal - blockers.length);
  return [
    ...(unexplained > 0
      ? [
          `${metadata.name} says nothing about ${unexplained} of ${unlisted.map(keyOf).join(', ')}, which stay`,
        ]
      : []),
    ...waiting
      .filter((pod) => listed.get(keyOf(pod)) === 'PodDisruptionBudget' && isAllowed(pod, budgets))
      .map((pod) => `${metadata.name} waits for a budget of ${keyOf(pod)} that allows it to go`),
  ];
}

const keyOf = ({ metadata }: { readonly metadata: Meta }): string => `${metadata.namespace}/${metadata.name}`;

function hasToLeave({ metadata }: StatePod): boolean {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const isMirror = metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined;
  return !isMirror && owner?.kind !== 'DaemonSet';
}

function isAllowed({ metadata }: StatePod, budgets: readonly StateBudget[]): boolean {
  const own = budgets.filter(
    (budget) =>
      budget.metadata.namespace === metadata.namespace &&
      selects(budget.spec.selector, metadata.labels ?? {}),
  );
  return own.every(
    ({ metadata: { generation }, status }) =>
      own.length === 1 && status?.observedGeneration === generation && (status?.disruptionsAllowed ?? 0) > 0,
  );
}
