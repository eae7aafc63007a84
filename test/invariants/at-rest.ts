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
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export interface StatePod {
  readonly metadata: Meta;
  readonly spec: { readonly nodeName?: string; readonly volumes?: readonly { readonly emptyDir?: object }[] };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export interface StateBudget {
  readonly metadata: Meta;
  readonly spec: { readonly selector?: Selector };
  readonly status?: { readonly observedGeneration?: number; readonly disruptionsAllowed?: number };
}

export interface StateMaintenance {
  readonly metadata: Meta;
  readonly spec: {
    readonly nodeName: string;
    readonly drain?: {
      readonly skipWaitForDeleteTimeoutSeconds?: number;
      readonly podSelector?: Selector;
      readonly unmanagedPods?: string;
      readonly emptyDirPods?: string;
    };
  };
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

export interface StateAttachment {
  readonly spec: { readonly nodeName: string };
}

/** As lists of the API server show it. */
export interface ClusterState {
  readonly nodes: readonly StateNode[];
  readonly maintenances: readonly StateMaintenance[];
  readonly pods: readonly StatePod[];
  readonly budgets: readonly StateBudget[];
  readonly attachments: readonly StateAttachment[];
}

const OURS = 'haulout.dev/';
const NODE_CONDITIONS = ['MaintenancePlanned', 'MaintenanceInProgress', 'DrainInProgress', 'Drained'];
/** Reasons of Ready that nobody may be left with. */
const PASSING = ['Cordoning', 'Updating', 'Restoring'];
const NOT_THERE = ['NodeNotFound', 'NodeGone'];

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
  const { metadata, spec, status } = maintenance;
  const { name, deletionTimestamp, finalizers = [] } = metadata;
  if (deletionTimestamp !== undefined)
    return [`${name} was deleted at ${deletionTimestamp} and is held by ${finalizers.join(', ')}`];
  const ready = said(maintenance, 'Ready');
  if (!ready || status?.observedGeneration !== metadata.generation)
    return [`${name} is forgotten: generation ${metadata.generation}, seen ${status?.observedGeneration}`];
  const reason = ready.reason ?? '';
  if (PASSING.includes(reason)) return [`${name} does not get past ${reason}`];
  const nodeIsThere = state.nodes.some((node) => node.metadata.name === spec.nodeName);
  if (NOT_THERE.includes(reason) && nodeIsThere) return [`${name} says ${reason}, and there is the node`];
  if (reason === 'WaitingForTurn' && isNobodyOut(state))
    return [`${name} waits for its turn, and nobody has it`];
  if (said(maintenance, 'Drained')?.status === 'True') return falselyDrained(maintenance, state);
  if (reason === 'Draining' || reason === 'DrainBlocked') return idle(maintenance, state);
  return [];
}

const said = ({ status }: StateMaintenance, type: string): Condition | undefined =>
  status?.conditions?.find((one) => one.type === type);

function isNobodyOut({ nodes, maintenances }: ClusterState): boolean {
  return (
    maintenances.every((one) => said(one, 'Ready')?.reason === 'WaitingForTurn') &&
    nodes.every(
      ({ spec, status }) =>
        spec?.unschedulable !== true &&
        status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true,
    )
  );
}

/** Pods that came back again and again are named, and pods that do not stop are not always waited for. */
function falselyDrained(maintenance: StateMaintenance, { pods }: ClusterState): string[] {
  const { metadata, spec, status = {} } = maintenance;
  const named = new Set((status.blockers ?? []).map(({ pod }) => `${pod.namespace}/${pod.name}`));
  const isPatient = (spec.drain?.skipWaitForDeleteTimeoutSeconds ?? 0) === 0;
  const there = pods.filter(
    (pod) =>
      pod.spec.nodeName === spec.nodeName &&
      hasToLeave(pod) &&
      !named.has(keyOf(pod)) &&
      (isPatient || pod.metadata.deletionTimestamp === undefined),
  );
  const unlisted = (status.blockersTotal ?? 0) - named.size;
  return there.length > unlisted
    ? [`${metadata.name} says Drained, and there is ${there.map(keyOf).join(', ')}`]
    : [];
}

/** A drain that waits for nothing. */
function idle(maintenance: StateMaintenance, state: ClusterState): string[] {
  const { metadata, spec, status = {} } = maintenance;
  const { pods, budgets, attachments } = state;
  const leaving = pods.filter((pod) => pod.spec.nodeName === spec.nodeName && isAsked(pod, maintenance));
  const isAttached = attachments.some((one) => one.spec.nodeName === spec.nodeName);
  const waitsForVolumes = said(maintenance, 'VolumesDetached')?.status === 'False' && isAttached;
  if (leaving.length === 0 && !waitsForVolumes)
    return [`${metadata.name} still drains, and nothing is left to leave`];
  const { blockers = [], blockersTotal = 0 } = status;
  const listed = new Map(blockers.map(({ cause, pod }) => [`${pod.namespace}/${pod.name}`, cause]));
  const there = new Set(pods.map(keyOf));
  const waiting = leaving.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  const unlisted = waiting.filter((pod) => !listed.has(keyOf(pod)));
  const unexplained = unlisted.length - Math.max(0, blockersTotal - blockers.length);
  return [
    ...[...listed.keys()]
      .filter((key) => !there.has(key))
      .map((key) => `${metadata.name} waits for ${key}, which is gone`),
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

/** Whether this maintenance has a say about it: what it leaves alone it need not explain. Block counts before Skip. */
function isAsked(pod: StatePod, { spec: { drain = {} } }: StateMaintenance): boolean {
  const { labels = {}, ownerReferences = [] } = pod.metadata;
  const { podSelector = {}, unmanagedPods = 'Block', emptyDirPods = 'Evict' } = drain;
  const isManaged = ownerReferences.some(({ controller }) => controller === true);
  const hasEmptyDir = pod.spec.volumes?.some(({ emptyDir }) => emptyDir !== undefined) ?? false;
  const policies = [...(isManaged ? [] : [unmanagedPods]), ...(hasEmptyDir ? [emptyDirPods] : [])];
  const isSkipped = policies.includes('Skip') && !policies.includes('Block');
  return hasToLeave(pod) && selects(podSelector, labels) && !isSkipped;
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
