/** Test beds with their beginning and end hooked into jest. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { Cluster } from '../../../hack/cluster/lib/cluster.ts';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import { type OwnBedOptions, startOwnBed } from './own-bed.ts';
import { recordUse } from './rbac.ts';
import type { BedFiles } from './install.ts';
import { TestBed } from './test-bed.ts';
import { STATE_VARIABLE } from './variables.ts';

/**
 * The cluster and the operator that all such files share; the operator's limit is all nodes. Call it at the top of a
 * file with import.meta.filename; usable inside tests and in hooks that come later. Tests may run concurrently.
 */
export function sharedTestBed(file: string): TestBed {
  return hooked(file, async () => {
    const state = process.env[STATE_VARIABLE];
    if (state === undefined) throw new Error('run the tests with --config test/e2e/jest.config.mjs');
    return new TestBed(prefixOf(file), as<BedFiles>(JSON.parse(readFileSync(state, 'utf8'))));
  });
}

/** A cluster of the file's own, ready in some ten seconds, without an operator: tests start theirs. */
export function ownTestBed(file: string, options: OwnBedOptions = {}): TestBed {
  let cluster: Cluster | undefined;
  const bed = hooked(file, async () => {
    const own = await startOwnBed(basename(file, '.test.ts'), prefixOf(file), options);
    cluster = own.cluster;
    return own;
  });
  afterEach(() => checkVolumes(cluster));
  afterAll(async () => cluster?.stop(), HOOK_MS);
  return bed;
}

function checkVolumes(cluster: Cluster | undefined): void {
  for (const driver of cluster?.volumeDrivers() ?? []) {
    const { violations } = driver.summary();
    if (violations.length > 0)
      throw new Error(`${driver.name} attached twice what is exclusive: ${JSON.stringify(violations)}`);
  }
}

const HOOK_MS = 120_000;

/** A stand-in that becomes the bed once it is there, so that files can name it at their top. */
function hooked(file: string, open: () => Promise<TestBed>): TestBed {
  let bed: TestBed | undefined;
  beforeAll(async () => {
    bed = await open();
  }, HOOK_MS);
  afterEach(() => bed?.checkAuditLog());
  afterAll(async () => {
    try {
      if (bed?.hasOperator === true) await bed.endAll();
    } finally {
      await bed?.cleanUp();
      bed?.endAuditLog();
      if (bed?.isForeign === false) recordUse(file, bed.audit.entries());
    }
  }, HOOK_MS);
  return new Proxy(as<TestBed>({}), {
    get: (_, property) => {
      if (!bed) throw new Error('the test bed is not there yet: use it in tests and hooks only');
      const value: unknown = Reflect.get(bed, property, bed);
      return typeof value === 'function' ? as<() => unknown>(value).bind(bed) : value;
    },
  });
}

/** Short, as names of pods and labels are made from it. */
function prefixOf(file: string): string {
  const random = Math.random().toString(36).slice(2, 6).padEnd(4, '0');
  return `${basename(file, '.test.ts')}-${random}`;
}
