import { nodeMaintenancesPath } from '../api/names.ts';
import type { NodeMaintenance } from '../api/types.generated.ts';
import type { Container, RoomyNode, RoomyPod } from '../capacity/types.ts';
import { StartError } from '../cli/exit.ts';
import type { Refusal } from '../kube/answer.ts';
import type { Client } from '../kube/client.ts';
import { listAll } from '../kube/list-all.ts';
import { trimAttachment, trimToIdentity } from '../kube/trim.ts';
import type { CsiDriver, KubeObject, Pod, PodDisruptionBudget, VolumeAttachment } from '../kube/types.ts';
import { isReadable } from '../maintenance/caches.ts';
import { VolumeRegister } from '../maintenance/volume-register.ts';
import { closest } from '../runtime/closest.ts';
import type { Clock } from '../runtime/clock.ts';
import type { PodVolumes } from '../volumes/moves.ts';
import type { Scene } from './outlook.ts';

/** A scene with what the operator does not look at: where else pods could run. */
export interface Observation extends Scene {
  readonly node: RoomyNode;
  readonly pods: readonly RoomyPod[];
  /** Of the whole cluster; `undefined`: may not be read. */
  readonly others:
    | {
        readonly nodes: readonly RoomyNode[];
        readonly pods: readonly RoomyPod[];
        readonly unscheduled: number;
      }
    | undefined;
  /** What could not be read, and what is not known because of that, as sentences. */
  readonly gaps: readonly string[];
}

/** Reads what a preview needs. Throws a StartError where there can be none without it. */
export async function observe(
  client: Client,
  clock: Clock,
  nodeName: string,
  signal: AbortSignal,
): Promise<Observation> {
  const reader = new Reader(client, signal);
  const nodes = await reader.list<RoomyNode>('nodes', '/api/v1/nodes');
  const node = nodes.find(({ metadata }) => metadata.name === nodeName);
  if (node === undefined) throw unknownNode(nodeName, nodes);
  const here = { fieldSelector: `spec.nodeName=${nodeName}` };
  const elsewhere = {
    fieldSelector: `spec.nodeName!=${nodeName},status.phase!=Succeeded,status.phase!=Failed`,
  };
  const [pods, budgets, maintenances, attachments, drivers, others] = await Promise.all([
    reader.list<RoomyPod>('pods', '/api/v1/pods', here),
    reader.list<PodDisruptionBudget>('poddisruptionbudgets', '/apis/policy/v1/poddisruptionbudgets'),
    reader.tryList<NodeMaintenance>(
      'nodemaintenances',
      nodeMaintenancesPath,
      'whether other maintenances hold the node is not known',
    ),
    reader.tryList<VolumeAttachment>(
      'volumeattachments',
      '/apis/storage.k8s.io/v1/volumeattachments',
      'what is attached to the node is not known',
      trimAttachment,
    ),
    reader.tryList<CsiDriver>(
      'csidrivers',
      '/apis/storage.k8s.io/v1/csidrivers',
      'volumes are taken as attachable whatever their driver',
    ),
    reader.tryList<RoomyPod>(
      'pods',
      '/api/v1/pods',
      'whether the pods find room elsewhere is not known',
      trimRoomyPod,
      elsewhere,
    ),
  ]);
  // After the pods: one that is not there now has gone.
  const daemonSets = await reader.list<KubeObject>(
    'daemonsets',
    '/apis/apps/v1/daemonsets',
    {},
    trimToIdentity,
  );
  const volumes = await volumesOf(pods, client, clock, drivers ?? []);
  return {
    now: clock.now(),
    node,
    pods,
    budgets,
    daemonSets,
    maintenances: (maintenances ?? []).filter(
      (maintenance) => isReadable(maintenance) && maintenance.spec.nodeName === nodeName,
    ),
    volumes,
    attachments: attachments ?? [],
    others: others && {
      nodes: nodes.filter((other) => other !== node),
      pods: others.filter(({ spec }) => isSet(spec.nodeName)),
      unscheduled: others.filter(({ spec }) => !isSet(spec.nodeName)).length,
    },
    gaps: reader.gaps,
  };
}

