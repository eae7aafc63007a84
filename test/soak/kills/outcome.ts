/** What must be the same however often the operator was killed, as text without the names of one run. */
import { as } from '../../../hack/cluster/lib/untyped.ts';
import { nodeMaintenancesPath } from '../../../src/api/names.ts';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../../../src/api/types.generated.ts';
import type { Node } from '../../../src/kube/types.ts';
import type { Island } from '../../e2e/support/island.ts';
import { snapshotOf } from '../../e2e/support/node-snapshot.ts';
import { nodeCondition } from '../../e2e/support/status.ts';
import type { TestBed } from '../../e2e/support/test-bed.ts';

export async function maintenancesOf(bed: TestBed, node: string): Promise<readonly NodeMaintenance[]> {
  const all = await bed.api.list<NodeMaintenance>(nodeMaintenancesPath);
  return all.filter(({ spec }) => spec.nodeName === node);
}

export async function outcomeOf(bed: TestBed, island: Island): Promise<string> {
  const maintenances = await maintenancesOf(bed, island.node);
  const accepted = bed.audit.accepted(island.namespace).map(({ uid }) => uid);
  const restarts = bed.audit
    .entries({ verb: 'patch', resource: 'deployments', namespace: island.namespace, byOperator: true })
    .filter(({ responseStatus }) => responseStatus?.code === 200);
  const outcome = {
    node: describeNode(await bed.api.find<Node>(`/api/v1/nodes/${island.node}`)),
    maintenances: maintenances
      .toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name))
      .map((one) => ({ ...describe(one), starts: starts(bed, one.metadata.name) })),
    evicted: accepted.length,
    evictedTwice: accepted.length - new Set(accepted).size,
    podsDeleted: bed.audit.podDeletions(island.namespace).length,
    restarts: restarts.length,
  };
  return JSON.stringify(outcome, undefined, 2).replaceAll(island.name, 'ISLAND');
}

function describeNode(node: Node | undefined): object | 'gone' {
  if (!node) return 'gone';
  const snapshot = snapshotOf(node);
  return {
    ...snapshot,
    annotations: Object.keys(snapshot.annotations).toSorted(),
    maintenanceConditions: snapshot.maintenanceConditions
      .map((type) => `${type}=${nodeCondition(node, type)?.status}`)
      .toSorted(),
  };
}

function describe({ metadata, status }: NodeMaintenance): object {
  return {
    name: metadata.name,
    finalizers: metadata.finalizers,
    isObserved: status?.observedGeneration === metadata.generation,
    phase: status?.phase,
    conditions: status?.conditions
      ?.map(({ type, status: value, reason }) => `${type}=${value}/${reason}`)
      .toSorted(),
    pods: status?.drain?.pods,
    blockers: status?.blockersTotal,
  };
}

/** How many times it was begun, of the maintenance and of its drain: a restart goes on with the first. */
function starts(bed: TestBed, name: string): object {
  const written = bed.audit
    .entries({ resource: 'nodemaintenances', subresource: 'status', name, byOperator: true })
    .filter(({ responseStatus }) => responseStatus?.code === 200)
    .map(({ requestObject }) => as<{ status?: NodeMaintenanceStatus }>(requestObject).status);
  return {
    maintenance: different(written.map((status) => status?.startTime)),
    drain: different(written.map((status) => status?.drain?.startTime)),
  };
}

function different(times: readonly (string | null | undefined)[]): number {
  return new Set(times.filter((time) => time !== undefined && time !== null)).size;
}
