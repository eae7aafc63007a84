// The manifests in examples/, applied as they are.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { repositoryRoot } from '../../hack/cluster/lib/paths.ts';
import { ownTestBed } from './support/beds.ts';
import { isReady, said } from './support/status.ts';

const NODES = ['worker-1', 'worker-2', 'worker-3', 'worker-4'] as const;
/** What examples/shop.yaml says of itself, with an agent on each of four nodes. */
const SHOP_PODS = 12 + 8 + 4 + 3 + 1 + 1 + NODES.length;

const bed = ownTestBed(import.meta.filename, { nodes: NODES.length });
const file = (name: string): string => join(repositoryRoot, 'examples', name);

describe('examples', () => {
  beforeAll(async () => {
    await bed.startOperator({ flags: ['--max-unavailable-nodes=100%'] });
    await bed.kubectl.run(['apply', '-f', file('shop.yaml')]);
    await bed.eventually('the shop runs', async () => {
      const pods = await bed.api.pods('shop');
      return pods.length === SHOP_PODS && pods.every(isReady);
    });
    // As `make demo` does it: without these two every drain ends.
    const relaxed = '{"spec":{"minAvailable":0}}';
    await bed.kubectl.run([
      'patch',
      'pdb',
      'payments',
      '--namespace=shop',
      '--type=merge',
      `--patch=${relaxed}`,
    ]);
    await bed.kubectl.run(['delete', 'pod', 'debug-shell', '--namespace=shop']);
  }, 60_000);

  test.each([
    {
      manifest: 'node-maintenance-announced.yaml',
      name: 'worker-4-next-week',
      node: 'worker-4',
      ready: 'True/Announced',
    },
    {
      manifest: 'node-maintenance-cordon-only.yaml',
      name: 'worker-3-inspection',
      node: 'worker-3',
      ready: 'True/Cordoned',
    },
    { manifest: 'node-maintenance.yaml', name: 'worker-1', node: 'worker-1', ready: 'True/Drained' },
    {
      manifest: 'node-maintenance-all-options.yaml',
      name: 'worker-2-firmware',
      node: 'worker-2',
      ready: 'True/Drained',
    },
  ])('$manifest', async ({ manifest, name, node, ready }) => {
    const before = await bed.snapshot(node);
    await bed.kubectl.run(['apply', '-f', file(manifest)]);
    const object = await bed.untilSaid(name, 'Ready', ready);
    expect(object.spec.nodeName).toBe(node);
    expect((await bed.snapshot(node)).unschedulable).toBe(ready !== 'True/Announced');
    if (ready === 'True/Drained') {
      expect(said(object, 'Drained')).toBe('True/Drained');
      const left = (await bed.api.podsOnNode(node)).map(({ metadata }) => metadata.labels?.['app']);
      expect(left).toEqual(['node-agent']);
    }
    await bed.kubectl.run(['delete', '-f', file(manifest), '--timeout=30s']);
    expect(await bed.snapshot(node)).toEqual(before);
  });

  test('none is forgotten here', () => {
    expect(readdirSync(join(repositoryRoot, 'examples')).toSorted()).toEqual([
      'node-maintenance-all-options.yaml',
      'node-maintenance-announced.yaml',
      'node-maintenance-cordon-only.yaml',
      'node-maintenance.yaml',
      'shop.yaml',
    ]);
  });
});
