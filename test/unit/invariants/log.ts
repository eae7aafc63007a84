/** Entries as the API server writes them, for tests of the rules. */
import type { AuditEntry } from '../../e2e/support/audit.ts';
import type { RuleScope } from '../../invariants/request-rules.ts';

/** For rules that look at all that there is. */
export const everything: RuleScope = {
  ownsNamespace: () => true,
  ownsNode: () => true,
  deletionsExpected: new Set(),
  outages: [],
};

const START = Date.UTC(2026, 0, 1);
const CODES: Readonly<Record<string, number>> = { create: 201 };

export interface Asked {
  /** Seconds since the beginning; 0 unless given. */
  readonly at?: number;
  /** Seconds until the answer; 0.01 unless given. */
  readonly took?: number;
  readonly byOperator?: boolean;
  readonly code?: number;
  readonly request?: unknown;
  readonly response?: unknown;
}

/** `what` is a verb, and a resource with or without a subresource: `create pods/eviction`. */
export function entry(what: string, where: string, asked: Asked = {}): AuditEntry {
  const { at = 0, took = 0.01, byOperator = false, request, response } = asked;
  const [verb = '', path = ''] = what.split(' ');
  const [resource = '', subresource] = path.split('/');
  const [name = '', namespace] = where.split('/').toReversed();
  return {
    auditID: `${what} ${where} ${at}`,
    stage: 'ResponseComplete',
    verb,
    requestURI: `/${path}/${where}`,
    userAgent: byOperator ? 'haulout/0.1' : 'somebody',
    user: { username: 'somebody' },
    objectRef: {
      resource,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(subresource === undefined ? {} : { subresource }),
    },
    responseStatus: { code: asked.code ?? CODES[verb] ?? 200 },
    ...(request === undefined ? {} : { requestObject: request }),
    ...(response === undefined ? {} : { responseObject: response }),
    requestReceivedTimestamp: new Date(START + at * 1000).toISOString(),
    stageTimestamp: new Date(START + (at + took) * 1000).toISOString(),
  };
}

export interface PodOptions {
  readonly at?: number;
  readonly controller?: string;
  /** Its UID; one of the pod's own unless given. */
  readonly owner?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A pod that was made, bound and got Ready within a second. */
export function pod(name: string, node: string, options: PodOptions = {}): AuditEntry[] {
  const {
    at = 0,
    controller = 'ReplicaSet',
    owner = `owner-of-${name}`,
    labels = {},
    annotations = {},
  } = options;
  const ownerReferences = [{ kind: controller, uid: owner, controller: true }];
  const metadata = { name, uid: `uid-${name}`, labels, annotations, ownerReferences };
  const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  return [
    entry('create pods', `ns/${name}`, { at, response: { metadata, spec: {} } }),
    entry('create pods/binding', `ns/${name}`, { at: at + 0.1, request: { target: { name: node } } }),
    entry('patch pods/status', `ns/${name}`, { at: at + 0.2, request: { status: ready } }),
  ];
}

export function eviction(name: string, at: number, code = 201): AuditEntry {
  const request = { deleteOptions: { preconditions: { uid: `uid-${name}` } } };
  return entry('create pods/eviction', `ns/${name}`, { at, code, request, byOperator: true });
}

/** By the operator, past the pod's budget. */
export function deletion(name: string, at: number, code = 200): AuditEntry {
  const request = { preconditions: { uid: `uid-${name}` } };
  return entry('delete pods', `ns/${name}`, { at, code, request, byOperator: true });
}

/** The kubelet says that it has stopped. */
export function gone(name: string, at: number, code = 200): AuditEntry {
  return entry('delete pods', `ns/${name}`, { at, code, request: { gracePeriodSeconds: 0 } });
}
