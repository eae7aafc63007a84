import { expect, test } from '@jest/globals';
import type { Beginning } from '../../fixtures/world-beginnings.ts';
import { happen } from '../../fixtures/world-happenings.ts';
import { live } from '../../fixtures/world-lives.ts';

const twoNodes: Beginning = {
  pods: [],
  wishes: ['n1', 'n2'].map((node) => ({ name: `m-${node}`, node, spec: { nodeDrainPolicy: 'Evacuate' } })),
  cordoned: false,
  likeOurs: false,
  web: undefined,
  limit: 2,
};

test('what the drain of a node needed is given back after its maintenance, though another one lasts', async () => {
  const stage = await live(twoNodes, []);
  await stage.clock.advance(60_000);
  expect(stage.collections).toBe(0);
  await happen(stage, { is: 'end', name: 'm-n1' });
  await stage.clock.advance(60_000);
  expect(stage.maintenancesOf('n2')).toHaveLength(1);
  expect(stage.collections).toBe(1);
  await stage.stop();
});
