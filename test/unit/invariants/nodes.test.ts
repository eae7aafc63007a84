// What is on the nodes: each rule is shown a log in which it is kept and one in which it is broken.
import { describe, expect, test } from '@jest/globals';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import type { AuditEntry } from '../../e2e/support/audit.ts';
import { Invariants } from '../../invariants/invariants.ts';
import { entry, everything } from './log.ts';
import { cluster, maintenance } from './state.ts';

const DRAINED = 'Ready=True/Drained Drained=True/Drained';
const invariants = (): Invariants => new Invariants(everything, () => false);
const broken = (...entries: readonly AuditEntry[]): readonly string[] => invariants().end(entries);

const node = (resourceVersion: number, labels: object, spec: object = {}) => ({
  metadata: { name: 'n', uid: 'n', resourceVersion: String(resourceVersion), labels },
  spec,
});
const write = (byOperator: boolean, response: object, at = 0): AuditEntry =>
  entry('patch nodes', 'n', { at, byOperator, request: { metadata: { resourceVersion: '1' } }, response });
describe('what is on a node', () => {
  const created = entry('create nodes', 'n', { response: node(1, { mine: 'x' }) });

  test('what was put on has to come off again', () => {
    const checks = invariants();
    const held = node(2, { mine: 'x', 'cloud/lb': 'true' }, { unschedulable: true });
    expect(checks.see([created, write(true, held)])).toEqual([]);
    expect(checks.atRest(cluster({}))).toEqual([
      'left on node n, which nobody maintains: label cloud/lb',
      'left on node n, which nobody maintains: unschedulable',
    ]);
    expect(checks.atRest(cluster({ maintenances: [maintenance(DRAINED)] }))).toEqual([]);
    expect(checks.see([write(true, node(3, { mine: 'x' }))])).toEqual([]);
    expect(checks.atRest(cluster({}))).toEqual([]);
    expect(checks.end([])).toEqual([]);
  });

  test('what others have put on stays', () => {
    const theirs = write(false, node(2, { mine: 'x', theirs: 'y' }));
    expect(broken(created, theirs, write(true, node(3, { mine: 'x' })))).toEqual([
      expect.stringContaining('took off what others had put on node n: label theirs'),
    ]);
  });

  describe('keeps the value that others gave it', () => {
    const KINDS = {
      label: (value: string) => ({ metadata: { labels: { mine: value } } }),
      annotation: (value: string) => ({ metadata: { annotations: { mine: value } } }),
      'taint mine:NoSchedule': (value: string) => ({
        spec: { taints: [{ key: 'mine', value, effect: 'NoSchedule' }] },
      }),
    } as const;
    const empty = node(1, {});
    const valued = (make: (value: string) => object, resourceVersion: number, value: string): object => {
      const { metadata, spec } = as<{ metadata?: object; spec?: object }>(make(value));
      return {
        ...node(resourceVersion, {}, spec),
        metadata: { ...node(resourceVersion, {}).metadata, ...metadata },
      };
    };

    test.each(Object.entries(KINDS))('%s', (what, make) => {
      const first = entry('create nodes', 'n', { response: valued(make, 1, 'a') });
      expect(broken(first, write(true, valued(make, 2, 'a')))).toEqual([]);
      expect(broken(first, write(false, valued(make, 2, 'b')))).toEqual([]);
      expect(broken(first, write(true, valued(make, 2, 'b')))).toEqual([
        expect.stringMatching(`changed what others had put on node n: ${what}.* from "a" to "b"`),
      ]);
    });

    test.each(Object.entries(KINDS))('%s, unless it is the operator that put it on', (_, make) => {
      const first = entry('create nodes', 'n', { response: empty });
      const ours = write(true, valued(make, 2, 'a'));
      expect(broken(first, ours, write(true, valued(make, 3, 'b')), write(true, node(4, {})))).toEqual([]);
      const theirs = write(false, valued(make, 3, 'b'));
      expect(broken(first, ours, theirs, write(true, valued(make, 4, 'a')))).toHaveLength(1);
      expect(broken(first, ours, theirs, write(true, node(4, {})))).toHaveLength(1);
      expect(broken(first, ours, write(false, valued(make, 3, 'a')), write(true, node(4, {})))).toEqual([]);
    });
  });

  test('what others only asked about was never on it', () => {
    const asked = { ...write(false, node(2, { mine: 'x', theirs: 'y' })), requestURI: '/x?dryRun=All' };
    expect(broken(created, asked, write(true, node(3, { mine: 'x' })))).toEqual([]);
  });

  test('a write without an answer may have been carried out', () => {
    const lost = entry('patch nodes', 'n', {
      byOperator: true,
      code: 504,
      request: { metadata: { resourceVersion: '1' } },
    });
    const theirs = write(false, node(2, { mine: 'x', ours: 'y' }));
    expect(broken(created, lost, theirs, write(true, node(3, { mine: 'x' })))).toEqual([]);
  });

  test('the order of the log does not count, that of the writes does', () => {
    const ours = write(true, node(2, { mine: 'x', ours: 'y' }));
    const theirs = write(false, node(3, { mine: 'x', ours: 'y', theirs: 'z' }));
    expect(broken(created, theirs, ours)).toEqual([]);
  });

  test.each([
    [{ metadata: { name: 'n', annotations: { 'haulout.dev/maintenance': '{}' } } }],
    [{ metadata: { name: 'n', finalizers: ['haulout.dev/evacuate'] } }],
    [{ metadata: { name: 'n' }, status: { conditions: [{ type: 'DrainInProgress', status: 'True' }] } }],
  ])('%j is lost where nobody maintains it', (one) => {
    expect(invariants().atRest(cluster({ nodes: [one] }))).toHaveLength(1);
  });
});
