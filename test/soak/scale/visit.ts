/**
 * What comes with one round of the churn and goes with it, in a namespace of its own: budgets that allow, that refuse and
 * that are one too many, claims, and a pod whose DaemonSet is gone. Whatever is remembered of it is of use to no other round.
 */
import { UNATTACHED_DRIVER } from '../../../hack/cluster/lib/volumes/options.ts';
import type { Pod } from '../../../src/kube/types.ts';
import {
  budget,
  daemonSet,
  deployment,
  type Manifest,
  namespace,
  type PodOptions,
  statefulSet,
} from '../../e2e/support/builders.ts';
import { isReady } from '../../e2e/support/status.ts';
import { claimTemplate, persistentVolume } from '../../e2e/support/volumes.ts';
import { forAll } from '../bulk.ts';
import type { Fleet } from './fleet.ts';
import { PATIENCE_MS } from './play.ts';

export interface Visit {
  readonly namespace: string;
  /** Where its pods are at first, as far as there is room: nodes with these labels, within those with `pool`. */
  readonly half: Readonly<Record<string, string>>;
  readonly pool: Readonly<Record<string, string>>;
  /** One of that half, with a pod of a DaemonSet. */
  readonly node: string;
}

const WAIT = { timeoutMs: PATIENCE_MS };
const HOLD = 'test.haulout.dev/hold';
/** Budgets that must go before the pods may. */
const IN_THE_WAY = ['never', 'twice-too'];
const PODS = 6;
/** A namespace that is deleted is looked at again after half of the grace period of its pods. */
const QUICK = { stopsIn: '0s', gracePeriodSeconds: 1 };

const budgetPath = (ns: string, name = ''): string =>
  `/apis/policy/v1/namespaces/${ns}/poddisruptionbudgets/${name}`;

/** Its volumes are never attached. Once for all visits. */
export async function installDriver({ bed }: Fleet): Promise<void> {
  const metadata = { name: UNATTACHED_DRIVER };
  const spec = { attachRequired: false };
  await bed.api.create('/apis/storage.k8s.io/v1/csidrivers', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata,
    spec,
  });
}

/** Returns when all of its pods are Ready, and the one whose DaemonSet is gone is held up. */
export async function arrive({ bed }: Fleet, visit: Visit): Promise<void> {
  const { namespace: ns } = visit;
  await bed.api.create('/api/v1/namespaces', namespace(ns));
  await bed.eventually(`namespace ${ns} has its service account`, async () =>
    bed.api.find(`/api/v1/namespaces/${ns}/serviceaccounts/default`),
  );
  await bed.kubectl.apply(...manifestsOf(visit));
  await bed.eventually(
    `${PODS} pods are Ready in ${ns}`,
    async () => (await bed.api.pods(ns)).filter(isReady).length === PODS,
    WAIT,
  );
  await bed.api.remove(`/apis/apps/v1/namespaces/${ns}/daemonsets/agent`);
  await bed.eventually(
    'the pod of the DaemonSet is deleted with it',
    async () => (await agentOf(bed.api.pods(ns)))?.metadata.deletionTimestamp !== undefined,
    WAIT,
  );
}

/** Waits until the maintenances name those that are held up, and takes away what holds them. */
export async function letGo(fleet: Fleet, { namespace: ns }: Visit): Promise<void> {
  const { bed } = fleet;
  await fleet.until(
    `the pods that cannot go are named in ${ns}`,
    (all) => {
      const blockers = [...all.values()].flatMap(({ status }) => status?.blockers ?? []);
      const named = blockers.filter(({ pod }) => pod.namespace === ns).map(({ pod }) => pod.name);
      return ['never-', 'twice-'].every((prefix) => named.some((name) => name.startsWith(prefix)));
    },
    PATIENCE_MS,
  );
  await forAll(IN_THE_WAY, async (name) => bed.api.remove(budgetPath(ns, name)));
  // When a pod becomes Ready, only one of its two budgets is counted anew: the one that stays may not have been.
  const counted = { metadata: { annotations: { 'test.haulout.dev/alone': 'true' } } };
  await bed.api.mergePatch(budgetPath(ns, 'twice'), counted);
  const agent = await agentOf(bed.api.pods(ns));
  await bed.api.mergePatch(`/api/v1/namespaces/${ns}/pods/${agent?.metadata.name}`, {
    metadata: { finalizers: null },
  });
}

/** With no node being emptied: budgets that come and go meanwhile are none of the operator's business. */
export async function depart({ bed }: Fleet, { namespace: ns }: Visit): Promise<void> {
  await bed.api.create(
    budgetPath(ns).slice(0, -1),
    budget(ns, 'late', { app: 'allowed', maxUnavailable: 0 }),
  );
  await bed.api.remove(budgetPath(ns, 'late'));
  await bed.api.remove(`/api/v1/namespaces/${ns}`);
  await bed.api.remove(`/api/v1/persistentvolumes/${ns}`);
}

/** A namespace takes its time, some 10 s. */
export async function departed({ bed }: Fleet, ns: string): Promise<void> {
  await bed.eventually(
    `namespace ${ns} is gone`,
    async () => (await bed.api.find(`/api/v1/namespaces/${ns}`)) === undefined,
    WAIT,
  );
}

function manifestsOf({ namespace: ns, half, pool, node }: Visit): readonly Manifest[] {
  const volume = { driver: UNATTACHED_DRIVER, labels: { visit: ns } };
  const matchExpressions = Object.entries(half).map(([key, value]) => ({
    key,
    operator: 'In',
    values: [value],
  }));
  const nodeAffinity = {
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference: { matchExpressions } }],
  };
  const pods: PodOptions = { ...QUICK, nodeSelector: pool, spec: { affinity: { nodeAffinity } } };
  return [
    persistentVolume(ns, volume),
    deployment(ns, 'allowed', { ...pods, replicas: 2 }),
    budget(ns, 'allowed', { maxUnavailable: 1 }),
    deployment(ns, 'never', pods),
    budget(ns, 'never', { maxUnavailable: 0 }),
    deployment(ns, 'twice', pods),
    budget(ns, 'twice', { maxUnavailable: 1 }),
    budget(ns, 'twice-too', { app: 'twice', maxUnavailable: 1 }),
    statefulSet(ns, 'db', { ...pods, claimTemplates: [claimTemplate('data', volume)] }),
    daemonSet(ns, 'agent', {
      ...QUICK,
      finalizers: [HOLD],
      nodeSelector: { 'kubernetes.io/hostname': node },
    }),
  ];
}

async function agentOf(pods: Promise<readonly Pod[]>): Promise<Pod | undefined> {
  return (await pods).find(({ metadata }) => metadata.labels?.['app'] === 'agent');
}
