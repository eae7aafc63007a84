// What is broken at the very end of a round is said at its end, not in the next round.
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import type { Api } from '../../e2e/support/api.ts';
import { AuditLog, type AuditEntry } from '../../e2e/support/audit.ts';
import { Witness } from '../../e2e/support/witness.ts';
import { eviction, pod } from '../invariants/log.ts';

let dir: string;
let log: (...entries: readonly AuditEntry[]) => void;
let witness: Witness;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'witness-'));
  const file = join(dir, 'audit.log');
  log = (...entries) => entries.forEach((one) => appendFileSync(file, `${JSON.stringify(one)}\n`));
  witness = new Witness(new AuditLog(file, { fromStart: true }), {
    ownsNamespace: () => true,
    ownsNode: () => true,
  });
});
afterEach(() => rmSync(dir, { recursive: true }));

const evictedTwice = [...pod('a', 'n'), eviction('a', 1), eviction('a', 2)];

test.each(['end', 'forget'] as const)('%s judges the last seconds too, and reports them once', (ending) => {
  log(...evictedTwice);
  expect(() => witness.check()).not.toThrow();
  expect(() => witness[ending]()).toThrow('evicted twice: pod ns/a');
  expect(() => witness[ending]()).not.toThrow();
});

test('what was reported before it forgot is no part of the next round, and what was seen is still known', () => {
  log(...evictedTwice);
  expect(() => witness.forget()).toThrow('evicted twice');
  log(...pod('b', 'n', { at: 3 }), eviction('b', 4));
  expect(() => witness.forget()).not.toThrow();
  log(eviction('b', 5));
  expect(() => witness.forget()).toThrow('evicted twice: pod ns/b');
  expect(witness.audit?.entries()).toEqual([]);
});

test('a log that is larger than a piece of it is judged across its pieces', () => {
  log(...pod('a', 'n'), eviction('a', 1));
  log(...Array.from({ length: 1500 }, (_, index) => pod(`other-${index}`, 'n')).flat());
  log(eviction('a', 2));
  expect(() => witness.forget()).toThrow('evicted twice: pod ns/a');
  expect(witness.audit?.entries()).toEqual([]);
});

const cluster = (finalizers: readonly string[], nodeName: string): Api =>
  as<Api>({
    list: async (path: string) => {
      if (path === '/api/v1/nodes') return Promise.resolve([{ metadata: { name: nodeName, finalizers } }]);
      return Promise.resolve([]);
    },
  });

test('without an audit log it still sees what is left on the nodes of its own', async () => {
  const guest = new Witness(undefined, { ownsNamespace: () => true, ownsNode: (name) => name === 'n' });
  expect(await guest.lost(cluster([], 'n'), undefined)).toEqual([]);
  expect(await guest.lost(cluster(['haulout.dev/evacuate'], 'n'), undefined)).toEqual([
    'left on node n, which nobody maintains: finalizer haulout.dev/evacuate',
  ]);
  expect(await guest.lost(cluster(['haulout.dev/evacuate'], 'of-others'), undefined)).toEqual([]);
  for (const ask of ['check', 'end', 'forget'] as const) expect(() => guest[ask]()).not.toThrow();
});
