/** The fake nodes: made here, played by kwok and the kubelets process. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeClient } from './kube-client.ts';
import { FAKE_NODE_TAINT, MADE_FOR, type Purpose } from './made-for.ts';
import { as } from './untyped.ts';

export interface NodeCapacity {
  readonly cpu: string;
  readonly memory: string;
  readonly pods: string;
}

const CAPACITY: NodeCapacity = { cpu: '32', memory: '256Gi', pods: '1000' };

interface NodeList {
  items: {
    metadata: { name: string };
    spec: { taints?: { key: string }[] };
    status: { conditions?: { type: string; status: string }[] };
  }[];
}

/** worker-1, worker-2, ... */
export function workerNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `worker-${index + 1}`);
}

/**
 * Makes those that are not there yet. Where `madeFor` is set the cluster may be somebody's: a node that is there already
 * is an error then, and pods of others are kept off them, except on those that are for people (`cluster`).
 */
export async function createNodes(
  client: KubeClient,
  names: readonly string[],
  capacity: Partial<NodeCapacity> = {},
  madeFor?: Purpose,
): Promise<void> {
  const isGuest = madeFor !== undefined && madeFor !== 'cluster';
  const resources = { ...CAPACITY, ...capacity };
  await Promise.all(
    names.map(async (name) => {
      const { status, body } = await client.request('POST', '/api/v1/nodes', {
        body: {
          apiVersion: 'v1',
          kind: 'Node',
          metadata: {
            name,
            labels: {
              'kubernetes.io/hostname': name,
              'kubernetes.io/os': 'linux',
              'kubernetes.io/arch': 'amd64',
              'node-role.kubernetes.io/worker': '',
              ...(madeFor === undefined ? {} : { [MADE_FOR]: madeFor }),
            },
            annotations: { 'node.alpha.kubernetes.io/ttl': '0' },
          },
          spec: { taints: isGuest ? [FAKE_NODE_TAINT] : [] },
          status: { capacity: resources, allocatable: resources },
        },
      });
      if (status !== 201 && (status !== 409 || isGuest))
        throw new Error(`node ${name}: ${status} ${JSON.stringify(body)}`);
    }),
  );
}

/** Waits until all of them are Ready and the node controller has taken its taint off them. */
export async function waitForNodes(
  client: KubeClient,
  names: readonly string[],
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const list = as<NodeList>(await client.must('GET', '/api/v1/nodes'));
    const ready = new Set(
      list.items
        .filter(
          (node) =>
            node.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') &&
            !node.spec.taints?.some(({ key }) => key.startsWith('node.kubernetes.io/not-ready')),
        )
        .map((node) => node.metadata.name),
    );
    const missing = names.filter((name) => !ready.has(name));
    if (missing.length === 0) return;
    if (Date.now() > deadline)
      throw new Error(`not ready after ${timeoutMs / 1000} s: ${missing.join(', ')}`);
    await sleep(100, undefined, { signal });
  }
}
