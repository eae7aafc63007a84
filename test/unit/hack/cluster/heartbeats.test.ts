import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Heartbeats, type HeartbeatSettings } from '../../../../hack/cluster/lib/heartbeats.ts';
import { Limit } from '../../../../hack/cluster/lib/limit.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

async function sentIn(
  seconds: number,
  settings: HeartbeatSettings,
  nodes: readonly string[],
): Promise<string[]> {
  const sent: string[] = [];
  const heartbeats = new Heartbeats({
    settings,
    limit: new Limit(4),
    send: async (method, path) => {
      sent.push(`${method} ${path.replace(/.*kube-node-lease\//, '')}`);
      return 200;
    },
    nodeNames: () => nodes,
    uidOf: () => 'uid',
  });
  heartbeats.start();
  await jest.advanceTimersByTimeAsync(seconds * 1000);
  heartbeats.stop();
  return sent;
}

describe('heartbeats', () => {
  test('come from every node once in a period, evenly spread over it', async () => {
    const nodes = Array.from({ length: 10 }, (_, number) => `n${number}`);
    const half = await sentIn(10, { leaseSeconds: 20 }, nodes);
    expect(half).toEqual(nodes.slice(0, 5).map((name) => `PATCH leases/${name}`));
    const twice = await sentIn(40, { leaseSeconds: 20 }, nodes);
    expect(twice.toSorted()).toEqual([...nodes, ...nodes].map((name) => `PATCH leases/${name}`).toSorted());
  });

  test('are Leases every two seconds unless told otherwise, and status reports only where they are asked for', async () => {
    expect(await sentIn(4, { leaseSeconds: 2 }, ['a', 'b'])).toHaveLength(4);
    expect(await sentIn(4, { leaseSeconds: 4, statusSeconds: 2 }, ['a'])).toEqual([
      'PATCH leases/a',
      'PATCH /api/v1/nodes/a/status',
      'PATCH leases/a',
      'PATCH /api/v1/nodes/a/status',
    ]);
  });
});
