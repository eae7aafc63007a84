import { whyNot } from '../capacity/fits.ts';
import type { RoomyNode, RoomyPod } from '../capacity/types.ts';
import { controllerOf, isReady, isTerminating } from '../drain/filters.ts';
import { podPath } from '../drain/requests.ts';
import type { Refusal } from '../kube/answer.ts';
import type { Client } from '../kube/client.ts';
import { listAll } from '../kube/list-all.ts';
import type { Pod } from '../kube/types.ts';

/** What is to become of the operator's own pod when it is the last one that has to leave. */
export type OwnPodDecision =
  /** Another replica stands by: it leads from now on, and evicts the pod like any other. */
  | { readonly kind: 'handOver'; readonly to: string }
  /** Another node can take it. */
  | { readonly kind: 'leaves'; readonly to: string }
  /** No node can. */
  | { readonly kind: 'stays'; readonly why: string }
  /** The API server did not say what is needed to know. */
  | { readonly kind: 'unknown'; readonly refusal: Refusal };

export interface OwnPodOptions {
  readonly client: Client;
  readonly signal: AbortSignal;
  /** Nodes that are held for maintenance: no replica there can be relied on. */
  readonly isHeld: (nodeName: string) => boolean;
  readonly mayHandOver: boolean;
}

/** Looks at the API server once: other replicas, and other nodes with what runs there. Nothing of it is kept. */
export async function decideOwnPod(pod: Pod, options: OwnPodOptions): Promise<OwnPodDecision> {
  const { client, signal } = options;
  const own = await client.get<RoomyPod>(podPath(pod), { signal });
  if (own.kind !== 'ok') return { kind: 'unknown', refusal: own };
  if (options.mayHandOver) {
    const { namespace = '' } = pod.metadata;
    const neighbours = await listAll<Pod>(client, `/api/v1/namespaces/${namespace}/pods`, {
      query: {},
      signal,
      map: whole,
    });
    if (neighbours.kind !== 'ok') return { kind: 'unknown', refusal: neighbours };
    const standby = neighbours.object.items.find((each) => isStandby(each, own.object, options));
    if (standby) return { kind: 'handOver', to: standby.metadata.name };
  }
  return findNode(own.object, options);
}

function isStandby(other: Pod, own: Pod, { isHeld }: OwnPodOptions): boolean {
  const set = controllerOf(own)?.uid;
  const { nodeName } = other.spec;
  return (
    set !== undefined &&
    controllerOf(other)?.uid === set &&
    other.metadata.uid !== own.metadata.uid &&
    isReady(other) &&
    !isTerminating(other) &&
    nodeName !== undefined &&
    nodeName !== own.spec.nodeName &&
    !isHeld(nodeName)
  );
}

/** Pods are asked for node by node, and only of nodes that could take the pod if they were empty. */
async function findNode(own: RoomyPod, { client, signal }: OwnPodOptions): Promise<OwnPodDecision> {
  const nodes = await listAll<RoomyNode>(client, '/api/v1/nodes', { query: {}, signal, map: whole });
  if (nodes.kind !== 'ok') return { kind: 'unknown', refusal: nodes };
  const reasons = new Map<string, number>();
  for (const node of nodes.object.items) {
    const { name } = node.metadata;
    if (name === own.spec.nodeName) continue;
    let why = whyNotNow(node) ?? whyNot(node, [], own);
    if (why === undefined) {
      const there = await listAll<RoomyPod>(client, '/api/v1/pods', {
        query: { fieldSelector: `spec.nodeName=${name}` },
        signal,
        map: whole,
      });
      if (there.kind !== 'ok') return { kind: 'unknown', refusal: there };
      why = whyNot(node, there.object.items, own);
    }
    if (why === undefined) return { kind: 'leaves', to: name };
    reasons.set(why, (reasons.get(why) ?? 0) + 1);
  }
  const words = [...reasons].map(([why, count]) => `${count} ${count === 1 ? 'node' : 'nodes'}: ${why}`);
  return { kind: 'stays', why: words.length > 0 ? words.join('; ') : 'there is no other node' };
}

function whyNotNow({ metadata, status }: RoomyNode): string | undefined {
  if (metadata.deletionTimestamp !== undefined) return 'it is being deleted';
  const ready = status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True');
  return ready ? undefined : 'it is not Ready';
}

/** Objects as they are: only a moment passes until they are forgotten. */
const whole = <T>(object: T): T => object;