function unknownNode(nodeName: string, nodes: readonly RoomyNode[]): StartError {
  const names = nodes.map(({ metadata }) => metadata.name).toSorted();
  const match = closest(nodeName, names);
  const advice =
    match !== undefined
      ? `did you mean ${match}?`
      : names.length === 0
        ? 'the cluster has no nodes'
        : `the cluster has ${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`;
  return new StartError(`there is no node ${JSON.stringify(nodeName)}: ${advice}`);
}

class Reader {
  readonly gaps: string[] = [];
  readonly #client: Client;
  readonly #signal: AbortSignal;

  constructor(client: Client, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  async list<T extends KubeObject>(
    resource: string,
    path: string,
    query: Readonly<Record<string, string>> = {},
    map: (object: T) => T = (object) => object,
  ): Promise<readonly T[]> {
    const answer = await listAll<T>(this.#client, path, { query, signal: this.#signal, map });
    if (answer.kind === 'ok') return answer.object.items;
    throw cannotList(resource, answer);
  }

  /** `undefined`, and a note of it, where we may not; empty where the cluster does not know the resource. */
  async tryList<T extends KubeObject>(
    resource: string,
    path: string,
    consequence: string,
    map: (object: T) => T = (object) => object,
    query: Readonly<Record<string, string>> = {},
  ): Promise<readonly T[] | undefined> {
    const answer = await listAll<T>(this.#client, path, { query, signal: this.#signal, map });
    if (answer.kind === 'ok') return answer.object.items;
    if (answer.kind === 'notServed') return [];
    if (answer.kind !== 'forbidden') throw cannotList(resource, answer);
    this.gaps.push(`${consequence}: ${answer.message}`);
    return undefined;
  }
}

function cannotList(resource: string, { kind, message }: Refusal): StartError {
  const advice =
    kind === 'forbidden'
      ? `get the right to list ${resource} in the whole cluster`
      : 'check --kubeconfig and --context';
  return new StartError(`cannot list ${resource}: ${message}; ${advice}`);
}

/** Looked up as the operator does it: the claims of these pods, and not all of the cluster's. */
async function volumesOf(
  pods: readonly Pod[],
  client: Client,
  clock: Clock,
  drivers: readonly CsiDriver[],
): Promise<ReadonlyMap<string, PodVolumes>> {
  const required = new Map(drivers.map(({ metadata, spec }) => [metadata.name, spec.attachRequired ?? true]));
  let changed = Promise.withResolvers<void>();
  const register = new VolumeRegister({
    client,
    clock,
    attachRequired: (driver) => required.get(driver) ?? true,
    onChange: () => changed.resolve(),
  });
  try {
    for (;;) {
      const found = new Map(pods.map((pod) => [pod.metadata.uid, register.volumesOf(pod)] as const));
      if ([...found.values()].every((one) => one.kind === 'known' || one.problem !== undefined)) return found;
      // Every look ends: with an answer, or when its time is over.
      await changed.promise;
      changed = Promise.withResolvers<void>();
    }
  } finally {
    register.stop();
  }
}

/** There may be many: only what takes room. */
function trimRoomyPod({ metadata, spec, status }: RoomyPod): RoomyPod {
  return {
    ...trimToIdentity({ metadata }),
    spec: {
      ...(spec.nodeName === undefined ? {} : { nodeName: spec.nodeName }),
      containers: (spec.containers ?? []).map(trimContainer),
      initContainers: (spec.initContainers ?? []).map(trimContainer),
      ...(spec.overhead ? { overhead: spec.overhead } : {}),
      ...(spec.resources?.requests ? { resources: { requests: spec.resources.requests } } : {}),
    },
    ...(status?.phase === undefined ? {} : { status: { phase: status.phase } }),
  };
}

function trimContainer({ resources, restartPolicy }: Container): Container {
  return {
    ...(resources?.requests ? { resources: { requests: resources.requests } } : {}),
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
  };
}

function isSet(text: string | undefined): boolean {
  return text !== undefined && text !== '';
}
