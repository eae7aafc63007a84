/** Clusters in which nothing goes on, for tests of the checks at rest. */
import { lostAtRest } from '../../invariants/at-rest.ts';
import type {
  ClusterState,
  StateBudget,
  StateMaintenance,
  StateNode,
  StatePod,
} from '../../invariants/state.ts';

type Condition = NonNullable<NonNullable<StateMaintenance['status']>['conditions']>[number];
type Spec = Partial<StateMaintenance['spec']>;

/** `Ready=True/Drained Cordoned=True/Cordoned`. */
function conditions(words: string): Condition[] {
  return words.split(' ').map((word) => {
    const [type = '', status = '', reason = ''] = word.split(/[=/]/);
    return { type, status, reason };
  });
}

/** It holds node n at generation 2, unless `words` say something else of Cordoned. */
export function maintenance(
  words: string,
  spec: Spec = {},
  status: Partial<NonNullable<StateMaintenance['status']>> = {},
  metadata: object = {},
): StateMaintenance {
  const all = conditions(words.includes('Cordoned=') ? words : `${words} Cordoned=True/Cordoned`);
  return {
    metadata: { name: 'm', generation: 2, ...metadata },
    spec: { nodeName: 'n', ...spec },
    status: { observedGeneration: 2, conditions: all, ...status },
  };
}

/** Each blocker as `Cause pod`. */
export function blocked(words: string, blockers: readonly string[], spec: Spec = {}): StateMaintenance {
  const list = blockers.map((blocker) => {
    const [cause = '', name = ''] = blocker.split(' ');
    return { cause, pod: { namespace: 'ns', name } };
  });
  return maintenance(words, spec, { blockers: list, blockersTotal: list.length });
}

export const node = (name = 'n', more: object = {}): StateNode => ({
  metadata: { name },
  spec: { unschedulable: true },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
  ...more,
});

export const labels = { app: 'x' };

/** Of a ReplicaSet, unless `metadata` says otherwise. */
export const pod = (name = 'p', metadata: object = {}, spec: object = {}, status: object = {}): StatePod => ({
  metadata: {
    name,
    namespace: 'ns',
    labels,
    ownerReferences: [{ kind: 'ReplicaSet', controller: true }],
    ...metadata,
  },
  spec: { nodeName: 'n', ...spec },
  status,
});
export const bare = (name = 'p'): StatePod => pod(name, { ownerReferences: [] });
export const scratch = (name = 'p'): StatePod => pod(name, {}, { volumes: [{ emptyDir: {} }] });
export const daemon = pod('agent', { ownerReferences: [{ kind: 'DaemonSet', controller: true }] });
export const leaving = pod('p', { deletionTimestamp: 'now' });

export const budget = (status: object, metadata: object = {}): StateBudget => ({
  metadata: { name: 'b', namespace: 'ns', generation: 1, ...metadata },
  spec: { selector: { matchLabels: labels } },
  status: { observedGeneration: 1, ...status },
});

export const cluster = (state: Partial<ClusterState>): ClusterState => ({
  nodes: [node()],
  maintenances: [],
  pods: [],
  budgets: [],
  attachments: [],
  claims: [],
  namespaces: [{ metadata: { name: 'ns' } }],
  ...state,
});

/** What is lost where there is only this maintenance. */
export const lost = (one: StateMaintenance, others: Partial<ClusterState> = {}): string[] =>
  lostAtRest(cluster({ maintenances: [one], ...others }), () => []);
