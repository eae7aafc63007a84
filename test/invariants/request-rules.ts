/** What no request of the operator may be, whatever a test does. */
import { as } from '../../hack/cluster/lib/untyped.ts';
import { type AuditEntry, type DeleteOptions, isByOperator, toEviction } from '../e2e/support/audit.ts';

export interface RuleScope {
  readonly ownsNamespace: (name: string) => boolean;
  readonly ownsNode: (name: string) => boolean;
  /** Namespaces in which the test asks for plain deletions (onTimeout, deleteBlockedAfterSeconds). */
  readonly deletionsExpected: ReadonlySet<string>;
  /** UIDs of pods with an eviction that the test has held up on its way. */
  readonly heldUp?: ReadonlySet<string>;
  /** When the API server was stopped and started, in milliseconds since the epoch. */
  readonly outages: readonly Outage[];
}

export interface Outage {
  readonly from: number;
  readonly to: number;
}

/** The operator's whole business, as `verb resource/subresource`; the first word of each is what the chart grants. */
const ALLOWED_WRITES = new Set([
  'patch nodes',
  'patch nodes/status',
  'create pods/eviction',
  'delete pods',
  'patch deployments',
  // Before the release is uninstalled.
  'patch deployments/scale',
  'patch nodemaintenances',
  'patch nodemaintenances/status',
  'create events',
  'patch events',
  'create leases',
  'update leases',
  'patch leases',
  // At the start: what it may do.
  'create selfsubjectrulesreviews',
  // Only with --metrics-secure, and its permissions.
  'create tokenreviews',
  'create subjectaccessreviews',
]);
/**
 * Each applies to the object that was read and no other version of it, so that one that arrives late does no harm. Evictions
 * and deletions are about a UID. Without a precondition are: new objects, which are about nothing that is there; counts of
 * the operator's own events; and the scale of its own Deployment, which whoever uninstalls it asks for.
 */
const VERSIONED = new Set([
  'patch nodes',
  'patch nodes/status',
  'patch deployments',
  'patch nodemaintenances',
  'patch nodemaintenances/status',
  'update leases',
]);
const READS = new Set(['get', 'list', 'watch']);

/** One sentence for each rule that this request broke. */
export function brokenBy(entry: AuditEntry, scope: RuleScope): string[] {
  return isByOperator(entry) && !isRefusedAtStart(entry, scope) ? ruleBrokenBy(entry, scope) : [];
}

/** A server that has just started knows no tokens yet, and forbids everything until it has read its roles. */
function isRefusedAtStart(
  { responseStatus, requestReceivedTimestamp }: AuditEntry,
  { outages }: RuleScope,
): boolean {
  const at = Date.parse(requestReceivedTimestamp);
  const refused = responseStatus?.code === 401 || responseStatus?.code === 403;
  return refused && outages.some(({ from, to }) => from <= at && at <= to);
}

function ruleBrokenBy(entry: AuditEntry, scope: RuleScope): string[] {
  const { resource = '', subresource, namespace = '', name = '' } = entry.objectRef ?? {};
  const what = `${entry.verb} ${subresource === undefined ? resource : `${resource}/${subresource}`}`;
  const where = `${what} ${namespace === '' ? name : `${namespace}/${name}`} (${entry.requestReceivedTimestamp})`;
  const isOwnNode = resource === 'nodes' && scope.ownsNode(name);
  const isOwnNamespace = scope.ownsNamespace(namespace);
  const broken: string[] = [];

  if (!READS.has(entry.verb) && !ALLOWED_WRITES.has(what)) broken.push(`unexpected request: ${where}`);
  // A namespace that is going away answers 403 to everybody, an admission webhook says no to evictions with it.
  const code = entry.responseStatus?.code;
  if (code === 401 || (code === 403 && what !== 'create pods/eviction' && what !== 'create events')) {
    broken.push(`not permitted: ${where}: ${entry.responseStatus?.message ?? ''}`);
  }
  // Admission may answer with any code: a policy does with 422. Annotations of others may leave no room.
  const isDenied = / denied (?:the )?request|metadata\.annotations: Too long/.test(
    entry.responseStatus?.message ?? '',
  );
  if ((code === 422 || code === 400) && !isDenied)
    broken.push(`malformed: ${where}: ${entry.responseStatus?.message ?? ''}`);
  if (what === 'patch nodemaintenances' && 'spec' in as<object>(entry.requestObject ?? {})) {
    broken.push(`wrote the spec, which is the user's alone: ${where}`);
  }
  const isOthers = (resource === 'nodes' && !isOwnNode) || (resource === 'deployments' && !isOwnNamespace);
  if (VERSIONED.has(what) && !isOthers && entry.requestObject !== undefined) {
    const { metadata } = as<{ metadata?: { resourceVersion?: string } }>(entry.requestObject);
    if (metadata?.resourceVersion === undefined) broken.push(`written without resourceVersion: ${where}`);
  }
  if (what === 'create pods/eviction' && isOwnNamespace) {
    const eviction = toEviction(entry);
    // Priority and fairness turns requests away before anybody reads them.
    const unread = code === 429 && entry.requestObject === undefined;
    if (eviction.uid === '' && !unread) broken.push(`eviction without a UID precondition: ${where}`);
    if (eviction.gracePeriodSeconds === 0) broken.push(`eviction with grace period 0: ${where}`);
  }
  if (what === 'delete pods' && isOwnNamespace) {
    const options = as<DeleteOptions>(entry.requestObject ?? {});
    if (!scope.deletionsExpected.has(namespace)) broken.push(`pod deleted past its budget: ${where}`);
    if (options.preconditions?.uid === undefined)
      broken.push(`deletion without a UID precondition: ${where}`);
    if (options.gracePeriodSeconds === 0) broken.push(`deletion with grace period 0: ${where}`);
  }
  return broken;
}
