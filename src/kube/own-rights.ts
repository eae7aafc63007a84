import type { Client } from './client.ts';

/** A rule as the API server says it of whoever asks. */
export interface GrantedRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

interface RulesReview {
  readonly status?: {
    readonly resourceRules?: readonly GrantedRule[];
    readonly incomplete?: boolean;
    readonly evaluationError?: string;
  };
}

export type OwnRights =
  /** `excess`: what the operator never needs and what would be worth taking it over for, as `verb resource`. */
  | { readonly kind: 'known'; readonly excess: readonly string[] }
  | { readonly kind: 'unknown'; readonly why: string };

const timeoutMs = 10_000;
const rulesReviews = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';

const changes = ['create', 'update', 'patch'];
const removals = ['delete', 'deletecollection'];
const writes = [...changes, ...removals];
const tunnel = ['get', 'create'];
const rbac = 'rbac.authorization.k8s.io';
const admission = 'admissionregistration.k8s.io';

/**
 * With each of these whoever takes the operator over has most of the cluster, or can lose what it holds. Not a
 * comparison with the chart's rules: clusters give all accounts something, such as discovery, and OpenShift a good deal
 * more.
 */
const dangerous: readonly (readonly [group: string, resource: string, verbs: readonly string[]])[] = [
  ['', 'secrets', ['get', 'list', 'watch', ...writes]],
  ['', 'pods', [...changes, 'deletecollection']],
  ['', 'pods/exec', tunnel],
  ['', 'pods/attach', tunnel],
  ['', 'pods/portforward', tunnel],
  ['', 'pods/proxy', tunnel],
  ['', 'pods/ephemeralcontainers', ['update', 'patch']],
  ['', 'nodes', ['create', 'update', ...removals]],
  ['', 'nodes/proxy', tunnel],
  ['', 'services/proxy', tunnel],
  ['', 'namespaces', ['update', 'patch', ...removals]],
  ['', 'persistentvolumeclaims', ['update', 'patch', ...removals]],
  ['', 'persistentvolumes', writes],
  ['', 'replicationcontrollers', writes],
  ['', 'serviceaccounts/token', ['create']],
  ['', 'users', ['impersonate']],
  ['', 'groups', ['impersonate']],
  ['', 'serviceaccounts', ['impersonate']],
  ['apps', 'deployments', ['create', 'update', ...removals]],
  ['apps', 'daemonsets', writes],
  ['apps', 'statefulsets', writes],
  ['apps', 'replicasets', writes],
  ['batch', 'jobs', writes],
  ['batch', 'cronjobs', writes],
  ['policy', 'poddisruptionbudgets', writes],
  ['storage.k8s.io', 'volumeattachments', writes],
  [rbac, 'clusterroles', ['escalate', 'bind', ...changes]],
  [rbac, 'roles', ['escalate', 'bind', ...changes]],
  [rbac, 'clusterrolebindings', changes],
  [rbac, 'rolebindings', changes],
  [admission, 'mutatingwebhookconfigurations', writes],
  [admission, 'validatingwebhookconfigurations', writes],
  [admission, 'mutatingadmissionpolicies', writes],
  [admission, 'mutatingadmissionpolicybindings', writes],
  [admission, 'validatingadmissionpolicies', writes],
  [admission, 'validatingadmissionpolicybindings', writes],
  ['apiextensions.k8s.io', 'customresourcedefinitions', writes],
  ['apiregistration.k8s.io', 'apiservices', writes],
  ['certificates.k8s.io', 'certificatesigningrequests/approval', ['update', 'patch']],
  ['certificates.k8s.io', 'signers', ['approve', 'sign']],
];

/** Asks the API server what this process may do, in the whole cluster and in `namespace`. */
export async function ownRights(
  client: Pick<Client, 'create'>,
  namespace: string,
  signal: AbortSignal,
): Promise<OwnRights> {
  const answer = await client.create<RulesReview>(
    rulesReviews,
    { spec: { namespace } },
    { timeoutMs, signal },
  );
  if (answer.kind !== 'ok') return { kind: 'unknown', why: answer.message };
  const { resourceRules = [], incomplete = false, evaluationError = '' } = answer.object.status ?? {};
  const excess = excessOf(resourceRules);
  // What an authorizer that cannot list its rules grants beside them is known to nobody.
  return incomplete && excess.length === 0
    ? { kind: 'unknown', why: evaluationError || 'the API server does not know all rules' }
    : { kind: 'known', excess };
}

/** Rules for single names give little away, and pass. */
export function excessOf(rules: readonly GrantedRule[]): string[] {
  const general = rules.filter(({ resourceNames = [] }) => resourceNames.length === 0);
  if (general.some((rule) => allows(rule, '*', '*', '*'))) return ['do everything (cluster-admin)'];
  return dangerous.flatMap(([group, resource, verbs]) => {
    const granted = verbs.filter((verb) => general.some((rule) => allows(rule, group, resource, verb)));
    return granted.length === 0 ? [] : [`${granted.join('/')} ${resource}`];
  });
}

function allows(rule: GrantedRule, group: string, resource: string, verb: string): boolean {
  const { verbs, apiGroups = [], resources = [] } = rule;
  const [main, subresource] = resource.split('/');
  const names = ['*', resource, ...(subresource === undefined ? [] : [`*/${subresource}`, `${main}/*`])];
  return (
    (verbs.includes('*') || verbs.includes(verb)) &&
    (apiGroups.includes('*') || apiGroups.includes(group)) &&
    names.some((name) => resources.includes(name))
  );
}
