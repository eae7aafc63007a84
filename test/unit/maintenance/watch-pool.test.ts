import { expect, test } from '@jest/globals';
import { WatchPool, type Wish } from '../../../src/maintenance/watch-pool.ts';
import { nullLogger } from '../../../src/runtime/logger.ts';
import { FakeClient } from '../../fixtures/fake-client.ts';
import { FakeClock, settle } from '../../fixtures/fake-clock.ts';
import { FakeCollection } from '../../fixtures/fake-collection.ts';

const wish: Wish = { resource: 'pods', path: '/api/v1/pods', query: {}, trim: (object) => object };

test.each([
  { isChangeDue: true, watches: 4 },
  { isChangeDue: false, watches: 1 },
])('a watch is doubted where a change is due: $isChangeDue', async ({ isChangeDue, watches }) => {
  const clock = new FakeClock();
  const client = new FakeClient(new FakeCollection(), clock);
  const pool = new WatchPool(
    client,
    { reflector: () => ({ clock, logger: nullLogger }), store: {} },
    () => undefined,
  );
  pool.want('a', [{ ...wish, isChangeDue }]);
  await settle();
  await clock.advance(200_000);
  expect(client.watches).toHaveLength(watches);
  await pool.stop();
});
